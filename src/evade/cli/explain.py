"""`evade explain`: what a preset will do, iteration by iteration, and what it will cost here."""

from dataclasses import replace
from typing import Annotated

import tyro

from evade.config import RunConfig, ScheduleConfig
from evade.config.presets import DEFAULT_PRESET, PRESETS, build_config
from evade.envs import spec
from evade.vocabulary.variants import DEFAULT_VARIANT, VARIANTS


def explain(
    preset: Annotated[str, tyro.conf.Positional, tyro.conf.arg(help=f"One of {', '.join(PRESETS)}.")] = DEFAULT_PRESET,
    variant: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(help=f"One of {', '.join(VARIANTS)}.")
    ] = DEFAULT_VARIANT,
    game: str | None = None,
    measure: bool = True,
    device: str | None = None,
) -> int:
    """Print a preset's schedule as a table, with its cost: operations, steps, and the time it would take here.

    Args:
        preset: whose schedule.
        variant: whose reward path.
        game: instead of the preset's own.
        measure: time a few steps for the estimate, seconds for MinAtar and minutes for Atari on a CPU; otherwise only
            counts are printed.
        device: the torch device to measure on, such as cuda; instead of the preset's own.
    """
    from rich.console import Console
    from rich.table import Table

    config = build_config(preset, variant, game)
    if device is not None:
        config = replace(config, machine=replace(config.machine, device=device))
    if measure:
        # Before the table, so that a missing device is one line and nothing else.
        from evade.runtime.device import find_device

        find_device(config.machine.device)
    console = Console()
    columns = ("iteration", "real steps", "world-model updates", "dream batches", "dream steps")
    table = Table(*columns, title=f"{config.preset}, {config.variant}, on {config.game}")
    for label, iterations in _rows(config.schedule):
        first = iterations[0]
        batches = config.schedule.dream_batches_in(first)
        table.add_row(
            label,
            f"{config.schedule.real_steps_in(first):,}",
            f"{config.schedule.fit_updates_in(first):,}",
            f"{batches:,}",
            f"{batches * config.dream.num_envs * config.dream.horizon:,}",
        )
    totals = total_counts(config)
    table.add_row("after the last", f"{config.schedule.real_steps:,}", "", "", "")
    table.add_section()
    table.add_row("total", *(f"{number:,}" for number in totals.values()), style="bold")
    console.print(table)
    if measure:
        console.print(_cost_lines(config, totals))
    return 0


def total_counts(config: RunConfig) -> dict[str, int]:
    """Real steps, world-model updates, dream batches and dream steps of a whole run."""
    schedule = config.schedule
    iterations = range(1, schedule.iterations + 1)
    batches = schedule.total_dream_batches
    return {
        "real_steps": schedule.total_real_steps,
        "fit_updates": sum(schedule.fit_updates_in(iteration) for iteration in iterations),
        "dream_batches": batches,
        "dream_steps": batches * config.dream.num_envs * config.dream.horizon,
    }


def _rows(schedule: ScheduleConfig) -> list[tuple[str, list[int]]]:
    """Iterations that do the same, in order, grouped."""
    groups: list[list[int]] = []
    for iteration in range(1, schedule.iterations + 1):
        if groups and _work(schedule, groups[-1][0]) == _work(schedule, iteration):
            groups[-1].append(iteration)
        else:
            groups.append([iteration])
    return [(str(g[0]) if len(g) == 1 else f"{g[0]}-{g[-1]}", g) for g in groups]


def _work(schedule: ScheduleConfig, iteration: int) -> tuple[int, int, int]:
    return (
        schedule.real_steps_in(iteration),
        schedule.fit_updates_in(iteration),
        schedule.dream_batches_in(iteration),
    )


def _cost_lines(config: RunConfig, totals: dict[str, int]) -> str:
    import torch
    from rich.console import Console

    from evade.benchmark.cost import measure_cost
    from evade.benchmark.progress import ProgressBar

    if config.machine.threads:
        torch.set_num_threads(config.machine.threads)
    with ProgressBar("measuring", Console(stderr=True)) as bar:
        cost = measure_cost(config, spec(config.game, config.env), on_part=bar.advance)
    fitting = cost.fit_update.times(totals["fit_updates"])
    dreaming = cost.dream_batch(config.dream.horizon).times(totals["dream_batches"])
    return (
        f"fitting:  {fitting.flops / 1e15:.3g} PFLOP; one update of {config.replay.batch_size} takes "
        f"{_short_time(cost.fit_update.seconds)}: {_hours(fitting.seconds)}\n"
        f"dreaming: {dreaming.flops / 1e15:.3g} PFLOP; {totals['dream_steps'] / dreaming.seconds:,.0f} dream steps a "
        f"second, PPO included: {_hours(dreaming.seconds)}\n"
        f"together about {_hours(fitting.plus(dreaming).seconds)} on {config.machine.device} with "
        f"{torch.get_num_threads()} threads, without the game itself and the evaluations"
    )


def _short_time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
