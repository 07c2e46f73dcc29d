import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from evade.errors import FigureError
from evade.evidence.figures import STYLES, save_figure, variant_style
from evade.evidence.figures.style import house_style, new_figure, styles_for
from evade.evidence.published import METHODS
from evade.vocabulary.variants import VARIANTS

OURS = tuple(VARIANTS)

# Machado, Oliveira and Fernandes 2009, severity 1: what each eye sees of linear RGB.
EYES = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour, eye):
    """CIE L*a*b* of a colour as an eye sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(EYES[eye]) @ linear, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eye", EYES)
def test_the_five_agents_stay_apart_for_every_eye(eye):
    for one, other in itertools.combinations(OURS, 2):
        distance = np.linalg.norm(lab(STYLES[one].colour, eye) - lab(STYLES[other].colour, eye))
        assert distance > 12, f"{one} and {other} look alike"


def test_colour_is_never_the_only_difference():
    assert len(OURS) >= 5
    assert len({STYLES[name].marker for name in OURS}) == len(OURS)
    assert len({str(STYLES[name].line) for name in OURS}) == len(OURS)


def test_every_method_of_the_paper_has_a_colour_of_its_own():
    assert len({STYLES[method].colour for method in METHODS}) == len(METHODS)


def test_our_variants_look_the_same_as_the_papers_methods():
    pairs = {
        "simple": "simple30",
        "interaction": "evade-interaction",
        "weighting": "evade-weighting",
        "translation": "evade-translation",
        "evade": "evade",
    }
    for name, method in pairs.items():
        assert method in METHODS
        assert STYLES[name] == STYLES[method]
        assert STYLES[name].label == VARIANTS[name].label
    assert STYLES["evade"] == ("EVaDE-SimPLe", "#D55E00", "o", "-")


def test_an_unknown_variant_is_labelled_with_its_name():
    assert variant_style("mine").label == "mine"
    assert variant_style("mine").colour not in {style.colour for style in STYLES.values()}


def test_names_with_details_keep_their_variants_label_and_get_colours_of_their_own():
    names = ["evade (quick)", "evade (minatar)", "evade", "paper:evade", "paper:simple30", "a", "b"]
    styles = styles_for(names)
    assert list(styles) == names
    assert len({style.colour for style in styles.values()}) == len(names)
    assert styles["evade"] == STYLES["evade"]
    assert styles["evade (quick)"].label == "EVaDE-SimPLe (quick)"
    assert styles["paper:simple30"].label == "SimPLe(30), paper"
    assert styles["paper:simple30"].colour == STYLES["simple"].colour


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, ending):
    def plot(path):
        with house_style():
            figure = new_figure(2, 1)
            figure.subplots().plot([1, 2])
        return save_figure(figure, path).read_bytes()

    assert plot(tmp_path / f"a.{ending}") == plot(tmp_path / "new" / f"b.{ending}")


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FigureError, match=r"Invalid figure file a.gif: must end in .png, .pdf, .svg"):
        save_figure(new_figure(1, 1), tmp_path / "a.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(FigureError, match="choose another folder"):
        save_figure(new_figure(1, 1), tmp_path / "file" / "a.png")
