"""Every number a run logs: its name, label, unit, meaning, healthy values, and where it is shown.

A name is a group, a slash and a noun: `fit/reward_accuracy`, `dream/return`. The groups are `collect` (real play),
`fit` (the world model), `posterior` (the draw), `dream` (play and learning in dreams), `faithfulness` (dreams beside
the game), `evaluate` and `score` (whole games). Models and learners may log numbers that are not listed here; those are
kept like any other.
"""

from dataclasses import dataclass, replace
from typing import Literal

Place = Literal["display", "report"]
"""Where a metric is shown, beside the journal and TensorBoard, which hold all of them."""


@dataclass(frozen=True)
class Metric:
    """One logged number."""

    name: str
    label: str
    unit: str
    """What follows the value, or nothing; `%` also means that the number is a share, shown a hundredfold."""
    meaning: str
    healthy: str
    """What to expect of it."""
    shown: tuple[Place, ...] = ()


LEARNER = (
    Metric("policy_loss", "policy loss", "", "PPO's clipped objective, negated", "near 0"),
    Metric(
        "value_loss", "value loss", "", "squared error of the value, times its coefficient", "falls; jumps after a fit"
    ),
    Metric("entropy_loss", "entropy bonus", "", "the entropy times its coefficient, negated", "near 0"),
    Metric(
        "entropy",
        "entropy",
        "nats",
        "mean entropy of the policy's action probabilities",
        "falls slowly from log(number of actions); near 0 the policy no longer explores",
        ("display",),
    ),
    Metric(
        "clipped_share",
        "clipped ratios",
        "%",
        "probability ratios outside PPO's clip range",
        "below a third; above, updates are too large",
    ),
    Metric("gradient_norm", "policy gradient norm", "", "global norm of the gradient before clipping", "finite"),
)
"""What PPO logs, in real play (`collect/`) and in dreams (`dream/`); means over the updates of one batch."""


def _learner_metrics(group: str, where: str) -> list[Metric]:
    return [replace(metric, name=f"{group}/{metric.name}", label=f"{metric.label}, {where}") for metric in LEARNER]


def _chance_metrics() -> list[Metric]:
    """What is compared of dreams and games of chance: how often things happen, from the same starts."""
    events = {
        "appear": "steps in which a channel without objects shows some",
        "vanish": "steps in which a channel loses its last object",
        "multiply": "steps in which a channel with objects shows more of them",
    }
    found = []
    for where, label in (("game", "game"), ("dream", "dream")):
        close = "rises over the run" if where == "game" else "close to the game's at every horizon"
        found.append(
            Metric(
                f"faithfulness/{where}_reward",
                f"reward per step, {label}",
                "points",
                f"clipped reward of one step in the {label}, mean over the horizon; "
                f"faithfulness/{where}_reward/H over its first H steps",
                close,
            )
        )
        for event, meaning in events.items():
            found.append(
                Metric(
                    f"faithfulness/{where}_{event}",
                    f"objects {event}, {label}",
                    "%",
                    f"{meaning}, in the {label}, mean over channels; faithfulness/{where}_{event}/C in channel C",
                    "" if where == "game" else "close to the game's",
                )
            )
    found.append(
        Metric(
            "faithfulness/value_claim",
            "value's claim",
            "points",
            "discounted reward that the policy's value expects in the game within the horizon: the first value minus "
            "the discounted last one",
            "close to faithfulness/value_return",
        )
    )
    found.append(
        Metric(
            "faithfulness/value_return",
            "return that followed",
            "points",
            "discounted clipped reward that the game then paid",
            "rises over the run",
        )
    )
    return found


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "collect/steps",
            "real steps",
            "steps",
            "all steps in the real game so far",
            "grows by schedule.real_steps in each iteration",
            ("display",),
        ),
        Metric(
            "collect/episodes",
            "games played",
            "games",
            "games that ended in this collection",
            "a few at least; 0 leaves collect/return out",
            ("display",),
        ),
        Metric(
            "collect/return",
            "return, real play",
            "points",
            "mean raw return of those games, played at collect.temperature",
            "rises over the run",
            ("display",),
        ),
        *_learner_metrics("collect", "real play"),
        Metric(
            "faithfulness/game_return",
            "return, game, same starts",
            "points",
            "clipped reward in the game within 20 steps, or dream.horizon if longer, from up to 64 frames not yet "
            "fitted to",
            "rises over the run",
            ("report",),
        ),
        Metric(
            "faithfulness/dream_return",
            "return, dream, same starts",
            "points",
            "clipped reward of the same policy in dreams from the same frames, under the last draw",
            "close to faithfulness/game_return; far above it, the policy exploits the model",
            ("report",),
        ),
        Metric(
            "faithfulness/divergence_step",
            "divergence step",
            "steps",
            "steps until a dream, given the game's actions, first shows another frame, reward or end",
            "near 20, or dream.horizon if longer; small where the game is random",
            ("display",),
        ),
        *_chance_metrics(),
        Metric("fit/loss", "world-model loss", "nats", "the sum that is minimised", "falls towards 0", ("display",)),
        Metric(
            "fit/frame_loss",
            "frame loss",
            "nats",
            "clipped cross-entropy of the next frame, mean over cells and channels",
            "falls towards 0",
            ("display",),
        ),
        Metric(
            "fit/reward_loss",
            "reward loss",
            "nats",
            "clipped cross-entropy of the reward, under fresh event noise",
            "falls towards 0",
            ("display",),
        ),
        Metric(
            "fit/reward_accuracy",
            "reward accuracy",
            "%",
            "rewards predicted correctly in the batch, under fresh event noise",
            "above 99 %",
            ("display",),
        ),
        Metric(
            "fit/bit_loss",
            "bit loss",
            "nats",
            "cross-entropy of one symbol of bits; only of the stochastic discrete model",
            "falls to what chance leaves open",
            ("display",),
        ),
        Metric(
            "fit/input_frame_loss",
            "input frame loss",
            "nats",
            "the frame loss of an observation's own later frames; only of the stochastic discrete model with memory",
            "falls towards 0",
        ),
        Metric(
            "fit/end_loss",
            "end loss",
            "nats",
            "clipped cross-entropy of the game's end, where it is predicted",
            "falls towards 0",
            ("display",),
        ),
        Metric(
            "fit/kl",
            "KL divergence",
            "nats",
            "KL divergence of the event weights from their prior; only if world_model.reward.kl_weight is above 0",
            "settles",
        ),
        Metric("fit/gradient_norm", "gradient norm", "", "global norm of the gradient before clipping", "finite"),
        Metric(
            "fit/exact_frames",
            "exact frames",
            "%",
            "whole next frames predicted correctly by the mean model, 128 transitions",
            "near 100 % in games without chance",
            ("display",),
        ),
        Metric(
            "fit/exact_rewards",
            "exact rewards",
            "%",
            "rewards predicted correctly by the mean model, the same transitions",
            "above 98 %",
            ("display",),
        ),
        Metric(
            "posterior/sigma",
            "sigma, mean",
            "",
            "mean absolute relative noise over all event layers; posterior/sigma/LAYER is one layer's",
            "stays above 0",
            ("display", "report"),
        ),
        Metric(
            "posterior/disagreement",
            "disagreement of draws",
            "points",
            "root mean square of what 8 draws pay differently for steps of the policy's dreams, beyond a common scale",
            "above 0.01 while there is something to explore; 0 means that all draws lead to the same policy",
            ("display", "report"),
        ),
        Metric(
            "posterior/spread",
            "spread of draws",
            "points",
            "standard deviation over the same draws of the reward of one step, averaged over steps",
            "falls as the game becomes known",
        ),
        Metric(
            "dream/return",
            "return, dreams",
            "points",
            "mean sum of rewards of one dream",
            "rises within an iteration",
            ("display",),
        ),
        Metric("dream/ends", "ends per dream", "", "how often a dream ended", "as often as the game", ("display",)),
        *_learner_metrics("dream", "dreams"),
        Metric(
            "evaluate/score",
            "score",
            "points",
            "mean raw return by the evaluation protocol; scores.jsonl has every episode",
            "rises over the run",
            ("display",),
        ),
        Metric(
            "score/score",
            "final score",
            "points",
            "the same after the last iteration, over evaluation.final_episodes games",
            "near the last evaluate/score",
            ("display",),
        ),
    )
}
"""By name, in the order of Algorithm 1."""


def describe(name: str) -> Metric:
    """The metric of a name; one that is not listed has a label made of its name."""
    if name in METRICS:
        return METRICS[name]
    return Metric(name, name.partition("/")[2].replace("_", " ") or name.replace("_", " "), "", "", "")
