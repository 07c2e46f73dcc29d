"""What is shown of a world model is what its tensors say."""

import numpy as np
import pytest
import torch

import evade
from evade.errors import ConfigError, RunError
from evade.layers import hold, noisy_layers
from evade.viewing.inspection import choose_frame, inspect_run
from small_runs import make_small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return evade.load(make_small_run(tmp_path_factory.mktemp("run"), prior_scale=0.3))


@pytest.fixture(scope="module")
def replay(run):
    return run.read_replay()


@pytest.fixture(scope="module")
def inspection(run, replay):
    return inspect_run(run, replay, num_draws=5, draw=2, channel=1, frame=17)


def test_rewards_and_action_are_the_models(run, replay, inspection):
    rewards = run.rewards(replay.observation(17), draws=5)
    assert np.array_equal(inspection.mean, rewards.mean)
    assert np.array_equal(inspection.draws, rewards.draws)
    assert inspection.action == rewards.draws.std(0).argmax()
    assert (inspection.frame, inspection.draw) == (17, "draw 2")


def test_changes_are_the_captured_maps_of_the_channel_that_changes_most(run, replay, inspection):
    maps = run.maps(replay.observation(17), inspection.action, 2)
    names = [(stage, layer) for stage in ("local1", "local2") for layer in ("translation", "weighting", "interaction")]
    found = {(change.stage, change.layer, change.is_largest): change for change in inspection.changes}
    for stage, layer in names:
        before, after = maps[f"local_heads.events.{stage}.{layer}"]
        most = max(range(8), key=lambda channel: np.abs(after[channel] - before[channel]).mean())
        shown_stage = f"local convolution {stage[5]}"
        for channel, is_largest in {most: True, 1: most == 1}.items():
            change = found[shown_stage, layer, is_largest]
            assert (change.channel, change.num_channels) == (channel, 8)
            assert np.array_equal(change.before, before[channel])
            assert np.array_equal(change.after, after[channel])
    assert len({(change.stage, change.layer) for change in inspection.changes}) == len(names)


def test_every_sigma_is_shown_where_it_belongs(run, inspection):
    layers = noisy_layers(run.world_model)
    shown = {image.title: image for image in inspection.sigmas}
    assert len(shown) == len(layers) - 1 == 7
    translation = layers["local_heads.events.local1.translation"].sigma.detach().abs().numpy()
    assert np.array_equal(shown["translation, local convolution 1"].values, translation)
    assert shown["weighting, local convolution 2"].values.shape == (1, 8)
    last = layers["local_heads.last_convolution"].sigma.detach().abs().numpy()
    image = shown["last convolution"]
    rows, columns = image.block
    assert (image.rows, image.columns) == ("output channel", "input channel")
    for i, j in ((0, 0), (2, 5), (7, 7)):
        block = image.values[rows * i : rows * (i + 1), columns * j : columns * (j + 1)]
        assert np.array_equal(block, last[i, j])


def test_the_priors_sigma_falls_where_objects_were_seen(replay, inspection):
    images = {image.title: image for image in inspection.prior_sigmas}
    assert list(images) == [
        "translation",
        "weighting, predicted frame",
        "weighting, present frame",
        "interaction, predicted frame",
        "interaction, present frame",
    ]
    places = images["weighting, predicted frame"].values
    assert places.shape == (10, 40)
    seen = replay.gather(replay.fit_windows).next_frame.bool().any(0)
    for channel in range(4):
        grid = places[:, 10 * channel : 10 * (channel + 1)]
        assert (grid[seen[channel].numpy()] < 1).all(), "every place where this kind of object was"
    assert places.max() == 1


def test_the_chosen_frame_is_the_one_draws_disagree_about_most(run, replay):
    windows = replay.fit_windows
    places = windows[torch.linspace(0, len(windows) - 1, 64).long()]
    batch = replay.gather(places)
    rewards = []
    for number in range(8):
        with hold(run.world_model, run.sample_draw(number)):
            rewards.append(run.world_model.expected_reward(batch.observation, batch.action))
    spread = torch.stack(rewards).std(0)
    assert spread.max() > spread.median()
    assert choose_frame(run, replay) == places[spread.argmax()]


def test_mistakes_are_named(run, replay):
    for options, said in (
        ({"channel": 8}, "Invalid channel = 8: must be 0 to 7 in this network"),
        ({"channel": -1}, "Invalid channel = -1"),
        ({"frame": replay.size}, f"Invalid frame = {replay.size}: must be 0 to {replay.size - 1}"),
        ({"num_draws": 1}, "Invalid draws = 1: must be 2 to 1024"),
    ):
        with pytest.raises(ConfigError) as caught:
            inspect_run(run, replay, **options)
        assert said in str(caught.value)


def test_an_ablation_shows_its_layer_and_simple_has_nothing_to_show(tmp_path):
    weighting = evade.load(make_small_run(tmp_path / "weighting", "weighting"))
    inspection = inspect_run(weighting, weighting.read_replay(), draw="mean")
    assert {change.layer for change in inspection.changes} == {"weighting"}
    assert [image.title for image in inspection.sigmas] == [
        "weighting, local convolution 1",
        "weighting, local convolution 2",
    ]
    assert (inspection.prior_sigmas, inspection.draw) == ((), "mean model")
    simple = evade.load(make_small_run(tmp_path / "simple", "simple"))
    with pytest.raises(RunError, match="its variant 'simple' has no event layers"):
        inspect_run(simple, simple.read_replay())
