"""`evade sweep`: many runs, from the plan to the comparison; `evade sweep status`: where they stand."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from evade.cli.train import RESUME_ME
from evade.config.presets import DEFAULT_PRESET, PRESETS
from evade.sweeps.carry_out import Engine, Outcome, carry_out
from evade.sweeps.estimate import config_of, estimate_from_finished, measure_run, memory_of
from evade.sweeps.lease import TERM_SECONDS
from evade.sweeps.local import LocalEngine, count_slots
from evade.sweeps.pace import Pace
from evade.sweeps.plan import PlannedRun, SweepPlan, expand
from evade.sweeps.read_plan import plan_from, read_document
from evade.sweeps.record import Estimate, SweepFolder, find_sweeps, load_plan, save_plan, sweep_folder
from evade.sweeps.show import SweepDisplay, add_row, count_words, describe_code, run_table
from evade.sweeps.standing import Standing, latest_score
from evade.viewing.formats import format_duration
from evade.vocabulary.variants import DEFAULT_VARIANT, VARIANTS

SOME_FAILED = 1
"""Exit code of a sweep in which runs were given up; all others are finished."""

GIB = 1 << 30


@dataclass(frozen=True)
class SweepOptions:
    """Train many runs side by side and compare them: the plan is printed, then carried out.

    The same command again goes on where the last one stopped. At the end scores.csv, the comparison and the report
    are in RUNS_DIR/sweeps/NAME. `evade sweep status DIR` shows where a sweep stands, from any machine that sees it.
    """

    plan: Annotated[Path | None, tyro.conf.Positional] = None
    """A TOML file with preset, games, variants, seeds and a section of settings; flags override its entries."""
    preset: Annotated[
        str | None,
        tyro.conf.arg(
            help=f"The size of the runs: one of {', '.join(PRESETS)}.",
            help_behavior_hint=f"(default: {DEFAULT_PRESET})",
        ),
    ] = None
    games: Annotated[str | None, tyro.conf.arg(help_behavior_hint="(default: the preset's)")] = None
    """Names with commas; minatar, minigrid, deepsea and atari100k stand for all their games."""
    variants: Annotated[
        str | None,
        tyro.conf.arg(
            help=f"Names with commas out of {', '.join(VARIANTS)}; or all.",
            help_behavior_hint=f"(default: {DEFAULT_VARIANT})",
        ),
    ] = None
    seeds: Annotated[str | None, tyro.conf.arg(help_behavior_hint="(default: 1)")] = None
    """Such as 1-5 or 1,3,7-9."""
    set: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """SECTION.FIELD=VALUE[,VALUE...]: a setting to change, or to vary; may be repeated."""
    runs_dir: Path = Path("runs")
    """The folder above all runs."""
    jobs: Annotated[int | None, tyro.conf.arg(help_behavior_hint="(default: by cores and free memory)")] = None
    """Runs at a time."""
    memory: Annotated[float | None, tyro.conf.arg(help_behavior_hint="(default: by the size of its frames)")] = None
    """GiB that one run needs at most."""
    engine: Literal["local", "ray"] = "local"
    """local: on this machine, nothing to install or start; ray: on a Ray cluster (extra ray)."""
    address: Annotated[str | None, tyro.conf.arg(help_behavior_hint="(default: this machine's)")] = None
    """Of the Ray cluster, such as 10.0.0.1:6379."""
    gpus: float = 0.0
    """Ray: how many GPUs one run takes; 0.25 lets four runs share one. Needs --set machine.device=cuda."""
    lease: float = TERM_SECONDS
    """Ray: seconds after which a run whose machine is silent may be resumed elsewhere."""
    retries: int = 2
    """How often a run is started again after it failed."""
    measure: bool = True
    """Time a few steps for the estimate of cost and time, unless runs of the sweep are finished already."""
    report: bool = True
    """Write the HTML report at the end."""
    baseline: Annotated[str | None, tyro.conf.arg(help_behavior_hint="(default: simple if planned)")] = None
    """What the comparison is against, as for `evade compare`."""
    dry_run: bool = False
    """Print the plan and do nothing else."""

    def asked_for(self) -> SweepPlan:
        """The plan of the file and the flags together."""
        flags = {name: getattr(self, name) for name in ("preset", "games", "variants", "seeds")}
        flags |= {"settings": list(self.set)}
        document: dict[str, Any] = read_document(self.plan) if self.plan else {}
        return plan_from(document | {name: value for name, value in flags.items() if value})


def sweep(arguments: Sequence[str]) -> int:
    """Train many runs side by side and compare them; `sweep status DIR` shows where they stand."""
    words = list(arguments)
    if words[:1] == ["status"]:
        return tyro.cli(status, args=words[1:], prog="evade sweep status")
    options = tyro.cli(SweepOptions, args=words, prog="evade sweep")
    asked_for = options.asked_for()
    name = options.plan.stem if options.plan else f"{asked_for.preset}-{asked_for.fingerprint}"
    folder = sweep_folder(options.runs_dir.absolute(), name)
    runs = expand(asked_for)
    pace = Pace(folder.runs_dir, runs, None)
    todo = [run for run in runs if not pace.standings[run].is_done(run)]
    print(_describe(asked_for, folder, pace.standings))
    estimate = _estimate(options, folder, pace.standings, todo)
    pace.estimate = None if estimate is None else estimate.seconds
    if not todo and options.dry_run:
        return 0
    if not todo:
        save_plan(folder, runs, estimate)
        return _finish(options, folder, pace, Outcome(), words)
    with _engine(options, folder, todo) as engine:
        print(_describe_cost(estimate, pace.total_left(todo, engine.slots), len(todo), engine.slots))
        if options.dry_run:
            return 0
        save_plan(folder, runs, estimate)
        outcome = _carry_out(engine, folder, pace, todo, options.retries)
    return _finish(options, folder, pace, outcome, words)


def _engine(options: SweepOptions, folder: SweepFolder, runs: Sequence[PlannedRun]) -> AbstractContextManager[Engine]:
    config = config_of(runs[0])
    threads = config.machine.threads or 1
    memory = options.memory * GIB if options.memory else max(memory_of(config_of(run)) for run in _one_per_game(runs))
    if options.engine == "local":
        return nullcontext(LocalEngine(folder, options.jobs or count_slots(memory, threads)))
    # Here, because the other engine works without Ray.
    from evade.sweeps.cluster import Needs, RayEngine

    needs = Needs(threads, options.gpus, memory)
    return RayEngine(folder, needs, address=options.address, slots=options.jobs, term=options.lease)


def _one_per_game(runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    return list({run.game: run for run in runs}.values())


def _describe(asked_for: SweepPlan, folder: SweepFolder, standings: Mapping[PlannedRun, Standing]) -> str:
    games = list(dict.fromkeys(run.game for run in standings))
    lines = [
        f"plan:      {len(standings)} runs of preset {asked_for.preset}",
        f"games:     {', '.join(games)}",
        f"variants:  {', '.join(asked_for.variants)}",
        f"seeds:     {', '.join(map(str, asked_for.seeds))}",
        *(f"setting:   {name} = {', '.join(values)}" for name, values in asked_for.settings),
        f"runs in:   {folder.runs_dir}",
        f"sweep in:  {folder.path}",
        "standing:  " + ", ".join(f"{count} {word}" for word, count in count_words(standings).items()),
    ]
    return "\n".join(lines)


def _estimate(
    options: SweepOptions, folder: SweepFolder, standings: Mapping[PlannedRun, Standing], todo: Sequence[PlannedRun]
) -> Estimate | None:
    """From finished runs, or as measured before, or measured now."""
    saved = load_plan(folder).estimate if folder.plan.exists() else None
    known = estimate_from_finished(folder.runs_dir, standings) or saved
    if known is not None or not todo or not options.measure:
        return known
    print("measuring a few steps for the estimate (--no-measure leaves this out)", flush=True)
    return measure_run(todo)


def _describe_cost(estimate: Estimate | None, seconds: float | None, num_runs: int, slots: int) -> str:
    if estimate is None or seconds is None:
        return f"time:      not known yet; {slots} at a time"
    work = "" if estimate.flops is None else f", {num_runs * estimate.flops / 1e15:,.3g} PFLOP together"
    return (
        f"one run:   {format_duration(estimate.seconds)} ({estimate.source}){work}\n"
        f"time:      about {format_duration(seconds)} for {num_runs} runs, {slots} at a time"
    )


def _carry_out(engine: Engine, folder: SweepFolder, pace: Pace, todo: Sequence[PlannedRun], retries: int) -> Outcome:
    with SweepDisplay(folder, tuple(pace.standings), pace, engine.slots) as display:
        return carry_out(todo, engine, display, retries)


def _finish(options: SweepOptions, folder: SweepFolder, pace: Pace, outcome: Outcome, words: Sequence[str]) -> int:
    if outcome.is_stopped:
        print(f"Stopped and saved. To go on:  evade sweep {shlex.join(words)}", file=sys.stderr)
        return RESUME_ME
    # Here, because most of what it imports is not needed while the runs go on.
    from evade.sweeps.summary import summarise

    summarise(folder, pace.standings, print, baseline=options.baseline, with_report=options.report)
    for run, code in outcome.failed.items():
        print(f"evade: {run.title}: {describe_code(code)}; its output is in {folder.log(run)}", file=sys.stderr)
    return SOME_FAILED if outcome.failed else 0


def status(directory: Annotated[Path, tyro.conf.Positional] = Path("runs")) -> int:
    """Show where the runs of a sweep stand; reads files only, so it works from any machine that sees them.

    Args:
        directory: a sweep's folder, or a runs folder with sweeps in it.
    """
    from rich.console import Console

    console = Console()
    for folder in find_sweeps(directory):
        saved = load_plan(folder)
        pace = Pace(folder.runs_dir, saved.runs, saved.estimate.seconds if saved.estimate else None)
        counts = ", ".join(f"{count} {word}" for word, count in count_words(pace.standings).items())
        table = run_table(f"{folder.path}: {counts}")
        for run, standing in pace.standings.items():
            score = None if standing.is_done(run) else latest_score(folder.runs_dir, run)
            add_row(table, run, standing, score, pace.seconds_left(run))
        console.print(table)
    return 0
