"""A loaded run: its dreams, rewards and maps are those of its networks."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

import evade
from evade.dreams.env import DreamEnv
from evade.errors import ConfigError, RunError, ShapeError
from evade.layers import draw, hold, use_mean
from evade.world_models.feature_maps import capture, event_map_names
from small_runs import make_small_run, never_end


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with all event layers and the event prior."""
    return make_small_run(tmp_path_factory.mktemp("run"), prior_scale=0.3)


@pytest.fixture(scope="module")
def run(folder):
    """That run; its dreams never end, so that they can be compared with a `DreamEnv` step by step."""
    loaded = evade.load(folder)
    never_end(loaded.world_model)
    return loaded


@pytest.fixture(scope="module")
def simple(tmp_path_factory):
    return evade.load(make_small_run(tmp_path_factory.mktemp("simple"), "simple"))


@pytest.fixture(scope="module")
def start(run):
    return run.read_replay().observations(torch.tensor([9]))[0].numpy()


def play(env, count=6):
    """Observations and rewards of some steps."""
    return [env.step(action % env.action_space.n)[:2] for action in range(count)]


def test_a_numbered_draw_is_the_layers_own(run):
    value = run.sample_draw(7)
    with use_mean(run.world_model):
        assert value == draw(run.world_model, torch.Generator().manual_seed(7))
    assert value != run.sample_draw(8)
    assert "event_prior" in value


@pytest.mark.parametrize("choice", [None, "mean", 3, "own"])
def test_a_dream_is_a_dream_env_under_its_draw(run, start, choice):
    choice = run.sample_draw(11) if choice == "own" else choice
    env = run.dream(start, choice)
    first, _ = env.reset(seed=0)
    assert np.array_equal(first, start)
    value = run.draw if choice is None else run.sample_draw(3) if choice == 3 else choice
    with use_mean(run.world_model) if choice == "mean" else hold(run.world_model, value):
        dreams = DreamEnv(run.world_model, 1, lambda count: torch.from_numpy(start).expand(count, -1, -1, -1, -1))
        dreams.reset()
        for action, (observation, reward) in enumerate(play(env)):
            step = dreams.step(torch.tensor([action % 3]))
            assert not step.terminated.item()
            assert np.array_equal(observation, step.observation[0].numpy())
            assert reward == step.reward.item()


def test_dreams_of_two_draws_are_played_side_by_side(run, start):
    alone = []
    for number in (1, 2):
        env = run.dream(start, number)
        env.reset(seed=0)
        alone.append([reward for _, reward in play(env)])
    one, other = run.dream(start, 1), run.dream(start, 2)
    one.reset(seed=0)
    other.reset(seed=0)
    beside = [(one.step(action % 3)[1], other.step(action % 3)[1]) for action in range(6)]
    assert [list(rewards) for rewards in zip(*beside, strict=True)] == alone
    assert alone[0] != alone[1]


def test_dreams_start_from_real_frames_by_the_runs_own_settings(run):
    env = run.dream()
    starts = [env.reset(seed=seed)[0] for seed in (4, 4, 5)]
    assert np.array_equal(starts[0], starts[1])
    expected = run.read_replay().starts(1, torch.Generator().manual_seed(4), newest=False, by="distinct")
    assert np.array_equal(starts[0], expected[0].numpy())
    for _ in range(run.config.dream.horizon):
        last = env.step(0)
        if last[2]:
            break
    assert last[2] or last[3]


def test_gymnasium_makes_dreams_that_pass_its_checker(folder, run):
    env = gymnasium.make("evade/Dream-v0", run=str(folder), draw="mean", horizon=9)
    check_env(env.unwrapped)
    loaded = gymnasium.make("evade/Dream-v0", run=run, draw=2)
    assert loaded.observation_space == env.observation_space
    game = gymnasium.make("evade/MinAtar-Breakout-v0", num_frames=run.config.env.num_frames)
    assert game.observation_space == env.observation_space
    assert game.action_space == env.action_space


def test_rewards_are_the_models_under_the_mean_and_each_draw(run, start):
    found = run.rewards(start, draws=3)
    assert found.mean.shape == (3,)
    assert found.draws.shape == (3, 3)
    batch, actions = torch.from_numpy(start).expand(3, -1, -1, -1, -1), torch.arange(3)
    with use_mean(run.world_model):
        assert np.array_equal(found.mean, run.world_model.expected_reward(batch, actions).numpy())
    for number in range(3):
        with hold(run.world_model, run.sample_draw(number)):
            assert np.array_equal(found.draws[number], run.world_model.expected_reward(batch, actions).numpy())
    assert found.draws.std(0).min() > 0


def test_maps_are_the_captured_maps(run, start):
    found = run.maps(start, 2, draw=5)
    names = [name for name in event_map_names(run.world_model) if name.startswith("local_heads.")]
    with (
        hold(run.world_model, run.sample_draw(5)),
        capture(run.world_model, names) as captured,
    ):
        run.world_model.predict(torch.from_numpy(start).unsqueeze(0), torch.tensor([2]))
    assert len(captured) == 2 * len(found) == 14
    for name, maps in found.items():
        assert np.array_equal(maps.before, captured[f"{name}.before"][0].numpy())
        assert np.array_equal(maps.after, captured[f"{name}.after"][0].numpy())
    translation = found["local_heads.events.local1.translation"]
    mean = run.maps(start, 2, draw="mean")["local_heads.events.local1.translation"]
    assert np.array_equal(translation.before, mean.before)
    assert not np.array_equal(translation.after, mean.after)


def test_a_run_without_noise_dreams_its_mean_and_says_that_it_has_no_draws(simple):
    start = simple.read_replay().first_start()[0].numpy()
    assert not simple.has_draws
    assert simple.maps(start, 0) == {}
    assert simple.rewards(start, draws=0).draws.shape == (0, 3)
    env = simple.dream(start)
    env.reset()
    play(env)
    for ask in (lambda: simple.rewards(start), lambda: simple.dream(draw=0)):
        with pytest.raises(RunError, match="has no draws: its variant 'simple' has no noisy layers"):
            ask()


def test_mistakes_are_named(run, start):
    with pytest.raises(ShapeError, match=r"uint8 \[6, 4, 10, 9\]: must be uint8 \[6, 4, 10, 10\]"):
        run.rewards(start[..., :9])
    with pytest.raises(ShapeError, match="Invalid observation, float64"):
        run.dream(start / 2)
    with pytest.raises(ConfigError, match="Invalid action = 3: must be 0 to 2"):
        run.maps(start, 3)
    with pytest.raises(ConfigError, match="Invalid draw = -1"):
        run.dream(start, -1)
