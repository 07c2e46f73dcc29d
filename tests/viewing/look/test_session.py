"""What is on screen: game and dreams, the way back, recorded frames."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.config.presets import build_config
from evade.envs.pictures import render_frame
from evade.errors import LookError
from evade.layers import draw, hold, use_mean
from evade.runs.folder import RunFolder
from evade.training.algorithm import train
from evade.training.run import Run
from evade.viewing.look import session as session_module
from evade.viewing.look.games import LiveGame, RecordedGame, bring_to
from evade.viewing.look.session import Session
from evade.viewing.look.source import RunSource
from toy_agent import toy_config

LEFT, RIGHT = 1, 2


def frames(view):
    return [view.game.picture.tobytes(), *(dream.picture.tobytes() for dream in view.dreams)]


def paddle(picture):
    """The paddle's column in a picture of Breakout."""
    (column,) = np.flatnonzero((picture[9] == (86, 180, 233)).all(-1))
    return int(column)


def test_an_action_moves_the_player_in_the_game_and_in_the_dream(session):
    before = session.begin(3)
    after = session.step(LEFT)
    assert paddle(after.game.picture) == paddle(before.game.picture) - 1 == paddle(after.dreams[0].picture)
    assert (after.step, after.last, after.action) == (1, 1, LEFT)
    assert after.parted is None
    assert not after.difference.any()
    assert sum(after.probabilities) == pytest.approx(1)


def test_the_dream_is_the_mean_models_and_the_numbers_are_the_networks(session, source):
    session.begin(3)
    observation = session.observation().unsqueeze(0)
    view = session.step(RIGHT)
    with use_mean(source.run.world_model):
        predicted = source.run.world_model.predict(observation, torch.tensor([RIGHT]))
    assert view.dreams[0].reward == predicted.reward.item()
    assert np.array_equal(view.dreams[0].picture, render_frame(predicted.frame[0].numpy(), 2))
    with torch.no_grad():
        output = source.run.policy(session.observation().unsqueeze(0))
    assert view.value == output.value.item()
    assert view.probabilities == tuple(torch.softmax(output.logits[0].float(), -1).tolist())


@settings(max_examples=8)
@given(st.lists(st.integers(0, 2), min_size=2, max_size=9), st.data())
def test_going_back_and_playing_again_gives_the_same_bytes(source, actions, data):
    session = Session(source)
    seen = [frames(session.view())]
    for action in actions:
        view = session.step(action)
        seen.append(frames(view))
        if view.game.is_over:
            break
    at = data.draw(st.integers(0, len(seen) - 2))
    assert frames(session.seek(at)) == seen[at]
    # Another way first, so that what follows is computed again.
    session.step((actions[at] + 1) % 3)
    session.seek(at)
    for step in range(at, len(seen) - 1):
        assert frames(session.step(actions[step])) == seen[step + 1]
    session.close()


def test_seeking_forgets_nothing_until_the_next_action(session):
    session.begin(0)
    for _ in range(4):
        session.step(0)
    assert (session.seek(1).step, session.view().last) == (1, 4)
    assert session.seek(99).step == 4
    session.seek(1)
    assert session.step(LEFT).last == 2


def test_the_agent_plays_until_the_game_is_over_and_then_no_step_is_possible(session):
    view = session.begin(1)
    while not view.game.is_over:
        view = session.step("agent")
    assert view.step == view.last > 5
    with pytest.raises(LookError, match="The game is over: go back"):
        session.step("agent")
    assert session.seek(view.last - 1).game.is_over is False


def test_a_recorded_frame_is_brought_back_and_its_recording_replayed_exactly(session, source):
    chunk = source.film.chunk(0)
    episode = source.film.episodes(0)[20]
    at = episode.begin + 2
    view = session.start_at(0, at)
    assert view.is_live
    assert view.num_recorded == episode.num_frames - 3
    assert np.array_equal(session.observation()[-1].numpy(), chunk.frame[at].numpy())
    while view.num_recorded:
        view = session.step("recorded")
        shown = at + view.step
        assert np.array_equal(view.game.picture, render_frame(chunk.frame[shown].numpy(), 2))
        assert view.game.reward == chunk.reward[shown]
    assert view.game.is_over
    session.seek(1)
    assert session.step((chunk.action[at + 1].item() + 1) % 3).num_recorded == 0
    with pytest.raises(LookError, match="The recording has ended"):
        session.step("recorded")


@pytest.mark.parametrize("chunk", [0, 1])
def test_every_game_of_a_batch_can_be_brought_back(source, chunk):
    episodes = source.film.episodes(chunk)
    assert {each.env for each in episodes} == set(range(16))
    for episode in [episodes[0], *(each for each in episodes if each.env in (7, 15))][:6]:
        game = bring_to(source.run.config, source.film.start(chunk, episode.begin + 1))
        assert isinstance(game, LiveGame)
        game.close()


def test_where_a_game_cannot_be_played_again_only_its_recording_is_shown(session, source, monkeypatch):
    start = source.film.start(0, 5)
    wrong = start.observation.clone()
    wrong[0] ^= 1
    monkeypatch.setattr(type(source.film), "start", lambda *_: session_start)
    session_start = type(start)(**{**vars(start), "observation": wrong})
    assert isinstance(bring_to(source.run.config, session_start), RecordedGame)
    view = session.start_at(0, 5)
    assert not view.is_live
    with pytest.raises(LookError, match="only its recorded actions can be shown"):
        session.step((start.actions[0] + 1) % 3)
    view = session.step("recorded")
    assert (view.step, view.game.reward) == (1, start.rewards[0])
    session.seek(0)
    assert session.step("recorded").game.picture.tobytes() == view.game.picture.tobytes()


def test_two_draws_dream_from_the_same_start_with_the_same_actions(session, source):
    session.begin(2)
    start = session.observation().unsqueeze(0)
    session.step(RIGHT)
    view = session.choose_pair(["3", "9"])
    assert [dream.name for dream in view.dreams] == ["mean", "3", "9"]
    model = source.run.world_model
    for dream, number in zip(view.dreams[1:], (3, 9), strict=True):
        with use_mean(model):
            value = draw(model, torch.Generator().manual_seed(number))
        with hold(model, value):
            predicted = model.predict(start, torch.tensor([RIGHT]))
        # The session dreams all draws in one forward, which may round differently.
        assert dream.reward == pytest.approx(predicted.reward.item(), abs=1e-7)
        assert np.array_equal(dream.picture, render_frame(predicted.frame[0].numpy(), 2))
    assert view.dreams[1].reward != view.dreams[2].reward
    assert view.dreams[0].trace == (0.0, view.dreams[0].reward)


def test_a_pair_chosen_late_starts_at_the_frame_on_screen(session, monkeypatch):
    monkeypatch.setattr(session_module, "CATCH_UP_CELLS", 100)
    for _ in range(3):
        session.step("agent")
    view = session.choose_pair(["1", "2"])
    assert [dream.begin for dream in view.dreams] == [0, 3, 3]
    assert len(session.seek(2).dreams) == 1
    view = session.step("agent")
    assert [dream.begin for dream in view.dreams] == [0, 2, 2]


def test_what_is_wrong_is_said_and_changes_nothing(session):
    before = session.step(0)
    for work, words in (
        (lambda: session.step(3), r"Invalid action 3: must be 0 to 2"),
        (lambda: session.step("nobody"), "Unknown action 'nobody'"),
        (lambda: session.choose_pair(["x"]), "Unknown draw 'x'"),
        (lambda: session.choose_pair(["1", "2", "3"]), "must be at most 2"),
        (lambda: session.start_at(9, 0), "Invalid collection 9"),
        (lambda: session.start_at(0, 10**7), "Invalid frame 10000000"),
        (lambda: session.observation([(0, 10, 0)]), r"Invalid cell \[0, 10, 0\]"),
    ):
        with pytest.raises(LookError, match=words):
            work()
    assert frames(session.view()) == frames(before)


def test_a_long_history_is_refused_and_not_cut(session, monkeypatch):
    monkeypatch.setattr(session_module, "MAX_STEPS", 2)
    session.step(0)
    session.step(0)
    with pytest.raises(LookError, match="2 steps are remembered"):
        session.step(0)


def trained(folder, config):
    """A run of one iteration, without its videos."""
    schedule = replace(config.schedule, iterations=1)
    evaluation = replace(config.evaluation, episodes=1, final_episodes=1, num_envs=1)
    with Run(replace(config, schedule=schedule, evaluation=evaluation), RunFolder(folder)) as run:
        train(run)
    return RunSource(folder)


def test_a_run_without_event_layers_has_no_draws(tmp_path):
    session = Session(trained(tmp_path, build_config("smoke", "simple")))
    assert not session.source.posterior.exists
    view = session.step(0)
    assert len(view.dreams) == 1
    strip = session.rewards(16)
    assert strip.draws.shape == (0, 3)
    assert (strip.total, strip.beyond_scale) == (0, 0)
    with pytest.raises(LookError, match="This run has no draws"):
        session.choose_pair(["1"])
    session.close()


def test_atari_is_played_beside_its_dream(tmp_path):
    session = Session(trained(tmp_path, build_config("smoke", "evade", "atari/freeway")))
    assert session.source.names.actions == ("noop", "up", "down")
    seen = [session.step(1) for _ in range(3)]
    assert seen[-1].game.picture.shape == (21, 16, 3)
    session.choose_pair(["1", "2"])
    session.seek(1)
    assert session.step(1).game.picture.tobytes() == seen[1].game.picture.tobytes()
    with pytest.raises(LookError, match="on grids only"):
        session.observation([(0, 0, 0)])
    assert session.rewards(4).wanted == 4
    view = session.start_at(0, 10)
    assert view.is_live
    session.close()


def test_a_model_that_samples_and_remembers_gives_the_same_dream_again(tmp_path):
    session = Session(trained(tmp_path, toy_config()))
    seen = [frames(session.step(1)) for _ in range(3)]
    assert session.source.names == (("action 0", "action 1"), ())
    session.seek(0)
    assert [frames(session.step(1)) for _ in range(3)] == seen
    session.close()
