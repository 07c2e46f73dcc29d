"""What is measured of a run while it trains; nothing here changes what is learnt."""

import torch
from torch import Tensor

from evade.dreams.chance import HORIZONS, measure_chance
from evade.dreams.env import DreamEnv
from evade.dreams.faithfulness import dream_beside, measure_faithfulness
from evade.interfaces import WorldModel
from evade.layers import hold, use_mean
from evade.records import Rollout, Segments, Transitions
from evade.seeding import build_generator
from evade.training.posterior import disagreement, dream_steps, expected_rewards, rewards_under_draws, sample_draws
from evade.training.run import Run
from evade.training.state import TrainState

BATCH_SIZE = 16
"""Transitions predicted at a time: the logits of one Atari frame take 25 MB."""

NUM_DREAMS, NUM_DRAWS = 8, 8
"""Dreams whose steps draws are asked about, and draws asked: a small fraction of an iteration's dreaming."""

MAX_SEGMENTS = 64
"""Segments of the newest game that dreams are compared with."""

CPU = torch.device("cpu")


def measure_last_dreams(run: Run, state: TrainState) -> dict[str, Tensor]:
    """The dreams the policy was trained in beside the game it has just played, which the model has not seen yet.

    Empty if no segment of the newest experience is as long as a dream.
    """
    iteration, config = state.position.iteration, run.config
    generator = build_generator(CPU, config.seed, "measure dreams", iteration)
    # Longer than short dreams: where dream and game part shows what horizon a preset may have.
    num_steps = max(config.dream.horizon, HORIZONS[-1])
    sampled = state.replay.segments(min(config.dream.num_envs, MAX_SEGMENTS), num_steps, generator, newest=True)
    if len(sampled.observation) == 0:
        return {}
    segments = Segments(*(field.to(run.device) for field in sampled))
    hold(state.world_model.eval(), state.draw.value)
    generator = build_generator(run.device, config.seed, "dream", iteration)
    rollout = dream_beside(
        state.world_model,
        state.policy,
        segments,
        generator,
        temperature=torch.tensor(config.collect.temperatures(len(segments.observation)), device=run.device),
        sticky_probability=config.dream.sticky_probability,
    )
    faithfulness = measure_faithfulness(state.world_model, state.policy, segments, generator, rollout=rollout)
    # A learner without a discount counts all rewards alike.
    discount = getattr(config.learner, "discount", 1.0)
    chance = measure_chance(state.policy, segments, rollout, discount, has_objects=run.game.levels == 2)
    return faithfulness._asdict() | chance


@torch.no_grad()
def measure_accuracy(model: WorldModel, batch: Transitions) -> dict[str, float]:
    """How often the mean model is right: whole frames, and rewards rounded to whole numbers.

    Args:
        model: switched to evaluation mode; its draw comes back.
        batch: on the model's device.
    """
    model.eval()
    count = len(batch.action)
    right = {"exact_frames": 0, "exact_rewards": 0}
    with use_mean(model):
        for part in _parts(count):
            size = len(batch.action[part])
            prediction = model.predict(
                batch.observation[part],
                batch.action[part],
                model.initial_memory(batch.observation[part]),
                model.sample_noise(size, torch.Generator(batch.action.device).manual_seed(0)),
            )
            equal = (prediction.frame == batch.next_frame[part]).flatten(1).all(1)
            right["exact_frames"] += int(equal.sum())
            right["exact_rewards"] += int((prediction.reward.round() == batch.reward[part]).sum())
    return {name: number / count for name, number in right.items()}


def measure_rollout(rollout: Rollout) -> dict[str, Tensor]:
    """The return of a batch of dreams, and how often they ended, per dream."""
    return {
        "return": rollout.reward.sum(0).mean(),
        "ends": rollout.terminated.float().sum(0).mean(),
    }


@torch.no_grad()
def measure_posterior(run: Run, state: TrainState) -> dict[str, Tensor]:
    """How much draws disagree about the policy's own dreams: beyond a common scale, and their spread; in points.

    The dreams start from real frames under the held draw and are as long as those of training; every step of them is
    judged by `NUM_DRAWS` other draws.
    """
    seed, iteration = run.config.seed, state.position.iteration
    generator = build_generator(run.device, seed, "measure posterior", iteration)
    starts = state.replay.starts(
        2 * NUM_DREAMS, build_generator(CPU, seed, "measure posterior", iteration), newest=False, by="frame"
    ).to(run.device)
    env = DreamEnv(state.world_model, NUM_DREAMS, lambda _: starts, generator=generator)
    steps = dream_steps(state.policy, env, run.config.dream.horizon, generator)
    with use_mean(state.world_model):
        mean = expected_rewards(state.world_model, *steps)
    draws = sample_draws(state.world_model, NUM_DRAWS, generator)
    rewards = rewards_under_draws(state.world_model, draws, *steps)
    return {"disagreement": disagreement(rewards, mean), "spread": rewards.std(0).mean()}


def sample_measured(run: Run, state: TrainState, purpose: str, count: int) -> Transitions:
    """Real transitions to measure on, on the run's device; sampled apart, so that training is unchanged."""
    generator = build_generator(CPU, run.config.seed, purpose, state.position.iteration)
    batch = state.replay.transitions(count, generator)
    return Transitions(*(field.to(run.device) for field in batch))


def _parts(count: int) -> list[slice]:
    return [slice(begin, begin + BATCH_SIZE) for begin in range(0, count, BATCH_SIZE)]
