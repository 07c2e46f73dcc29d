"""Write the files of a report: figures, videos, raw data and pages; the front page is written last."""

import json
import re
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from evade.errors import ReportError
from evade.evidence.figures import save_figure
from evade.evidence.report.absent import list_absent, usable_videos
from evade.evidence.report.chapters import fill_chapters, list_measures, plot_picture
from evade.evidence.report.groups import Entry, Group, arrange
from evade.evidence.report.inspections import Exhibit, list_exhibits
from evade.evidence.report.measures import Measure
from evade.evidence.report.numbers import cost, final_score, headline, summarise
from evade.evidence.results import RunResult
from evade.guarded import open_regular
from evade.runs.files import encode_json, written_whole

FRONT_PAGE = "index.html"


def write_report(runs: Sequence[RunResult], folder: Path, skip: Callable[[str], None] | None = None) -> Path:
    """Write the report into a folder, replacing the files of an earlier report, and return the front page.

    Args:
        runs: what it is about.
        folder: of the report.
        skip: is called for what is left out: videos and figures whose files are damaged or absent. None to say nothing
            of absent ones and to raise for damaged ones.

    Raises:
        RunError: a run is given twice.
        ReportError: the folder is a run, or cannot be written.
        UnreadableFile: the numbers of a figure are damaged, and `skip` is None.
    """
    if (folder / "config.json").exists():
        raise ReportError(f"{folder} is a run: choose another folder for the report.")
    groups = arrange(runs)
    if skip is not None:
        for absent in list_absent(runs):
            skip(absent)
    exhibits = list(list_exhibits(groups, skip))
    figures, pages = plot_figures(groups, exhibits), render_pages(groups, exhibits)
    media = {name: video for group in groups for entry in group.entries for video, name in videos(entry).items()}
    for name, figure in figures.items():
        save_figure(figure, folder / name)
    for name, video in media.items():
        _write(folder / name, video)
    for name, data in pages.items():
        _write(folder / name, data)
    _remove_earlier(folder, {*figures, *media, *pages})
    return folder / FRONT_PAGE


OWN_FILES = {
    "data": re.compile(r"run-[0-9]+\.json"),
    "episodes": re.compile(r"group-[0-9]+\.html"),
    "figures": re.compile(r"[a-z0-9-]+-[0-9]+\.svg"),
    "media": re.compile(r"run-[0-9]+-.+\.mp4"),
}
"""The names that a report gives in each of its folders."""


def _remove_earlier(folder: Path, written: Collection[str]) -> None:
    """Remove what an earlier, larger report left; only files with names that reports give."""
    for part, names in OWN_FILES.items():
        for path in (folder / part).iterdir() if (folder / part).is_dir() else ():
            if names.fullmatch(path.name) and f"{part}/{path.name}" not in written and path.is_file():
                path.unlink()


def render_pages(groups: Sequence[Group], exhibits: Sequence[Exhibit]) -> dict[str, bytes]:
    """Render every page and data file by its path in the folder, the front page last; equal runs give equal bytes."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    files = {entry.data: encode_json(_raw(entry.run)) for group in groups for entry in group.entries}
    episodes = environment.get_template("episodes.html.j2")
    for group in groups:
        files[group.page] = episodes.render(group=group, sections=_sections(group)).encode()
    files[FRONT_PAGE] = environment.get_template("page.html.j2").render(**_front(groups, exhibits)).encode()
    return files


def plot_figures(groups: Sequence[Group], exhibits: Sequence[Exhibit]) -> dict[str, Figure]:
    """Plot every figure, by its path in the folder."""
    histories = {
        picture.file: plot_picture(chapter, picture)
        for chapter in fill_chapters(groups)
        for picture in chapter.pictures
    }
    return histories | {exhibit.file: exhibit.plot() for exhibit in exhibits}


def videos(entry: Entry) -> dict[Path, str]:
    """The run's videos, and the path of each in the report's folder."""
    return {path: f"media/{entry.key}-{path.name}" for path in usable_videos(entry.run.folder)}


def _write(path: Path, content: bytes | Path) -> None:
    """Write bytes, or a copy of a file."""
    try:
        with written_whole(path) as draft:
            if isinstance(content, bytes):
                draft.write_bytes(content)
            else:
                with open_regular(content) as source, draft.open("wb") as target:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        raise ReportError(f"{path} cannot be written ({error.strerror or error}): choose another folder.") from error


def _raw(run: RunResult) -> dict[str, Any]:
    """The raw data of a run, from which all its numbers are computed."""
    return {
        "settings": run.settings,
        "fingerprint": run.fingerprint,
        "preprocessing_version": run.preprocessing_version,
        "evaluation_version": run.evaluation_version,
        "status": run.status,
        "seconds": run.seconds,
        "episodes": [row._asdict() for row in run.episodes],
        "metrics": [row._asdict() for row in run.metrics],
    }


def _front(groups: Sequence[Group], exhibits: Sequence[Exhibit]) -> dict[str, Any]:
    runs = [_run(group, entry) for group in groups for entry in group.entries]
    return {
        "headlines": [(group, headline(group)) for group in groups],
        "games": list(dict.fromkeys(group.game for group in groups)),
        "sections": list(dict.fromkeys(group.section for group in groups)),
        "chapters": fill_chapters(groups),
        "exhibits": exhibits,
        "runs": runs,
        "phases": list(dict.fromkeys(phase for run in runs for phase in run["entry"].run.seconds)),
    }


def _run(group: Group, entry: Entry) -> dict[str, Any]:
    return {
        "entry": entry,
        "group": group,
        "score": final_score(group, entry),
        "num_episodes": len(entry.run.final_scores) if entry.run.is_finished else 0,
        "cost": cost(entry),
        "videos": [(path.stem, name) for path, name in videos(entry).items()],
        "settings": json.dumps(entry.run.settings, indent=2, ensure_ascii=False),
    }


def _sections(group: Group) -> list[dict[str, Any]]:
    """For each measure, position and run: the raw samples and their mean."""
    return [{"measure": measure, "places": _places(group, measure)} for measure in list_measures()]


def _places(group: Group, measure: Measure) -> list[tuple[int, list[dict[str, Any]]]]:
    found = [(entry, measure.read(entry.run)) for entry in group.entries]
    return [
        (place, [_row(entry, measure, place, samples[place]) for entry, samples in found if place in samples])
        for place in sorted({place for _, samples in found for place in samples})
    ]


def _row(entry: Entry, measure: Measure, place: int, samples: list[float]) -> dict[str, Any]:
    key = f"{entry.key}/{measure.key}/{place}"
    mean, error = summarise(key, samples, f"../{entry.data}")
    raw = " ".join(f"{sample:.6g}" for sample in samples)
    return {"entry": entry, "mean": mean, "error": error, "key": f"{key}/raw", "raw": raw, "count": len(samples)}
