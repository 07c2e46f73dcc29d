"""The benchmark: memory first, then interleaved timing of all cases."""

import os
import time
from datetime import UTC, datetime

import torch

from evade.benchmark.machine_load import LoadWatch
from evade.benchmark.options import Options
from evade.benchmark.processes import LoopWorkers, measure_memory
from evade.benchmark.report import Report
from evade.benchmark.sampling import OnPart, summarise
from evade.benchmark.timing import InterleavedTimer
from evade.runtime.machine import describe_machine


def run_benchmark(options: Options, on_part: OnPart = lambda part, done, total: None) -> Report:
    """Measure everything the options select; takes minutes, or seconds if quick.

    Torch's number of threads and random state are restored afterwards.
    """
    threads, started = torch.get_num_threads(), time.monotonic()
    machine = {finding.name: finding.value for finding in describe_machine()}
    machine["cores"] = f"{os.cpu_count()}"
    watch = LoadWatch()
    try:
        with torch.random.fork_rng(), LoopWorkers() as workers:
            timer = InterleavedTimer(options, threads, workers, on_part)
            memory = {}
            for case in timer.memory_cases:
                memory[case] = measure_memory(case)
                timer.complete_part("memory")
            timer.warm_up()
            samples = timer.sample()
    finally:
        torch.set_num_threads(threads)
    return Report(
        options=options,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=time.monotonic() - started,
        machine=machine,
        load=watch.read(),
        products={product: summarise(samples[product]) for product in timer.products},
        measurements=[timer.conclude(case, samples[case]) for case in timer.cases],
        memory=memory,
    )
