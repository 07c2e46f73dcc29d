"""The function that is timed for each case: the run's own code on random frames."""

from collections.abc import Callable

import torch

from evade.benchmark.cases import Case, settings_of
from evade.benchmark.contenders import Contestant, build_contestant
from evade.benchmark.cost import random_observations, random_transitions
from evade.config import RunConfig
from evade.dreams.env import DreamEnv
from evade.game_spec import GameSpec
from evade.layers import draw, resample
from evade.policies.rollout import roll_out
from evade.records import Rollout

Work = Callable[[], object]

CPU = torch.device("cpu")
CALL_STEPS = {"paper": {"fit": 1, "dream": 2}, "minatar": {"fit": 5, "dream": 10}}
"""Steps in one timed call: enough for the clock's resolution, and to make the last value's share of a rollout small."""


def steps_per_call(case: Case) -> int:
    """The number of steps in one timed call: updates, dream steps of the whole batch, or PPO passes."""
    if case.task == "loop":
        return settings_of(case)[0].dream.horizon
    return CALL_STEPS[case.size].get(case.task, 1)


def prepare(case: Case) -> Work:
    """Build a case's networks and data; each call of the returned function makes `steps_per_call` steps."""
    config, game = settings_of(case)
    contestant = build_contestant(case.contender, config, game)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if case.task == "fit":
            return _fit(contestant, config, game, steps_per_call(case))
        if case.task == "ppo":
            return _improve(contestant, random_rollout(config, game, contestant.policy.num_frames))
        return _dream(contestant, config, game, steps_per_call(case), improves=case.task == "loop")


def _fit(contestant: Contestant, config: RunConfig, game: GameSpec, updates: int) -> Work:
    batch = random_transitions(config, game, CPU)
    resample(contestant.model.train())

    def fit() -> None:
        for _ in range(updates):
            contestant.fitter.update(batch)

    return fit


def _dream(contestant: Contestant, config: RunConfig, game: GameSpec, num_steps: int, improves: bool) -> Work:
    draw(contestant.model.eval())
    starts = random_observations(config, game, 2 * config.dream.num_envs, CPU)
    env = DreamEnv(contestant.model, config.dream.num_envs, lambda _: starts, compiler=contestant.compiler)
    generator = torch.Generator(CPU).manual_seed(0)

    def dream() -> None:
        rollout = roll_out(contestant.policy, env, num_steps, generator)
        if improves:
            contestant.learner.improve(rollout, generator)

    return dream


def _improve(contestant: Contestant, rollout: Rollout) -> Work:
    generator = torch.Generator(CPU).manual_seed(0)
    return lambda: contestant.learner.improve(rollout, generator)


def random_rollout(config: RunConfig, game: GameSpec, num_frames: int) -> Rollout:
    """A random rollout `[T, N]`; PPO's cost does not depend on its content."""
    shape = (config.dream.horizon, config.dream.num_envs)
    frames = random_observations(config, game, shape[0] * shape[1], CPU)
    value, next_value, reward = torch.randn(3, *shape)
    ends = torch.zeros(shape, dtype=torch.bool)
    log_prob = torch.full(shape, 1 / game.num_actions).log()
    frames = frames.view(*shape, *frames.shape[1:])[:, :, -num_frames:]
    return Rollout(frames, torch.randint(game.num_actions, shape), log_prob, value, next_value, reward, ends, ends)
