"""From a case to something that can be called and timed: the run's own functions on frames of noise."""

from collections.abc import Callable

import torch

from evade.benchmark.cases import Case, settings_of
from evade.benchmark.contenders import Contestant, build_contestant
from evade.benchmark.cost import random_observations, random_transitions
from evade.config import GameSpec, RunConfig
from evade.dreams.env import DreamEnv
from evade.layers import draw, resample
from evade.policies.ppo import improve
from evade.policies.rollout import roll_out
from evade.records import Rollout
from evade.world_models import fit_update

Work = Callable[[], object]

CPU = torch.device("cpu")
CALL_STEPS = {"paper": {"fit": 1, "dream": 2}, "minatar": {"fit": 5, "dream": 10}}
"""Steps in one timed call: enough for the clock, and for the value after a rollout's last step to weigh little."""


def steps_per_call(case: Case) -> int:
    """How many of the case's steps one call makes: updates, dream steps of the whole batch, or PPO passes."""
    if case.task == "loop":
        return settings_of(case)[0].dream.horizon
    return CALL_STEPS[case.size].get(case.task, 1)


def prepare(case: Case) -> Work:
    """Build a case's networks and data; what is returned makes `steps_per_call` steps at each call."""
    config, game = settings_of(case)
    contestant = build_contestant(case.contender, config, game)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if case.task == "fit":
            return _fit(contestant, config, game, steps_per_call(case))
        if case.task == "ppo":
            return _improve(contestant, config, random_rollout(config, game))
        return _dream(contestant, config, game, steps_per_call(case), improves=case.task == "loop")


def _fit(contestant: Contestant, config: RunConfig, game: GameSpec, updates: int) -> Work:
    batch = random_transitions(config, game, CPU)
    limit = config.world_model.max_gradient_norm
    resample(contestant.network.train())

    def fit() -> None:
        for _ in range(updates):
            fit_update(contestant.model, contestant.model_optimiser, batch, limit)

    return fit


def _dream(contestant: Contestant, config: RunConfig, game: GameSpec, num_steps: int, improves: bool) -> Work:
    draw(contestant.network.eval())
    starts = random_observations(config, game, 2 * config.dream.num_envs, CPU)
    env = DreamEnv(contestant.model, config.dream.num_envs, lambda _: starts, compiler=contestant.compiler)
    generator = torch.Generator(CPU).manual_seed(0)

    def dream() -> None:
        rollout = roll_out(contestant.policy, env, num_steps, generator, config.policy.num_frames)
        if improves:
            improve(contestant.policy, contestant.policy_optimiser, rollout, config.policy, generator)

    return dream


def _improve(contestant: Contestant, config: RunConfig, rollout: Rollout) -> Work:
    generator = torch.Generator(CPU).manual_seed(0)
    return lambda: improve(contestant.policy, contestant.policy_optimiser, rollout, config.policy, generator)


def random_rollout(config: RunConfig, game: GameSpec) -> Rollout:
    """A dream's worth of noise, `[T, N]`: what PPO costs does not depend on what was dreamt."""
    shape = (config.dream.horizon, config.dream.num_envs)
    frames = random_observations(config, game, shape[0] * shape[1], CPU)
    value, next_value, reward = torch.randn(3, *shape)
    ends = torch.zeros(shape, dtype=torch.bool)
    log_prob = torch.full(shape, 1 / game.num_actions).log()
    frames = frames.view(*shape, *frames.shape[1:])[:, :, -(config.policy.num_frames or 0) :]
    return Rollout(frames, torch.randint(game.num_actions, shape), log_prob, value, next_value, reward, ends, ends)
