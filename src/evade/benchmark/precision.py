"""bfloat16 against float32: a small world model fitted in each on real frames, and how often its predictions differ."""

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor

from evade.benchmark.contenders import Precision
from evade.benchmark.sampling import OnPart
from evade.envs import make_env, spec
from evade.envs.settings import EnvConfig
from evade.layers import draw, resample, use_mean
from evade.records import Prediction, Transitions
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_deterministic, build_deterministic_fitter
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.settings import DeterministicConfig, FitConfig, RewardPathConfig

FRAME_SIZE = (53, 40)
"""Images are resized to a quarter of the paper's area; grids keep their size."""
MODEL = DeterministicConfig(
    hidden_size=32,
    depth=4,
    num_doublings=1,
    reward=RewardPathConfig(event_layers=EVADE),
    fit=FitConfig(warmup_updates=100, learning_rate=1.0),
)
BATCH_SIZE = 8
"""Transitions per update."""
LOSS_UPDATES = 20
"""The reported loss is the mean over this many last updates."""


@dataclass(frozen=True)
class PrecisionOptions:
    """How much to play, fit and compare."""

    game: str
    """Any name `evade.envs.games.resolve` knows."""
    steps: int = 1000
    """Steps of random play to fit."""
    updates: int = 300
    """Updates in each precision."""
    frames: int = 200
    """Frames of other games to compare predictions on."""

    @classmethod
    def for_test(cls, game: str) -> "PrecisionOptions":
        """The smallest sizes, as a test that it works; not for publication."""
        return cls(game, steps=50, updates=5, frames=20)


class PredictionGap(NamedTuple):
    """How two predictions for the same observations and actions differ."""

    pixels: float
    """Share of values of all frames that differ."""
    frames: float
    """Share of frames with at least one such value."""
    largest_step: int
    """The largest difference of one value, in levels."""
    rewards: float
    """Share of rewards that differ."""
    ends: float
    """Share of ends that differ."""


@dataclass(frozen=True)
class PrecisionResult:
    """One world model, fitted in one precision."""

    fitted_in: Precision
    loss: float
    """Mean loss of the last updates."""
    rounding: PredictionGap
    """Predictions of these weights, with one draw held, in float32 against bfloat16."""
    error: PredictionGap
    """Predictions of the mean weights, in the precision they were fitted in, against the game."""

    def document(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return {**asdict(self), "rounding": self.rounding._asdict(), "error": self.error._asdict()}


def compare_precisions(
    options: PrecisionOptions, on_part: OnPart = lambda part, done, total: None
) -> list[PrecisionResult]:
    """Fit a small EVaDE model in float32 and in bfloat16 on the same real transitions, and compare predictions.

    Torch's random state is restored afterwards.

    Args:
        options: the game, and how much to play, fit and compare.
        on_part: called after each update.
    """
    env = EnvConfig(frame_size=FRAME_SIZE if spec(options.game).levels == 256 else None)
    experience = play_at_random(options.game, env, options.steps, seed=0)
    unseen = play_at_random(options.game, env, options.frames, seed=1)
    total = len(get_args(Precision)) * options.updates
    results = []
    for index, fitted_in in enumerate(get_args(Precision)):

        def on_update(done: int, before: int = index * options.updates, fitted_in: str = fitted_in) -> None:
            on_part(f"fitting in {fitted_in}", before + done, total)

        with torch.random.fork_rng():
            torch.manual_seed(0)
            model, loss = _fit(options, env, fitted_in, experience, on_update)
        results.append(PrecisionResult(fitted_in, loss, *_measure(model, unseen)))
    return results


def play_at_random(game: str, env: EnvConfig, steps: int, seed: int) -> Transitions:
    """Transitions of one game with random actions."""
    games = make_env(game, seed=seed, config=env)
    generator = torch.Generator().manual_seed(seed)
    observation = torch.tensor(games.reset())
    rows = []
    for _ in range(steps):
        action = torch.randint(0, games.spec.num_actions, (1,), generator=generator)
        step = games.step(action.numpy())
        next_frame = torch.tensor(step.final_observation[:, -1])
        rows.append((observation, action, next_frame, torch.tensor(step.reward), torch.tensor(step.terminated)))
        observation = torch.tensor(step.observation)
    games.close()
    return Transitions(*(torch.cat(field) for field in zip(*rows, strict=True)))


def _fit(
    options: PrecisionOptions,
    env: EnvConfig,
    precision: Precision,
    experience: Transitions,
    on_update: Callable[[int], None],
) -> tuple[DeterministicWorldModel, float]:
    """A fitted model in evaluation mode, and the mean of its last losses."""
    config = replace(MODEL, precision=precision)
    model = build_deterministic(config, spec(options.game, env), env.num_frames).train()
    fitter = build_deterministic_fitter(config, model)
    resample(model)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for update in range(1, options.updates + 1):
        index = torch.randint(0, len(experience.action), (BATCH_SIZE,), generator=generator)
        losses.append(fitter.update(Transitions(*(field[index] for field in experience)))["loss"].item())
        on_update(update)
    last = losses[-LOSS_UPDATES:]
    return model.eval(), sum(last) / len(last)


def _measure(model: DeterministicWorldModel, unseen: Transitions) -> tuple[PredictionGap, PredictionGap]:
    """The gap between both precisions, and the gap between the model's own precision and the game."""
    draw(model, torch.Generator().manual_seed(0))
    inputs = unseen.observation, unseen.action
    exact, rounded = (predict_with(model, precision, *inputs) for precision in get_args(Precision))
    with use_mean(model):
        predicted = predict_with(model, model.config.precision, *inputs)
    game = Prediction(unseen.next_frame, unseen.reward.float(), unseen.terminated)
    return compare_predictions(exact, rounded), compare_predictions(predicted, game)


def compare_predictions(one: Prediction, other: Prediction) -> PredictionGap:
    """The difference between two predictions, as it would appear in a dream."""
    step = (one.frame.short() - other.frame.short()).abs()
    return PredictionGap(
        pixels=_share(step > 0),
        frames=_share((step > 0).flatten(1).any(1)),
        largest_step=int(step.max()),
        rewards=_share(one.reward != other.reward),
        ends=_share(one.terminated != other.terminated),
    )


def _share(differs: Tensor) -> float:
    return differs.float().mean().item()


def predict_with(
    model: DeterministicWorldModel,
    precision: Precision,
    observation: Tensor,
    action: Tensor,
    batch_size: int = 16,
) -> Prediction:
    """Predict with the same weights, and the same held draw, in a given precision; the model is not changed.

    Args:
        model: in evaluation mode, with a draw held or the mean in use.
        precision: as `DeterministicConfig.precision`.
        observation: uint8 `[N, K, C, H, W]`.
        action: int64 `[N]`.
        batch_size: observations predicted at a time.
    """
    twin = copy.deepcopy(model)
    twin.config = replace(model.config, precision=precision)
    parts = [slice(begin, begin + batch_size) for begin in range(0, len(action), batch_size)]
    predictions = [twin.predict(observation[part], action[part]) for part in parts]
    frame, reward, terminated = (torch.cat(field) for field in zip(*(each[:3] for each in predictions), strict=True))
    return Prediction(frame, reward, terminated)
