"""What `evade posterior` shows: tables, a figure and a JSON file of the withheld-event test."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from evade.config import RunConfig
from evade.config.presets import build_config
from evade.envs import spec
from evade.evidence.figures import save_figure
from evade.evidence.figures.sightings import plot_sightings
from evade.game_spec import GameSpec
from evade.replay.store import Replay
from evade.runs.files import make_folder, write_json
from evade.training.load import LoadedRun, load_run
from evade.training.policy_distance import measure_policy_distance
from evade.training.withheld import WithheldResult, play_at_random

SHOWN_GROUPS = 12
"""Groups in the table, the largest first; the JSON file has all of them."""

POLICY_BATCHES = 4
"""Dream batches that each copy of the policy is trained for."""


@dataclass(frozen=True)
class Source:
    """Settings and real experience to measure a posterior on."""

    config: RunConfig
    game: GameSpec
    replay: Replay
    run: LoadedRun | None = None
    """The run they come from; None for random play."""

    def with_prior_scale(self, scale: float) -> "Source":
        """The same with another scale of the event prior."""
        return replace(self, config=replace(self.config, world_model=self.config.world_model.with_prior_scale(scale)))


def open_run(path: Path, allow_import: Collection[str] = ()) -> Source:
    """The settings and experience of a run, which is not changed; `allow_import` as in `load_run`."""
    run = load_run(path, allow_import)
    return Source(run.config, run.game, run.read_replay(), run)


def play_game(game: str | None, preset: str, variant: str, num_steps: int, seed: int) -> Source:
    """The settings of a preset, and random play of its game or another one."""
    config = build_config(preset, variant, game)
    game_spec = spec(config.game, config.env)
    return Source(config, game_spec, play_at_random(config, game_spec, num_steps, seed))


def sightings_table(source: Source, result: WithheldResult) -> Table:
    """One row for each number of sightings."""
    counts = f"{result.num_events:,} rewarded of {result.num_steps:,} transitions"
    table = Table(title=f"{source.config.game}, {source.config.variant}: {counts}", box=None)
    for column in ("seen", "mean", "truth", "spread", "ordinary", "ratio", "AUC", "ordinary error"):
        table.add_column(column, justify="right")
    for each in result.sightings:
        ratio = each.spread / each.ordinary_spread if each.ordinary_spread > 0 else float("inf")
        numbers = (each.mean, each.truth, each.spread, each.ordinary_spread)
        cells = [f"{number:.4f}" for number in numbers]
        table.add_row(f"{each.num_seen}", *cells, f"{ratio:.1f}", f"{each.auc:.3f}", f"{each.ordinary_error:.4f}")
    return table


def group_table(result: WithheldResult) -> Table:
    """The largest groups of events, before they were seen and after the last number of sightings."""
    first, last = result.sightings[0], result.sightings[-1]
    after = {group.name: group for group in last.groups}
    table = Table(box=None)
    for index, column in enumerate(
        ("events", "count", f"spread, {first.num_seen} seen", f"spread, {last.num_seen} seen")
    ):
        table.add_column(column, justify="left" if index == 0 else "right")
    for group in sorted(first.groups, key=lambda group: -group.count)[:SHOWN_GROUPS]:
        table.add_row(group.name, f"{group.count}", f"{group.spread:.4f}", f"{after[group.name].spread:.4f}")
    return table


def policy_lines(source: Source, num_draws: int, seed: int) -> Iterator[str]:
    """What draws do to the run's own policy; nothing for random play or a model without draws."""
    run = source.run
    if run is None or not run.draw:
        return
    found = measure_policy_distance(
        run.config,
        run.world_model,
        run.policy,
        source.replay,
        num_batches=POLICY_BATCHES,
        num_draws=num_draws,
        seed=seed,
    )
    yield (
        f"In the policy's own dreams {num_draws} draws disagree by {found.disagreement:.4f} points per step, beyond a "
        f"common scale."
    )
    yield (
        f"Policies trained for {POLICY_BATCHES} batches under two draws differ by {found.between_draws:.3f} (total "
        f"variation); under one draw with other random numbers, by {found.between_seeds:.3f}."
    )


def write_files(source: Source, result: WithheldResult, folder: Path) -> list[Path]:
    """Write the result as JSON, and its curve as a figure."""
    make_folder(folder)
    document = {"game": source.config.game, "variant": source.config.variant, **result.document()}
    write_json(folder / "posterior.json", document)
    rows = result.sightings
    figure = plot_sightings(
        [row.num_seen for row in rows],
        [row.spread for row in rows],
        [row.ordinary_spread for row in rows],
        [row.mean for row in rows],
        title=source.config.game,
        variant=source.config.variant,
    )
    return [folder / "posterior.json", save_figure(figure, folder / "posterior.svg")]
