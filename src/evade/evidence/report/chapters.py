"""The chapters of a report that have figures: one question asked of every game.

To add a chapter, add an entry to `CHAPTERS`. A metric with "report" in `Metric.shown` that no chapter shows gets a
chapter of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from evade.evidence.figures import VariantStyle
from evade.evidence.figures.histories import History, plot_histories
from evade.evidence.report.groups import Group
from evade.evidence.report.measures import EVALUATIONS, FINAL, Measure, as_title, measure_metric, metric_key, with_unit
from evade.evidence.report.numbers import Point, history
from evade.evidence.stats.scores import MIN_RUNS
from evade.vocabulary.metrics import METRICS, Metric, describe


@dataclass(frozen=True)
class Line:
    """One line of a figure."""

    label: str
    style: VariantStyle
    points: list[Point]
    faint: bool


@dataclass(frozen=True)
class Picture:
    """One figure: all variants of a game and protocol."""

    title: str
    axis: str
    file: str
    """Its path in the report's folder."""
    lines: list[Line]


@dataclass(frozen=True)
class Chapter:
    """A title, a text and one figure per game."""

    key: str
    """Safe in links and file names."""
    title: str
    unit: str
    """The label of the vertical axis."""
    text: str
    """What the figures show and how to read them."""
    measures: tuple[Measure, ...]
    """The second one is plotted faint beside the first, in the same colour."""
    pictures: tuple[Picture, ...] = ()


BAND = f"Fewer than {MIN_RUNS} runs have no band: they do not show how much runs differ."
"""The end of every text about a band."""

CHAPTERS = (
    Chapter(
        "curves",
        "Learning curves",
        with_unit("evaluate/score"),
        f"The scores of the evaluations during training and, as the last point, of the final one: mean over runs, with "
        f"a band of one standard error. {BAND}",
        (EVALUATIONS,),
    ),
    Chapter(
        "dreams",
        "Dream and game from the same starts",
        f"clipped return ({describe('faithfulness/dream_return').unit})",
        "The clipped reward that the policy collects within the dream's horizon from the same start states, in the "
        "game and in the dream. The two are directly comparable: a dream far above the game means that the policy "
        f"exploits errors of the world model. Mean over runs. {BAND}",
        (
            measure_metric("faithfulness/dream_return", short="dream"),
            measure_metric("faithfulness/game_return", short="game"),
        ),
    ),
    Chapter(
        "sigma",
        "Sigma over time",
        with_unit("posterior/sigma"),
        "The width of the posterior over the event layers' weights at each draw: mean sigma over layers and runs, with "
        f"a band of one standard error. {BAND}",
        (measure_metric("posterior/sigma"),),
    ),
)
"""In the order of the page."""

CHANCE_CHAPTERS = (
    *(
        Chapter(
            f"reward-{horizon}",
            f"Reward per step, first {horizon} steps" if horizon > 1 else "Reward of the first step",
            f"clipped reward a step ({describe('faithfulness/dream_reward').unit})",
            "The same comparison by horizon. Where chance decides, dreams and game part after a few steps, but their "
            "mean rewards should not.",
            (
                measure_metric(f"faithfulness/dream_reward/{horizon}", short="dream"),
                measure_metric(f"faithfulness/game_reward/{horizon}", short="game"),
            ),
        )
        for horizon in (1, 5, 10, 20)
    ),
    *(
        Chapter(
            f"objects-{event}",
            f"Objects {event}",
            f"share of steps ({describe(f'faithfulness/dream_{event}').unit})",
            f"{as_title(describe(f'faithfulness/dream_{event}').meaning.partition(',')[0])}, in the game and in dreams "
            "from the same start states: mean over channels (metrics.jsonl has each channel).",
            (
                measure_metric(f"faithfulness/dream_{event}", short="dream"),
                measure_metric(f"faithfulness/game_{event}", short="game"),
            ),
        )
        for event in ("appear", "vanish", "multiply")
    ),
    Chapter(
        "value",
        "The value's claim and the return that followed",
        f"discounted return ({describe('faithfulness/value_claim').unit})",
        "What the policy's value expects of the game within 20 steps or a longer dream's horizon, and what the "
        "game then paid. A claim far above the return means that the policy was trained on promises of the dream.",
        (
            measure_metric("faithfulness/value_claim", short="claimed"),
            measure_metric("faithfulness/value_return", short="followed"),
        ),
    ),
)
"""Dreams beside the game where chance decides; after the others."""


def list_chapters() -> list[Chapter]:
    """`CHAPTERS`, `CHANCE_CHAPTERS`, then a chapter for each other metric that the vocabulary shows in reports."""
    shown = {measure.key for chapter in (*CHAPTERS, *CHANCE_CHAPTERS) for measure in chapter.measures}
    others = [
        metric for metric in METRICS.values() if "report" in metric.shown and metric_key(metric.name) not in shown
    ]
    return [*CHAPTERS, *CHANCE_CHAPTERS, *map(_metric_chapter, others)]


def list_measures() -> list[Measure]:
    """The final evaluation and all measures of the chapters."""
    return [FINAL, *(measure for chapter in list_chapters() for measure in chapter.measures)]


def fill_chapters(groups: Sequence[Group]) -> list[Chapter]:
    """Add each chapter's pictures, one per game that has samples; chapters without pictures are left out."""
    filled = [replace(chapter, pictures=tuple(_pictures(chapter, groups))) for chapter in list_chapters()]
    return [chapter for chapter in filled if chapter.pictures]


def plot_picture(chapter: Chapter, picture: Picture) -> Figure:
    """Plot one picture of a chapter."""
    lines = [_history(line) for line in picture.lines]
    return plot_histories(lines, title=picture.title, x_label=picture.axis, y_label=chapter.unit)


def _metric_chapter(metric: Metric) -> Chapter:
    name = metric.name
    healthy = f" Healthy: {metric.healthy}." if metric.healthy else ""
    meaning = as_title(metric.meaning or f"the metric {name}")
    text = f"{meaning}. Mean over runs, with a band of one standard error. {BAND}{healthy}"
    return Chapter(metric_key(name), as_title(metric.label), with_unit(name), text, (measure_metric(name),))


def _pictures(chapter: Chapter, groups: Sequence[Group]) -> list[Picture]:
    pictures = []
    for index, section in enumerate(dict.fromkeys(group.section for group in groups), start=1):
        members = [group for group in groups if group.section == section]
        if lines := _lines(chapter.measures, members):
            file = f"figures/{chapter.key}-{index}.svg"
            pictures.append(Picture(section.title, chapter.measures[0].axis, file, lines))
    return pictures


def _lines(measures: Sequence[Measure], groups: Sequence[Group]) -> list[Line]:
    lines = []
    for group in groups:
        for measure in measures:
            name = f"{group.style.label}, {measure.short}" if measure.short else group.style.label
            lines.append(Line(name, group.style, history(group, measure), faint=measure is not measures[0]))
    return [line for line in lines if line.points]


def _history(line: Line) -> History:
    return History(
        f"{line.label} ({_count_runs(line)})",
        line.style,
        [point.place for point in line.points],
        [point.mean.value for point in line.points],
        [point.error.value if point.error else 0.0 for point in line.points],
        line.faint,
    )


def _count_runs(line: Line) -> str:
    most = max(point.num_runs for point in line.points)
    return f"{most} run{'' if most == 1 else 's'}"
