import json
import sys

import pytest

from evade.envs.extras import import_extra
from evade.errors import EvadeError, ExtraMissing


def test_an_installed_package_is_imported():
    assert import_extra("json", extra="atari") is json


def test_a_missing_package_names_the_extra_to_install():
    with pytest.raises(ExtraMissing) as caught:
        import_extra("no_such_package", extra="atari")
    assert str(caught.value) == "The package no_such_package is not installed: run  pip install 'evade[atari]'"
    assert isinstance(caught.value, EvadeError)


def test_the_part_that_is_missing_is_named(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_part\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ExtraMissing, match="The package no_such_part is not installed"):
        import_extra("half_installed", extra="minatar")
    assert "half_installed" not in sys.modules
