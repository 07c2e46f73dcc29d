"""The paper's tables of scores per game: ablation, single runs, means."""

from evade.evidence.paper.beside import beside, printed_estimate
from evade.evidence.paper.recompute import ABLATION, HEADLINE, has_runs, label
from evade.evidence.published import game_means, game_runs, game_scores
from evade.evidence.stats import Column, Table, estimate
from evade.evidence.stats.tables import Cell


def ablation_games_table() -> Table:
    """Table `tab:EVADE_ablation`, upper part: for each game a recomputed row and the printed one."""
    rows: list[list[Cell]] = []
    for game in game_runs("evade-interaction"):
        rows.append([game, "runs", *(estimate(game_scores(method)[game]) for method in ABLATION)])
        rows.append([game, "printed", *(printed_estimate(method, game) for method in ABLATION)])
    return Table(
        "Ablation, each game: mean score ± standard error over 5 runs",
        [
            Column("Game", "game"),
            Column("Source", "source"),
            *(Column(label(m), m, digits=1) for m in ABLATION),
        ],
        rows,
    )


def runs_table() -> Table:
    """Tables `tab:all_scores` and `tab:all_scores_14_game`."""
    rows: list[list[Cell]] = [
        [game, label(method), *game_scores(method)[game], estimate(game_scores(method)[game])]
        for game in game_runs("evade")
        for method in ABLATION
        if game in game_scores(method)
    ]
    return Table(
        "All runs printed in the paper",
        [
            Column("Game", "game"),
            Column("Method", "method"),
            *(Column(f"Run {number}", f"run_{number}", digits=2) for number in range(1, 6)),
            Column("Mean ± SE", "estimate", digits=2),
        ],
        rows,
    )


def means_table() -> Table:
    """Table `tab:all_mean_scores`; the methods with runs are recomputed."""
    rows: list[list[Cell]] = []
    for game in game_means("evade"):
        means = {method: estimate(game_scores(method)[game]).mean for method in HEADLINE}
        cells = [
            cell
            for method in HEADLINE
            for cell in ((means[method], game_means(method)[game]) if has_runs(method) else (means[method],))
        ]
        rows.append([game, *cells, label(max(HEADLINE, key=means.__getitem__))])
    columns = [
        column
        for method in HEADLINE
        for column in (
            beside(label(method), method, digits=2) if has_runs(method) else [Column(label(method), method, digits=2)]
        )
    ]
    return Table("Mean scores", [Column("Game", "game"), *columns, Column("Best", "best")], rows)
