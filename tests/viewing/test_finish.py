"""What a run's score is shown beside."""

from dataclasses import replace

import pytest

from evade.config.presets import build_config
from evade.evidence.published.paper import read_human_random
from evade.runs.folder import RunFolder
from evade.training.run import Run
from evade.viewing.finish import plays_whole_games, random_score


@pytest.mark.parametrize(
    ("preset", "is_whole"),
    [("smoke", False), ("atari-laptop", True), ("atari100k", True), ("quick", True)],
)
def test_only_whole_games_stand_beside_published_scores(preset, is_whole):
    assert plays_whole_games(build_config(preset)) == is_whole


def test_random_play_has_the_time_limit_of_the_score_beside_it(tmp_path):
    """Pong: -20.7 is published for whole games; within 60 steps nobody loses more than three points."""
    config = build_config("smoke", game="atari/pong")
    run = Run(config, RunFolder(tmp_path / "run"))
    assert random_score(run) > -4
    whole = replace(config, evaluation=replace(config.evaluation, time_limit=50_000))
    published = {row.game: row.random for row in read_human_random()}
    assert random_score(Run(whole, RunFolder(tmp_path / "run"))) == published["Pong"]
