"""What a run will cost: operations counted, time measured on this device for a few steps of each kind."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import torch
from torch.utils.flop_counter import FlopCounterMode

from evade.config import GameSpec, RunConfig
from evade.dreams.env import DreamEnv
from evade.layers import draw
from evade.policies import build_policy_optimiser
from evade.policies.ppo import improve
from evade.policies.rollout import roll_out
from evade.records import Transitions
from evade.runtime.compilation import Compiler, should_compile
from evade.training.assemble import build_networks
from evade.world_models import build_world_model_optimiser, fit_update


@dataclass(frozen=True)
class StepCost:
    """One step of a kind: floating-point operations and seconds."""

    flops: float
    seconds: float

    def times(self, count: float) -> "StepCost":
        """So many such steps."""
        return StepCost(count * self.flops, count * self.seconds)

    def plus(self, other: "StepCost") -> "StepCost":
        """Both, one after the other."""
        return StepCost(self.flops + other.flops, self.seconds + other.seconds)


@dataclass(frozen=True)
class Cost:
    """What one update of the world model, and one batch of dreams, cost on a device."""

    fit_update: StepCost
    dream_step: StepCost
    """One step of all dreams of a batch, the policy's action included."""
    improve: StepCost
    """PPO's epochs over one batch of dreams."""

    def dream_batch(self, horizon: int) -> StepCost:
        """A whole batch of dreams and what PPO learns from it."""
        return self.dream_step.times(horizon).plus(self.improve)


def measure_cost(config: RunConfig, game: GameSpec, repeats: int = 3) -> Cost:
    """Time a few steps on random frames; a few seconds for MinAtar, a minute for the paper's size on a CPU."""
    device = torch.device(config.machine.device)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        policy, model = build_networks(config, game)
        policy, model = policy.to(device), model.to(device)
        generator = torch.Generator(device).manual_seed(0)
        batch = random_transitions(config, game, device)
        optimiser = build_world_model_optimiser(model)
        limit = config.world_model.max_gradient_norm
        fit_cost = _measure(lambda: fit_update(model, optimiser, batch, limit), repeats)
        draw(model.eval())
        frames = config.policy.num_frames
        short = max(-(-config.policy.minibatch_times // config.policy.epochs), 2)
        plain, env = (
            DreamEnv(
                model,
                config.dream.num_envs,
                partial(random_observations, config, game, device=device),
                compiler=compiler,
            )
            for compiler in (Compiler(False), Compiler(should_compile(config)))
        )
        rollout = roll_out(policy, env, short, generator, frames)
        flops = count_flops(lambda: roll_out(policy, plain, short, generator, frames))
        dream_cost = StepCost(flops, _time(lambda: roll_out(policy, env, short, generator, frames), repeats))
        policy_optimiser = build_policy_optimiser(policy, config.policy)
        improve_cost = _measure(lambda: improve(policy, policy_optimiser, rollout, config.policy, generator), repeats)
    # PPO's cost grows with the number of minibatches, so it is scaled from the short rollout to the horizon.
    minibatches = config.dream.horizon * config.policy.epochs // config.policy.minibatch_times
    factor = minibatches / (short * config.policy.epochs // config.policy.minibatch_times)
    return Cost(
        fit_update=fit_cost,
        dream_step=dream_cost.times(1 / short),
        improve=improve_cost.times(factor),
    )


def random_observations(config: RunConfig, game: GameSpec, count: int, device: torch.device) -> torch.Tensor:
    """Frames of noise, uint8 `[count, K, C, H, W]`."""
    shape = (count, config.world_model.num_frames, game.channels, game.height, game.width)
    return torch.randint(0, game.levels, shape, dtype=torch.uint8, device=device)


def random_transitions(config: RunConfig, game: GameSpec, device: torch.device) -> Transitions:
    """A fitting batch of noise."""
    size = config.world_model.batch_size
    observation = random_observations(config, game, size, device)
    return Transitions(
        observation=observation,
        action=torch.zeros(size, dtype=torch.long, device=device),
        next_frame=observation[:, -1],
        reward=torch.zeros(size, dtype=torch.long, device=device),
        terminated=torch.zeros(size, dtype=torch.bool, device=device),
    )


def _measure(work: Callable[[], object], repeats: int) -> StepCost:
    return StepCost(count_flops(work), _time(work, repeats))


def count_flops(work: Callable[[], object]) -> float:
    """Floating-point operations of the matrix products and convolutions in one call, which is made."""
    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops())


def _time(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return median(seconds)
