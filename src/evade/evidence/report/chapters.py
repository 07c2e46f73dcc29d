"""The chapters of a report that have figures: which lines each figure shows, and the numbers behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from evade.evidence.figures import variant_style
from evade.evidence.figures.histories import History, draw_histories
from evade.evidence.report.groups import DREAM, EVALUATIONS, REAL, SIGMA, Group, Measure
from evade.evidence.report.numbers import Point, history


@dataclass(frozen=True)
class Line:
    """One line of a figure."""

    label: str
    variant: str
    points: list[Point]
    faint: bool


@dataclass(frozen=True)
class Picture:
    """One figure: a game with all its variants."""

    game: str
    axis: str
    file: str
    """Its place in the report's folder."""
    lines: list[Line]


@dataclass(frozen=True)
class Chapter:
    """The same question asked of every game."""

    key: str
    title: str
    unit: str
    measures: tuple[Measure, ...]
    """The second one is drawn faint beside the first, in the same colour."""
    pictures: tuple[Picture, ...] = ()


CHAPTERS = (
    Chapter("curves", "Learning curves", "return per episode", (EVALUATIONS,)),
    Chapter("dreams", "Dream against game from the same starts", "return of a dream's length", (DREAM, REAL)),
    Chapter("sigma", "Sigma over time", "mean sigma", (SIGMA,)),
)


def fill_chapters(groups: Sequence[Group]) -> list[Chapter]:
    """The chapters with their pictures; what nobody measured has no picture, and no chapter if no game has one."""
    filled = [Chapter(c.key, c.title, c.unit, c.measures, tuple(_pictures(c, groups))) for c in CHAPTERS]
    return [chapter for chapter in filled if chapter.pictures]


def draw_picture(chapter: Chapter, picture: Picture) -> Figure:
    """The picture as a figure."""
    lines = [_history(line) for line in picture.lines]
    return draw_histories(lines, title=picture.game, x_label=picture.axis, y_label=chapter.unit)


def _pictures(chapter: Chapter, groups: Sequence[Group]) -> list[Picture]:
    pictures = []
    for index, game in enumerate(dict.fromkeys(group.game for group in groups), start=1):
        members = [group for group in groups if group.game == game]
        if lines := _lines(chapter.measures, members):
            file = f"figures/{chapter.key}-{index}.svg"
            pictures.append(Picture(game, chapter.measures[0].axis, file, lines))
    return pictures


def _lines(measures: Sequence[Measure], groups: Sequence[Group]) -> list[Line]:
    several_presets = len({group.preset for group in groups}) > 1
    lines = []
    for group in groups:
        name = variant_style(group.variant).label + (f" ({group.preset})" if several_presets else "")
        for measure in measures:
            label = name if len(measures) == 1 else f"{name}, {measure.key}"
            lines.append(Line(label, group.variant, history(group, measure), faint=measure is not measures[0]))
    return [line for line in lines if line.points]


def _history(line: Line) -> History:
    return History(
        line.label,
        line.variant,
        [point.place for point in line.points],
        [point.mean.value for point in line.points],
        [point.error.value if point.error else 0.0 for point in line.points],
        line.faint,
    )
