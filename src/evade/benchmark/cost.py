"""The cost of a run: operations and seconds of a few steps of each kind, measured on this device."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

import torch
from torch.utils.flop_counter import FlopCounterMode

from evade.benchmark.sampling import OnPart
from evade.config import RunConfig
from evade.dreams.env import DreamEnv
from evade.game_spec import GameSpec
from evade.interfaces import WorldModel
from evade.layers import draw
from evade.policies.build import build_learner
from evade.policies.rollout import roll_out
from evade.records import Transitions
from evade.runtime.compilation import Compiler, should_compile
from evade.runtime.device import find_device
from evade.training.assemble import build_networks
from evade.world_models.build import build_fitter
from evade.world_models.fit import update_on_transitions


@dataclass(frozen=True)
class StepCost:
    """Floating-point operations and seconds of one step."""

    flops: float
    seconds: float

    def times(self, count: float) -> "StepCost":
        """The cost of `count` such steps."""
        return StepCost(count * self.flops, count * self.seconds)

    def plus(self, other: "StepCost") -> "StepCost":
        """The cost of both, one after the other."""
        return StepCost(self.flops + other.flops, self.seconds + other.seconds)


@dataclass(frozen=True)
class Cost:
    """The cost of one world-model update and of one batch of dreams on a device."""

    fit_update: StepCost
    dream_step: StepCost
    """One step of all dreams of a batch, policy included."""
    improve: StepCost
    """The learner's updates on one batch of dreams."""

    def dream_batch(self, horizon: int) -> StepCost:
        """A whole batch of dreams and the learner's updates on it."""
        return self.dream_step.times(horizon).plus(self.improve)


def measure_cost(
    config: RunConfig, game: GameSpec, repeats: int = 3, on_part: OnPart = lambda part, done, total: None
) -> Cost:
    """Time a few steps on random frames; a few seconds for MinAtar, two minutes for the paper's size on a CPU.

    Args:
        config: the settings; steps run on `machine.device`.
        game: the shapes of its frames.
        repeats: how often each kind of step is timed; the median counts.
        on_part: called after each step.
    """
    device = find_device(config.machine.device)
    meter = _Meter(repeats, on_part)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        policy, model = build_networks(config, game)
        generator = torch.Generator(device).manual_seed(0)
        fit_cost = meter.measure("world-model updates", _build_update(config, game, model, device))
        draw(model.eval())
        short = next(steps for steps in range(2, config.dream.horizon + 1) if config.learner.num_updates(steps))
        plain, env = (
            DreamEnv(
                model,
                config.dream.num_envs,
                partial(random_observations, config, game, device=device),
                compiler=compiler,
                generator=generator,
            )
            for compiler in (Compiler(False), Compiler(should_compile(config)))
        )
        rollout = meter.call("dream steps", lambda: roll_out(policy, env, short, generator))
        dream_cost = meter.measure(
            "dream steps",
            lambda: roll_out(policy, env, short, generator),
            lambda: roll_out(policy, plain, short, generator),
        )
        learner = build_learner(config.learner, policy)
        improve_cost = meter.measure("policy updates", lambda: learner.improve(rollout, generator))
    # The learner's cost grows with the number of updates, so it is scaled from the short rollout to the horizon.
    factor = config.learner.num_updates(config.dream.horizon) / config.learner.num_updates(short)
    return Cost(
        fit_update=fit_cost,
        dream_step=dream_cost.times(1 / short),
        improve=improve_cost.times(factor),
    )


def _build_update(config: RunConfig, game: GameSpec, model: WorldModel, device: torch.device) -> Callable[[], object]:
    """One update of the world model on random frames, single transitions or sequences."""
    fitter = build_fitter(config.world_model, model)
    batch = random_transitions(config, game, device)
    return partial(update_on_transitions, fitter, batch, config.replay.target_frames)


def random_observations(config: RunConfig, game: GameSpec, count: int, device: torch.device) -> torch.Tensor:
    """Random observations, uint8 `[count, K, C, H, W]`."""
    shape = (count, config.env.num_frames, game.channels, game.height, game.width)
    return torch.randint(0, game.levels, shape, dtype=torch.uint8, device=device)


def random_transitions(config: RunConfig, game: GameSpec, device: torch.device) -> Transitions:
    """A batch of random transitions."""
    size = config.replay.batch_size
    observation = random_observations(config, game, size, device)
    return Transitions(
        observation=observation,
        action=torch.zeros(size, dtype=torch.long, device=device),
        next_frame=observation[:, -1],
        reward=torch.zeros(size, dtype=torch.long, device=device),
        terminated=torch.zeros(size, dtype=torch.bool, device=device),
    )


Result = TypeVar("Result")


class _Meter:
    """Counts and times steps and says how far it is: three kinds, each counted once and then timed, and a warm-up."""

    def __init__(self, repeats: int, on_part: OnPart) -> None:
        self._repeats, self._on_part = repeats, on_part
        self._done, self._total = 0, 3 * (1 + repeats) + 1

    def measure(self, what: str, work: Callable[[], object], counted: Callable[[], object] | None = None) -> StepCost:
        """The operations of one step, of `counted` where the timed one is compiled, and its median time."""
        flops = self.call(what, lambda: count_flops(counted or work))
        return StepCost(flops, median(self.call(what, lambda: _time(work)) for _ in range(self._repeats)))

    def call(self, what: str, work: Callable[[], Result]) -> Result:
        """One step, then progress."""
        self._on_part(what, self._done, self._total)
        result = work()
        self._done += 1
        self._on_part(what, self._done, self._total)
        return result


def count_flops(work: Callable[[], object]) -> float:
    """Call `work` once and count the floating-point operations of its matrix products and convolutions."""
    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops())


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
