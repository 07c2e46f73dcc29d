"""What a sweep will cost, before it begins: from runs that are done, or from a few measured steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from evade.config import RunConfig
from evade.config.presets import build_config
from evade.envs.games import choose_protocol, resolve
from evade.runs.folder import RunFolder
from evade.runs.journal import read_journal
from evade.sweeps.plan import PlannedRun, configure
from evade.sweeps.record import Estimate
from evade.sweeps.standing import Standing
from evade.vocabulary.variants import VARIANTS

SAMPLED_RUNS = 20
"""How many finished runs are read for the mean time of one."""

BASE_BYTES = 1 << 30
"""Memory of a run without its frames: Python, torch, networks and optimisers. Measured for MinAtar: 0.6 GiB."""


def config_of(run: PlannedRun) -> RunConfig:
    """The settings of a planned run."""
    return configure(build_config(run.preset, run.variant, run.game, run.seed), run.changes)


def memory_of(config: RunConfig) -> float:
    """Bytes that a run needs at most, roughly: all its real frames stay in memory."""
    size = choose_protocol(resolve(config.game), config.env).frame_size
    colours = 1 if config.env.grey_levels else 3
    frame_bytes = size[0] * size[1] * colours if size else 0
    return BASE_BYTES + config.schedule.total_real_steps * frame_bytes


def estimate_from_finished(runs_dir: Path, standings: Mapping[PlannedRun, Standing]) -> Estimate | None:
    """The mean time of the finished runs by their own records; None if there are none."""
    done = [run for run, standing in standings.items() if standing.is_done(run)]
    times = [
        sum(float(record["seconds"]) for record in read_journal(path))
        for run in done[:: max(1, len(done) // SAMPLED_RUNS)]
        if (path := RunFolder(runs_dir / run.folder).timing).exists()
    ]
    return Estimate(fmean(times), None, f"mean of {len(times)} finished runs") if times else None


def measure_run(runs: Sequence[PlannedRun]) -> Estimate | None:
    """Time a few steps of a run with most event layers, on one thread; None if it needs a GPU and none is here."""
    import torch

    from evade.benchmark.cost import measure_cost
    from evade.envs import spec

    run = max(runs, key=lambda run: len(VARIANTS[run.variant].event_layers))
    config = config_of(run)
    if config.machine.device.startswith("cuda") and not torch.cuda.is_available():
        return None
    torch.set_num_threads(config.machine.threads or 1)
    cost, schedule = measure_cost(config, spec(config.game, config.env)), config.schedule
    num_updates = sum(schedule.fit_updates_in(iteration) for iteration in range(1, schedule.iterations + 1))
    dreams = cost.dream_batch(config.dream.horizon).times(schedule.total_dream_batches)
    whole = cost.fit_update.times(num_updates).plus(dreams)
    source = f"steps of {run.variant} on {run.game}, measured on {config.machine.device}; without playing the game"
    return Estimate(whole.seconds, whole.flops, source)
