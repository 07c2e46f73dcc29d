"""The chapter of a report that looks inside reward models: one run of each game, preset and variant."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from evade.errors import UnreadableFile
from evade.evidence.figures.inspection import plot_draws, plot_maps, plot_prior, plot_sigmas
from evade.evidence.report.groups import Entry, Group
from evade.evidence.results.inspection import Inspection, read_inspection


@dataclass(frozen=True)
class Exhibit:
    """One figure of one run."""

    run: str
    """The run's name in the report."""
    title: str
    file: str
    """Its path in the report's folder."""
    plot: Callable[[], Figure]


def list_exhibits(groups: Sequence[Group], skip: Callable[[str], None] | None = None) -> Iterator[Exhibit]:
    """The figures of the first run of each group that has an inspection; runs without event layers have none.

    Args:
        groups: all runs of the report.
        skip: is called for each inspection that is damaged, which is then left out; None to raise instead.

    Raises:
        UnreadableFile: an inspection is damaged, and `skip` is None.
    """
    for group in groups:
        entry, inspection = _find_inspection(group, skip)
        if entry is not None and inspection is not None:
            for name, title, plot in _figures_of(inspection):
                yield Exhibit(entry.name, title, f"figures/{entry.key}-{name}.svg", plot)


def _find_inspection(group: Group, skip: Callable[[str], None] | None) -> tuple[Entry, Inspection] | tuple[None, None]:
    for entry in group.entries:
        if entry.run.folder.has(entry.run.folder.inspection):
            try:
                return entry, read_inspection(entry.run.folder.inspection)
            except UnreadableFile as error:
                if skip is None:
                    raise
                skip(f"{error} Its figures are left out of the report.")
    return None, None


def _figures_of(inspection: Inspection) -> Iterator[tuple[str, str, Callable[[], Figure]]]:
    """Name, title and plot of each figure that the inspection has numbers for."""
    if largest := [change for change in inspection.changes if change.is_largest]:
        yield "maps", "Maps before and after each event layer", partial(plot_maps, inspection, largest)
    yield "draws", "Expected rewards under the mean and under draws", partial(plot_draws, inspection)
    if inspection.sigmas:
        yield "sigma", "Sigma of every noisy weight", partial(plot_sigmas, inspection.sigmas, inspection.title)
    if inspection.prior_sigmas:
        yield "sigma-prior", "Sigma of the event prior", partial(plot_prior, inspection)
