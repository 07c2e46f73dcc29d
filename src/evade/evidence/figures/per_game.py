"""Plot the improvement of one variant over another in every game."""

from matplotlib.figure import Figure

from evade.evidence.figures.style import COLUMN_WIDTH, INK, house_style, name_rows, new_figure, plain, styles_for
from evade.evidence.stats import Interval, Scores, bootstrap_difference, estimate
from evade.evidence.stats.scores import check_same_games


def plot_improvement(
    first: Scores,
    second: Scores,
    names: tuple[str, str],
    *,
    axis_label: str = "human-normalised score",
    num_resamples: int = 20_000,
    seed: int = 0,
) -> Figure:
    """Plot the difference of the means in each game with its 95 % interval, largest gain at the top.

    A bar has the colour of the better variant. Both need at least two runs of every game.

    Args:
        first: normalised scores of one variant.
        second: normalised scores of the other in the same games.
        names: the two variants.
        axis_label: the label of the score axis.
        num_resamples: bootstrap resamples.
        seed: seed of the bootstrap.
    """
    check_same_games(first, second)
    gains = {game: estimate(first[game]).mean - estimate(second[game]).mean for game in first}
    games = sorted(gains, key=gains.__getitem__, reverse=True)
    ahead, behind = styles_for(names).values()
    with house_style():
        figure = new_figure(COLUMN_WIDTH, 0.7 + 0.125 * len(games))
        axes = figure.subplots()
        for row, game in enumerate(games):
            style = ahead if gains[game] > 0 else behind
            interval = _interval(first, second, game, num_resamples, seed)
            axes.barh(row, gains[game], height=0.7, color=style.colour, alpha=0.8)
            axes.hlines(row, interval.low, interval.high, color=INK, linewidth=0.8)
            across = axes.get_yaxis_transform()
            axes.text(1.13, row, f"{gains[game]:+.2f}", transform=across, ha="right", va="center", fontsize=6)
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.set_xlabel(f"{plain(ahead.label)} minus {plain(behind.label)}\n({axis_label})")
        name_rows(axes, games)
    return figure


def _interval(first: Scores, second: Scores, game: str, num_resamples: int, seed: int) -> Interval:
    alone = {game: first[game]}, {game: second[game]}
    return bootstrap_difference(*alone, "mean", num_resamples=num_resamples, seed=seed)
