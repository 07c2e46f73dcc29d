"""Games that go on from one collection to the next, also after a restart."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from episodes import write
from evade.config.presets import build_config
from evade.config.run import CollectConfig
from evade.envs import spec
from evade.envs.tensors import RealEnv
from evade.policies.acting import RandomPolicy
from evade.policies.rollout import roll_out
from evade.replay.recorder import Recorder
from evade.runs.folder import RunFolder
from evade.training.assemble import build_replay
from evade.training.real_games import RealGames

NUM_GAMES, NUM_STEPS = 4, 40


def build(path, game, kept_share):
    """Settings, the game's spec and an empty replay."""
    config = build_config("smoke", "simple", game, seed=5)
    collect = CollectConfig(num_envs=NUM_GAMES, num_slices=1, kept_share=kept_share)
    schedule = replace(config.schedule, first_real_steps=NUM_GAMES * NUM_STEPS, real_steps=NUM_GAMES * NUM_STEPS)
    config = replace(config, collect=collect, schedule=schedule, replay=replace(config.replay, holdout=0.0))
    folder = RunFolder(path)
    folder.replay.mkdir(parents=True)
    return config, spec(config.game, config.env), build_replay(config, spec(config.game, config.env), folder)


def collect(games, replay, num_actions):
    """One collection of random play; what the agent saw, `[T, N, K, C, H, W]`."""
    recorder = Recorder(games)
    policy, generator = RandomPolicy(num_actions), torch.Generator().manual_seed(len(replay.records))
    policy.num_frames = replay.num_frames
    rollout = roll_out(policy, RealEnv(recorder, torch.device("cpu")), NUM_STEPS, generator)
    replay.add(recorder.chunk(), write)
    return rollout


@pytest.mark.parametrize("game", ["minatar/seaquest", "minigrid/DoorKey-5x5", "deepsea/10", "atari/breakout"])
def test_a_restart_brings_back_the_games_that_go_on(tmp_path, game):
    config, found, replay = build(tmp_path, game, kept_share=0.5)
    live = RealGames(config)
    for _ in range(3):
        collect(live.begin(replay), replay, found.num_actions)
    rebuilt = RealGames(config)
    ours, theirs = live.begin(replay), rebuilt.begin(replay)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.integers(found.num_actions, size=NUM_GAMES)
        for one, other in zip(ours.step(actions), theirs.step(actions), strict=True):
            np.testing.assert_array_equal(one, other)
    live.close()
    rebuilt.close()


def test_the_replay_shows_what_the_agent_saw_also_where_a_game_goes_on(tmp_path):
    config, found, replay = build(tmp_path, "minatar/space_invaders", kept_share=1.0)
    games = RealGames(config)
    collect(games.begin(replay), replay, found.num_actions)
    before = replay.size
    rollout = collect(games.begin(replay), replay, found.num_actions)
    begin = replay.fit_windows[replay.fit_windows >= before]
    seen = rollout.observation.transpose(0, 1).flatten(0, 1)
    assert len(begin) == len(seen) == NUM_GAMES * NUM_STEPS
    assert torch.equal(replay.observations(begin), seen)
    assert torch.equal(replay.gather(begin).action, rollout.action.T.flatten())
    # Nothing moves in a stack of copies; here things move before the collection begins.
    assert (replay.observations(begin[:1])[0].flatten(1).diff(dim=0) != 0).any()
    assert [actions.shape for actions in replay.actions(NUM_GAMES)] == [(NUM_STEPS, NUM_GAMES)] * 2


def test_a_replay_with_histories_is_read_back(tmp_path):
    config, found, replay = build(tmp_path, "minatar/breakout", kept_share=1.0)
    games = RealGames(config)
    for _ in range(2):
        collect(games.begin(replay), replay, found.num_actions)
    again = build_replay(config, found, RunFolder(tmp_path))
    again.restore({}, replay.saved_values())
    assert torch.equal(again.fit_windows, replay.fit_windows)
    assert torch.equal(again.observations(again.fit_windows), replay.observations(replay.fit_windows))


def test_without_kept_games_every_collection_plays_a_new_batch(tmp_path):
    config, _, replay = build(tmp_path, "minatar/breakout", kept_share=0.0)
    games = RealGames(config)
    first = games.begin(replay)
    assert games.begin(replay) is not first
