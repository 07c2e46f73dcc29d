"""Recorded games that go on from one collection to the next can be brought back at any frame."""

import pytest
import torch

from evade.config.presets import build_config
from evade.runs.folder import RunFolder
from evade.training.load import load_run
from evade.training.phases import (
    collect_real_experience,
    draw_from_posterior,
    evaluate_policy,
    fit_world_model,
    improve_policy_in_dreams,
)
from evade.training.run import Run
from evade.viewing.look.film import Film
from evade.viewing.look.games import LiveGame, bring_to


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A run of Freeway after two collections of two games; the first game goes on."""
    config = build_config("smoke", "simple", "minatar/freeway")
    path = tmp_path_factory.mktemp("run")
    phases = (fit_world_model, draw_from_posterior, improve_policy_in_dreams, evaluate_policy)
    with Run(config, RunFolder(path)) as run:
        state = run.restore_or_start()
        for each_phase in (collect_real_experience, *phases, collect_real_experience):
            each_phase(run, state)
    return load_run(path)


def test_the_episodes_of_a_chunk_do_not_include_its_history(loaded):
    film, history = Film(loaded), loaded.config.env.num_frames - 1
    chunk = film.chunk(1)
    assert chunk.position[:history].tolist() == list(range(-history, 0))
    episodes = film.episodes(1)
    assert episodes[0].begin == history
    assert {each.env for each in episodes} == {0, 1}
    assert sum(each.num_frames - 1 for each in episodes) == chunk.num_steps == loaded.config.schedule.real_steps


@pytest.mark.parametrize("number", [0, 1])
def test_every_recorded_game_is_live_again(loaded, number):
    film = Film(loaded)
    for episode in film.episodes(number):
        for at in (episode.begin, episode.begin + episode.num_frames // 2):
            game = bring_to(loaded.config, film.start(number, at))
            assert isinstance(game, LiveGame)
            game.close()


def test_a_start_in_the_history_is_one_after_it(loaded):
    film = Film(loaded)
    first = film.episodes(1)[0].begin
    early, late = film.start(1, 0), film.start(1, first)
    assert early.origin == late.origin
    assert torch.equal(early.observation, late.observation)
    # What the agent had seen before the collection is part of what it sees.
    assert torch.equal(late.observation, film.chunk(1).frame[: first + 1])
