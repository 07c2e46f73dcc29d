"""Videos of a game, of a dream beside it and of draws, frame by frame, with answers known in advance."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import evade
from evade.config.presets import build_config
from evade.envs import make_env, spec
from evade.envs.pictures import render_frame
from evade.seeding import derive_seed
from evade.viewing.films import film_draws, film_dream, film_game
from evade.viewing.panels import captioned, compare_strip, draws_strip, panel_factor, reward_caption, upscale
from evade.viewing.videos import write_video
from fake_worlds import PerfectModel, ScriptedPolicy
from reading_videos import read_video
from small_runs import make_small_run, never_end

ACTIONS = [1, 1, 2, 0, 2, 2, 1, 0] * 20


@pytest.fixture
def run():
    config = build_config("smoke", "simple", "minatar/breakout", seed=4)
    return SimpleNamespace(
        config=config,
        game=spec(config.game, config.env),
        device=torch.device("cpu"),
        policy=ScriptedPolicy(ACTIONS, 3),
        generator=torch.Generator(),
    )


def begin(run, purpose):
    """The game that a film of this purpose plays."""
    games = make_env(run.config.game, 1, derive_seed(run.config.seed, purpose, 0) % 2**31, run.config.env)
    return games, games.reset()


def test_the_film_of_a_game_shows_every_frame_with_the_score_so_far(run):
    games, observation = begin(run, "film of a game")
    expected, score = [], 0.0
    for number, action in enumerate(ACTIONS):
        picture = render_frame(observation[0, -1], 2)
        expected.append(captioned(upscale(picture, panel_factor(10)), [f"step {number}, score {score:g}"]))
        step = games.step([action])
        observation, score = step.observation, score + step.raw_reward[0]
        if step.episodes:
            break
    filmed = list(film_game(run))
    assert len(filmed) == len(expected) > 5
    assert all(np.array_equal(one, other) for one, other in zip(filmed, expected, strict=True))


def test_a_perfect_model_dreams_the_game_and_both_end_together(run):
    games, observation = begin(run, "film of a dream")
    model = PerfectModel(begin(run, "film of a dream")[0]._envs)
    start = render_frame(observation[0, -1], 2)
    last, expected = start, [compare_strip(start, start, ["both start here"], is_dreaming=False)]
    for number, action in enumerate(ACTIONS, start=1):
        step = games.step([action])
        picture = render_frame(step.final_observation[0, -1], 2)
        is_over = bool(step.terminated[0])
        # The dream has gone on to its next start, so its last frame before that stays on screen.
        dreamt = last if is_over else picture
        reward = float(step.reward[0])
        caption = f"step {number}, {reward_caption(reward, reward)}" + (", the dream has ended" if is_over else "")
        expected.append(compare_strip(picture, dreamt, [caption], is_dreaming=True))
        last = picture
        if step.episodes:
            break
    run.world_model = model
    filmed = list(film_dream(run))
    assert len(filmed) == len(expected) > 5
    assert all(np.array_equal(one, other) for one, other in zip(filmed, expected, strict=True))


def test_a_film_survives_encoding(run, tmp_path):
    frames = list(film_game(run))
    write_video(tmp_path / "game.mp4", frames, 10)
    _, images = read_video(tmp_path / "game.mp4")
    assert len(images) == len(frames)
    height, width, _ = frames[0].shape
    for image, frame in zip(images, frames, strict=True):
        assert np.abs(image[:height, :width].astype(int) - frame).mean() < 3


def test_the_film_of_draws_shows_the_dreams_of_each_draw_and_their_distance_from_the_mean(tmp_path):
    run = evade.load(make_small_run(tmp_path, prior_scale=0.3))
    never_end(run.world_model)
    run = replace(run, policy=ScriptedPolicy([0, *ACTIONS], 3))
    start = run.read_replay().observation(40)
    filmed = list(film_draws(run, start))
    horizon = run.config.dream.horizon
    assert len(filmed) == horizon + 1
    rewards, frames = np.zeros((horizon + 1, 4)), []
    for column, choice in enumerate(("mean", 0, 1, 2)):
        dream = run.dream(start, choice)
        dream.reset(seed=0)
        steps = [dream.step(action) for action in [0, *ACTIONS][:horizon]]
        rewards[1:, column] = [step[1] for step in steps]
        frames.append([start[-1], *(step[0][-1] for step in steps)])
    assert np.abs(rewards[:, 1] - rewards[:, 2]).max() > 1e-3, "draws differ"
    for step, picture in enumerate(filmed):
        pictures = [render_frame(frames[column][step], 2) for column in (1, 2, 3)]
        names = ["draw 0", "draw 1", "draw 2"]
        assert np.array_equal(picture, draws_strip(pictures, names, rewards[:, 1:], rewards[:, 0], step))
