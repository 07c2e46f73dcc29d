"""The data behind the results pages: the study's runs have the present preset, and none of its seeds is missing."""

import json
from pathlib import Path

import pytest

from evade.config import flatten, to_document
from evade.config.presets import build_config
from evade.envs.games import MINATAR
from evade.evidence.results.comparability import EVENT_LAYERS, EVENT_LAYERS_ONLY, find_differing
from evade.evidence.results.scores_csv import read_scores

DATA = Path(__file__).parents[2] / "docs" / "results" / "data"

MINATAR_GAMES = [game.name for game in MINATAR]

STUDY = {
    "minatar-simple.csv": [("simple", game) for game in MINATAR_GAMES],
    "minatar-evade.csv": [("evade", game) for game in MINATAR_GAMES],
    "deepsea-20.csv": [("evade", "deepsea/20"), ("simple", "deepsea/20")],
}
"""The variants and games of which each file has five seeds."""

SHORTENED = {"deepsea-20.csv": {"schedule.iterations": 14, "evaluation.every": 100}}
"""Settings of a file's runs that are not the preset's, as its page says."""

NO_EFFECT = {"env.binary_channels"}
"""Settings that do nothing in these games, whose channels are binary."""


@pytest.mark.parametrize("name", STUDY)
def test_the_study_was_made_with_the_present_preset(name):
    for run in read_scores(DATA / name):
        asked = (run.settings[field] for field in ("preset", "variant", "game", "seed"))
        present = json.loads(json.dumps(to_document(build_config(*asked))))
        documents = {"then": flatten(run.settings), "now": flatten(present) | SHORTENED.get(name, {})}
        ignored = NO_EFFECT if documents["now"][EVENT_LAYERS] else NO_EFFECT.union(EVENT_LAYERS_ONLY)
        differing = {field for field in find_differing(documents) if not field.startswith("machine.")}
        assert differing <= ignored, f"{run.folder.path} has other settings: the study has to be run again"


@pytest.mark.parametrize("name", STUDY)
def test_all_five_seeds_of_each_game_are_reported(name):
    found = sorted((run.settings["variant"], run.game, run.seed) for run in read_scores(DATA / name))
    assert found == sorted((*place, seed) for place in STUDY[name] for seed in range(1, 6))
