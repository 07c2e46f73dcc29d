"""Every number a run logs: its name, label, unit, where it is shown and what a healthy value looks like.

A name is a group, a slash and a noun: `fit/reward_accuracy`, `dream/return`. The groups are `collect` (real play),
`fit` (the world model), `posterior` (the draw), `dream` (play and learning in dreams), `faithfulness` (dreams beside the
game) and `evaluate` and `score` (whole games). Models and learners may log numbers that are not listed here: they are
kept, and shown with a label made of their name.
"""

from dataclasses import dataclass
from typing import Literal

Place = Literal["display", "report"]
"""Where a metric is shown beside the journal and TensorBoard, which hold all of them."""


@dataclass(frozen=True)
class Metric:
    """One logged number."""

    name: str
    label: str
    unit: str = ""
    """What follows the value; `%` also means that the number is a share, shown a hundredfold."""
    healthy: str = ""
    """What to expect of it, for the documentation."""
    shown: tuple[Place, ...] = ()


LEARNER = (
    ("policy_loss", "policy loss", "", "near 0; PPO's clipped objective, negated", ()),
    ("value_loss", "value loss", "", "falls within an iteration; jumps when the world model changes", ()),
    ("entropy_loss", "entropy bonus", "", "the negative entropy times its coefficient", ()),
    (
        "entropy",
        "policy entropy",
        "nats",
        "falls slowly from log(number of actions); 0 means no exploration",
        ("display",),
    ),
    ("clipped_share", "clipped ratios", "%", "0 to 30 %", ()),
    ("gradient_norm", "policy gradient norm", "", "finite; clipped at learner.max_gradient_norm", ()),
)
"""What PPO logs, in real play (`collect/`) and in dreams (`dream/`): noun, label, unit, healthy value, shown."""


def _learner_metrics(group: str, where: str) -> list[Metric]:
    return [Metric(f"{group}/{noun}", f"{label}, {where}", *rest) for noun, label, *rest in LEARNER]  # type: ignore[arg-type]


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("collect/steps", "real steps", "", "grows by schedule.real_steps each iteration", ("display",)),
        Metric("collect/episodes", "games played", "", "at least a few each iteration", ("display",)),
        Metric("collect/return", "return, real play", "points", "rises over the run", ("display",)),
        *_learner_metrics("collect", "real play"),
        Metric("faithfulness/game_return", "return, game, same starts", "points", "", ("report",)),
        Metric(
            "faithfulness/dream_return",
            "return, dream, same starts",
            "points",
            "close to faithfulness/game_return; far above it, the policy exploits the model",
            ("report",),
        ),
        Metric(
            "faithfulness/divergence_step",
            "divergence step",
            "steps",
            "approaches dream.horizon; low where the game is random",
            ("display",),
        ),
        Metric("fit/loss", "world-model loss", "nats", "falls towards 0", ("display",)),
        Metric("fit/frame_loss", "frame loss", "nats", "falls towards 0", ("display",)),
        Metric("fit/reward_loss", "reward loss", "nats", "falls towards 0", ("display",)),
        Metric("fit/reward_accuracy", "reward accuracy", "%", "above 99 %", ("display",)),
        Metric("fit/end_loss", "end loss", "nats", "falls towards 0", ("display",)),
        Metric("fit/kl", "KL divergence", "nats", "only with world_model.reward.kl_weight above 0"),
        Metric("fit/gradient_norm", "gradient norm", "", "finite; clipped at world_model.fit.max_gradient_norm"),
        Metric("fit/exact_frames", "exact frames", "%", "near 100 % in games without chance", ("display",)),
        Metric("fit/exact_rewards", "exact rewards", "%", "above 98 %", ("display",)),
        Metric("posterior/sigma", "sigma, mean", "", "stays above 0", ("display", "report")),
        Metric(
            "posterior/draw_effect", "effect of the draw on replayed rewards", "points", "near 0: seen events agree"
        ),
        Metric("dream/return", "return, dreams", "points", "rises within an iteration", ("display",)),
        Metric("dream/ends", "ends per dream", "", "", ("display",)),
        *_learner_metrics("dream", "dreams"),
        Metric("evaluate/score", "score", "points", "rises over the run", ("display",)),
        Metric("score/score", "final score", "points", "", ("display",)),
    )
}
"""By name, in the order of Algorithm 1."""


def describe(name: str) -> Metric:
    """The metric of a name; one that is not listed has a label made of its name."""
    if name in METRICS:
        return METRICS[name]
    return Metric(name, name.partition("/")[2].replace("_", " ") or name.replace("_", " "))
