"""Figures of an inspection show its numbers: read back from the plotted artists."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from evade.errors import FigureError
from evade.evidence.figures.inspection import plot_draws, plot_inspection, plot_maps, plot_sigmas, write_figures
from inspections import make_inspection


def shown(axes):
    """The numbers of an axes' image."""
    return np.asarray(axes.images[0].get_array())


def test_a_row_shows_the_frame_both_maps_and_their_difference():
    inspection = make_inspection()
    figure = plot_maps(inspection, inspection.changes)
    for row, change in zip(np.array(figure.axes[:12]).reshape(3, 4), inspection.changes, strict=True):
        assert np.array_equal(shown(row[0]), inspection.picture)
        assert np.array_equal(shown(row[1]), change.before)
        assert np.array_equal(shown(row[2]), change.after)
        assert np.array_equal(shown(row[3]), change.after - change.before)
        assert row[1].images[0].get_clim() == row[2].images[0].get_clim(), "one scale for both"
        low, high = row[3].images[0].get_clim()
        assert low == -high
        assert f"channel {change.channel}" in row[0].get_ylabel()
        assert ("changes most" if change.is_largest else "chosen") in row[0].get_ylabel()
    assert [axes.get_xlabel() for axes in figure.axes[2:12:4]] == [
        "after = 1.50 \N{MULTIPLICATION SIGN} before",
        "",
        "",
    ]
    assert "frame 1,234, action 1, draw 7" in figure.get_suptitle()


def test_the_strip_has_a_point_for_every_draw_and_a_line_for_the_mean():
    inspection = make_inspection()
    _, strip = plot_draws(inspection).axes
    *dots, lines = strip.collections
    for action, each in enumerate(dots):
        points = np.asarray(each.get_offsets())
        assert np.array_equal(points[:, 1].astype(np.float32), inspection.draws[:, action])
        assert (abs(points[:, 0] - action) < 0.5).all()
    segments = lines.get_segments()
    assert [segment[0][1] for segment in segments] == pytest.approx(inspection.mean.tolist(), abs=0)
    spread = [text.get_text() for text in strip.texts]
    assert spread == [f"±{value:.2g}" for value in inspection.draws.std(0, ddof=1)]


def test_heat_maps_show_every_sigma_on_one_scale():
    inspection = make_inspection()
    figure = plot_sigmas(inspection.sigmas, "title")
    panels = figure.axes[:4]
    largest = max(image.values.max() for image in inspection.sigmas)
    for axes, image in zip(panels, inspection.sigmas, strict=True):
        assert np.array_equal(shown(axes), image.values)
        assert axes.images[0].get_clim() == pytest.approx((0, largest))
        assert axes.get_title() == image.title
    assert [label.get_text() for label in panels[0].get_xticklabels()] == list("abcde")
    assert [label.get_text() for label in panels[2].get_yticklabels()] == ["0", "1", "2", "3"]
    assert panels[2].get_yticks().tolist() == [1.5, 5.5, 9.5, 13.5], "the middle of each block"
    assert plot_sigmas(inspection.prior_sigmas, "title", highest=1.0).axes[0].images[0].get_clim() == (0, 1)


def test_all_figures_are_written_as_bitmaps_and_as_vectors(tmp_path):
    inspection = make_inspection()
    names = ["maps-up-stage-1-weighting", "maps-up-stage-2-interaction", "draws", "sigma", "sigma-prior"]
    assert list(plot_inspection(inspection)) == names
    small = replace(inspection, changes=inspection.changes[2:], sigmas=inspection.sigmas[:1], prior_sigmas=())
    paths = write_figures(small, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"{name}.{ending}" for name in names[1:4] for ending in ("png", "svg")]
    for path in paths:
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert image.width == 1380, "6.9 inches at 200 dots"
        else:
            assert "minatar/breakout, evade, seed 3" in path.read_text()


def test_figures_of_nothing_are_refused():
    with pytest.raises(FigureError, match="at least one layer"):
        plot_maps(make_inspection(), ())
    with pytest.raises(FigureError, match="at least one layer"):
        plot_sigmas((), "title")
