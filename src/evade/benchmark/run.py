"""The benchmark itself: memory first, then one interleaved run of everything that takes time."""

import os
import time
from datetime import UTC, datetime

import torch

from evade.benchmark.machine_load import LoadWatch
from evade.benchmark.options import Options
from evade.benchmark.processes import LoopWorkers, measure_memory
from evade.benchmark.report import Report
from evade.benchmark.sampling import summarise
from evade.benchmark.session import Progress, Session
from evade.runtime.machine import describe_machine


def run_benchmark(options: Options, progress: Progress = lambda what, done, total: None) -> Report:
    """Measure what the options ask for; minutes, or seconds if quick.

    torch's number of threads and its random numbers are afterwards what they were before.
    """
    threads, started = torch.get_num_threads(), time.monotonic()
    machine = {finding.name: finding.value for finding in describe_machine()}
    machine["cores"] = f"{os.cpu_count()}"
    watch = LoadWatch()
    try:
        with torch.random.fork_rng(), LoopWorkers() as workers:
            session = Session(options, threads, workers, progress)
            memory = {case: session.passed("memory", measure_memory(case)) for case in session.memory_cases}
            session.warm_up()
            samples = session.sample()
    finally:
        torch.set_num_threads(threads)
    return Report(
        options=options,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=time.monotonic() - started,
        machine=machine,
        load=watch.read(),
        products={product: summarise(samples[product]) for product in session.products},
        measurements=[session.conclude(case, samples[case]) for case in session.cases],
        memory=memory,
    )
