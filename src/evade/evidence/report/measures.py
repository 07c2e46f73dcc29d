"""What a report measures: for each quantity, the raw samples of a run behind its numbers."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from evade.evidence.results import RunResult
from evade.vocabulary.metrics import describe

Samples = dict[int, list[float]]
"""Position on the axis (real steps or iteration) to the raw samples measured there."""


@dataclass(frozen=True)
class Measure:
    """A quantity that was measured repeatedly in a run."""

    key: str
    """Safe in links and file names."""
    title: str
    axis: str
    """What `Samples` are keyed by."""
    read: Callable[[RunResult], Samples]
    short: str = ""
    """Its name in a legend, where a chapter has several measures."""


def metric_key(name: str) -> str:
    """The key of a metric: its full name with only letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def measure_metric(name: str, short: str = "") -> Measure:
    """Make the measure of a logged metric (full name), by iteration; label and unit are those of the vocabulary."""
    factor = 100.0 if describe(name).unit == "%" else 1.0

    def read(run: RunResult) -> Samples:
        samples: Samples = {}
        for row in run.metrics:
            if name in row.values:
                samples.setdefault(row.iteration, []).append(factor * row.values[name])
        return samples

    return Measure(metric_key(name), as_title(with_unit(name)), "iteration", read, short)


def with_unit(name: str) -> str:
    """A metric's `label (unit)`, or the label alone if it has no unit."""
    metric = describe(name)
    return f"{metric.label} ({metric.unit})" if metric.unit else metric.label


def as_title(text: str) -> str:
    """The text with a capital first letter; the rest is not changed."""
    return text[:1].upper() + text[1:]


def _final_scores(run: RunResult) -> Samples:
    # The final evaluation of an unfinished run may be half written.
    return {run.final_episodes[0].real_steps: list(run.final_scores)} if run.is_finished else {}


def _evaluations(run: RunResult) -> Samples:
    samples: Samples = {}
    for row in run.episodes:
        if row.purpose == "evaluate":
            samples.setdefault(row.real_steps, []).append(row.score)
    return samples | _final_scores(run)


# Scores come from scores.jsonl, which has every episode; the metrics evaluate/score and score/score are their means.
FINAL = Measure("score", "Final evaluation", "real steps", _final_scores)
EVALUATIONS = Measure("evaluate", "Evaluations during training and the final one", "real steps", _evaluations)
