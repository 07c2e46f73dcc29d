"""The result of a benchmark: samples, derived numbers, and the JSON document."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from evade.benchmark.cases import Case
from evade.benchmark.contenders import PLAIN
from evade.benchmark.machine_load import Load
from evade.benchmark.options import Options
from evade.benchmark.peak import Ceiling, Product, find_peaks
from evade.benchmark.processes import Memory
from evade.benchmark.sampling import Summary

FORMAT = 1
"""Incremented whenever a field of the JSON document changes its name or meaning."""


@dataclass(frozen=True)
class Measurement:
    """A case and its samples."""

    case: Case
    summary: Summary
    """Seconds per step; for a loop, dream steps per second."""
    flops: float
    """Operations of one step (for a loop, of one dream step), counted on the plain network where it was run."""
    first_seconds: float | None
    """Seconds of the first call, compilation included; None for loops."""

    @property
    def is_rate(self) -> bool:
        """Whether the samples are rates (more is better)."""
        return self.case.task == "loop"

    @property
    def flops_per_second(self) -> float:
        """At the median."""
        return self.flops * self.summary.median if self.is_rate else self.flops / self.summary.median


@dataclass(frozen=True)
class Report:
    """The result of one benchmark."""

    options: Options
    date: str
    seconds: float
    machine: dict[str, str]
    load: Load
    products: dict[Product, Summary]
    measurements: list[Measurement]
    memory: dict[Case, Memory]

    @property
    def peaks(self) -> dict[Ceiling, float]:
        """The machine's peak FLOP/s for each precision and number of threads, from the medians."""
        return find_peaks({product: summary.median for product, summary in self.products.items()})

    def peak_share(self, measurement: Measurement) -> float:
        """FLOP/s as a share of the peak with the same precision, threads and processes."""
        case = measurement.case
        return measurement.flops_per_second / (self.peaks[case.contender.precision, case.threads] * case.processes)

    def speedup(self, measurement: Measurement) -> float | None:
        """Speed relative to the plain network, from the medians; None if that was not run."""
        plain = self.find(replace(measurement.case, contender=PLAIN, processes=1))
        if plain is None:
            return None
        ratio = plain.summary.median / measurement.summary.median
        return 1 / ratio if measurement.is_rate else ratio

    def event_cost(self, measurement: Measurement) -> float | None:
        """Additional time of an EVaDE step as a share of SimPLe's; None if there is no such pair."""
        simple = self.find(replace(measurement.case, variant="simple"))
        if measurement.case.variant != "evade" or simple is None:
            return None
        return measurement.summary.median / simple.summary.median - 1

    def find(self, case: Case) -> Measurement | None:
        """The measurement of a case; None if it was not measured."""
        return next((each for each in self.measurements if each.case == case), None)

    def document(self) -> dict[str, Any]:
        """The report as a JSON document; docs/reference/benchmark.md documents the fields."""
        return {
            "format": FORMAT,
            "date": self.date,
            "seconds": self.seconds,
            "options": asdict(self.options) | {"rounds": self.options.rounds},
            "machine": self.machine,
            "load": asdict(self.load) | {"is_disturbed": self.load.is_disturbed},
            "products": [
                {**asdict(product), "flops": product.flops, "seconds": asdict(summary)}
                for product, summary in self.products.items()
            ],
            "peaks": [
                {"precision": precision, "threads": threads, "flops_per_second": peak}
                for (precision, threads), peak in self.peaks.items()
            ],
            "measurements": [self._row(each) for each in self.measurements],
            "memory": [
                {**asdict(case), "before_bytes": memory.before, "peak_bytes": memory.peak}
                for case, memory in self.memory.items()
            ],
        }

    def _row(self, measurement: Measurement) -> dict[str, Any]:
        return {
            **asdict(measurement.case),
            "unit": "dream steps per second" if measurement.is_rate else "seconds per step",
            **asdict(measurement.summary),
            "first_seconds": measurement.first_seconds,
            "flops": measurement.flops,
            "flops_per_second": measurement.flops_per_second,
            "peak_share": self.peak_share(measurement),
            "speedup_over_plain": self.speedup(measurement),
            "cost_over_simple": self.event_cost(measurement),
        }
