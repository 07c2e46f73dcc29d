"""One benchmark under way: everything built and warmed up once, then sampled in turn."""

from collections.abc import Callable
from typing import TypeVar

import torch

from evade.benchmark.cases import Case, plan_cases, plan_memory_cases
from evade.benchmark.cost import count_flops
from evade.benchmark.options import Options
from evade.benchmark.peak import Product, plan_products, prepare_product
from evade.benchmark.processes import LoopWorkers
from evade.benchmark.report import Measurement
from evade.benchmark.sampling import interleave, summarise, time_once
from evade.benchmark.work import Work, prepare, steps_per_call

Progress = Callable[[str, int, int], None]
"""Told what has just been done, how many parts are done, and how many there are."""

Value = TypeVar("Value")


class Session:
    """The parts of a benchmark and what is known of them so far.

    Args:
        options: what to measure.
        threads: of one operation, where neither options nor preset say.
        workers: the processes that loops run in.
        progress: told after every part.
    """

    def __init__(self, options: Options, threads: int, workers: LoopWorkers, progress: Progress) -> None:
        self.options = options
        self.cases = plan_cases(options, threads)
        self.memory_cases = plan_memory_cases(options, self.cases)
        self.products = plan_products(self.cases, options.matrix_sizes)
        self._workers = workers
        self._works: dict[Case | Product, Work] = {}
        self._flops: dict[Case, float] = {}
        self._first_seconds: dict[Case, float] = {}
        self._progress = progress
        self._done = 0
        timed = len(self.cases) + len(self.products)
        self._total = len(self.memory_cases) + timed * (1 + options.rounds)

    def passed(self, what: str, value: Value) -> Value:
        """Count one part as done; its value is handed on."""
        self._done += 1
        self._progress(what, self._done, self._total)
        return value

    def warm_up(self) -> None:
        """Build everything and call it once: memory is then allocated, graphs are compiled, operations counted."""
        for product in self.products:
            torch.set_num_threads(product.threads)
            self._works[product] = prepare_product(product)
            self.passed("warming up", self._works[product]())
        for case in self.cases:
            torch.set_num_threads(case.threads)
            self._warm_up(case)
            self.passed("warming up", case)

    def _warm_up(self, case: Case) -> None:
        kind = case.same_work
        if case.task == "loop":
            # The loop is built here once, only to be counted; its samples come from processes of their own.
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
        """The interleaved run: seconds of each case's and product's calls, dream steps a second of each loop."""
        keys: list[Case | Product] = [*self.products, *self.cases]
        works = {key: self._sampler(key) for key in keys}
        return interleave(works, self.options.rounds, lambda key: self.passed("measuring", key))

    def _sampler(self, key: Case | Product) -> Callable[[], float]:
        if isinstance(key, Case) and key.task == "loop":
            return lambda: self._workers.measure(key, self.options.window_seconds)
        steps = steps_per_call(key) if isinstance(key, Case) else 1

        def measure() -> float:
            torch.set_num_threads(key.threads)
            return time_once(self._works[key]) / steps

        return measure

    def conclude(self, case: Case, samples: list[float]) -> Measurement:
        """A case's samples with the operations behind them."""
        steps = steps_per_call(case) * (case.batch if case.task == "loop" else 1)
        flops = self._flops[case.same_work] / steps
        return Measurement(case, summarise(samples), flops, self._first_seconds.get(case))
