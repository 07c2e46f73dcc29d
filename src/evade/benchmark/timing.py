"""A benchmark in progress: every case is built and warmed up once, then all are timed in interleaved rounds."""

from collections.abc import Callable

import torch

from evade.benchmark.cases import Case, plan_cases, plan_memory_cases
from evade.benchmark.cost import count_flops
from evade.benchmark.options import Options
from evade.benchmark.peak import Product, plan_products, prepare_product
from evade.benchmark.processes import LoopWorkers
from evade.benchmark.report import Measurement
from evade.benchmark.sampling import OnPart, interleave, summarise, time_once
from evade.benchmark.work import Work, prepare, steps_per_call


class InterleavedTimer:
    """Builds and times all cases and matrix products of a benchmark.

    Args:
        options: what to measure.
        threads: of one operation, where neither options nor preset set it.
        workers: the processes that loops run in.
        on_part: called after each part.
    """

    def __init__(self, options: Options, threads: int, workers: LoopWorkers, on_part: OnPart) -> None:
        self.options = options
        self.cases = plan_cases(options, threads)
        self.memory_cases = plan_memory_cases(options, self.cases)
        self.products = plan_products(self.cases, options.matrix_sizes)
        self._workers = workers
        self._works: dict[Case | Product, Work] = {}
        self._flops: dict[Case, float] = {}
        self._first_seconds: dict[Case, float] = {}
        self._on_part = on_part
        self._done = 0
        timed = len(self.cases) + len(self.products)
        self._total = len(self.memory_cases) + timed * (1 + options.rounds)

    def complete_part(self, name: str) -> None:
        """Count one part as completed."""
        self._done += 1
        self._on_part(name, self._done, self._total)

    def warm_up(self) -> None:
        """Build everything and call it once, which allocates memory, compiles graphs and counts operations."""
        for product in self.products:
            torch.set_num_threads(product.threads)
            self._works[product] = prepare_product(product)
            self._works[product]()
            self.complete_part("warming up")
        for case in self.cases:
            torch.set_num_threads(case.threads)
            self._warm_up(case)
            self.complete_part("warming up")

    def _warm_up(self, case: Case) -> None:
        kind = case.same_work
        if case.task == "loop":
            # Built here once to count its operations; its samples come from separate processes.
            if kind not in self._flops:
                self._flops[kind] = count_flops(prepare(kind))
            self._workers.measure(case, seconds=0)
            return
        work = self._works[case] = prepare(case)
        if kind in self._flops:
            self._first_seconds[case] = time_once(work)
        else:
            self._first_seconds[case] = time_once(lambda: self._flops.update({kind: count_flops(work)}))

    def sample(self) -> dict[Case | Product, list[float]]:
        """Interleaved samples: seconds per step of each case and product, dream steps per second of each loop."""
        keys: list[Case | Product] = [*self.products, *self.cases]
        samplers = {key: self._sampler(key) for key in keys}
        return interleave(samplers, self.options.rounds, lambda _: self.complete_part("measuring"))

    def _sampler(self, key: Case | Product) -> Callable[[], float]:
        if isinstance(key, Case) and key.task == "loop":
            return lambda: self._workers.measure(key, self.options.window_seconds)
        steps = steps_per_call(key) if isinstance(key, Case) else 1

        def measure() -> float:
            torch.set_num_threads(key.threads)
            return time_once(self._works[key]) / steps

        return measure

    def conclude(self, case: Case, samples: list[float]) -> Measurement:
        """Summarise a case's samples and add its number of operations."""
        steps = steps_per_call(case) * (case.batch if case.task == "loop" else 1)
        flops = self._flops[case.same_work] / steps
        return Measurement(case, summarise(samples), flops, self._first_seconds.get(case))
