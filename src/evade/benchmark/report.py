"""What a benchmark found: samples, what follows from them, and all of it as a JSON document."""

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
"""Raised whenever a field of the JSON document changes its name or its meaning."""


@dataclass(frozen=True)
class Measurement:
    """One case and its samples."""

    case: Case
    summary: Summary
    """Seconds of one step; of a loop, dream steps a second."""
    flops: float
    """Operations of one step (of a loop, for one dream step), counted on the plain network wherever it was run."""
    first_seconds: float | None
    """How long the first call took, compiling included; not known of loops."""

    @property
    def is_rate(self) -> bool:
        """Whether more is better."""
        return self.case.task == "loop"

    @property
    def flops_per_second(self) -> float:
        """At the median."""
        return self.flops * self.summary.median if self.is_rate else self.flops / self.summary.median


@dataclass(frozen=True)
class Report:
    """Everything one benchmark found."""

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
        """The machine's best FLOP/s for each precision and number of threads, by the medians."""
        return find_peaks({product: summary.median for product, summary in self.products.items()})

    def peak_share(self, measurement: Measurement) -> float:
        """FLOP/s as a share of the best matrix product with the same precision, threads and processes."""
        case = measurement.case
        return measurement.flops_per_second / (self.peaks[case.contender.precision, case.threads] * case.processes)

    def speedup(self, measurement: Measurement) -> float | None:
        """How many times the plain network's speed, by the medians; None where that was not run."""
        plain = self.find(replace(measurement.case, contender=PLAIN, processes=1))
        if plain is None:
            return None
        ratio = plain.summary.median / measurement.summary.median
        return 1 / ratio if measurement.is_rate else ratio

    def event_cost(self, measurement: Measurement) -> float | None:
        """How much longer an EVaDE step takes than SimPLe's, as a share; None where there is nothing to compare."""
        simple = self.find(replace(measurement.case, variant="simple"))
        if measurement.case.variant != "evade" or simple is None:
            return None
        return measurement.summary.median / simple.summary.median - 1

    def find(self, case: Case) -> Measurement | None:
        """The measurement of a case, if it was made."""
        return next((each for each in self.measurements if each.case == case), None)

    def document(self) -> dict[str, Any]:
        """The whole report for `write_json`; docs/reference/benchmark.md says what each field means."""
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
