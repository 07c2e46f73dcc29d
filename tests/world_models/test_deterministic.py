import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.errors import ActionError, ConfigError, RewardError, ShapeError
from evade.game_spec import GameSpec
from evade.layers import draw, noisy_layers, use_mean
from evade.records import Statistics, Transitions
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_fitter, build_world_model
from evade.world_models.settings import DeterministicConfig, FitConfig, RewardPathConfig

ATARI = GameSpec(channels=3, height=105, width=80, levels=256, num_actions=6)
MINATAR = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6, lowest_reward=0)
SMALL = DeterministicConfig(
    hidden_size=16, depth=2, predicts_end=True, fit=FitConfig(warmup_updates=50, learning_rate=0.3)
)
VARIANTS = {
    "simple": (),
    "translation": ("translation",),
    "weighting": ("weighting",),
    "interaction": ("interaction",),
    "evade": EVADE,
}


def small(config=SMALL, game=MINATAR, **reward):
    """A small model for observations of one frame, with settings of the reward path."""
    return build_world_model(with_reward(config, **reward), game, num_frames=1)


def with_reward(config, **changes):
    return replace(config, reward=replace(config.reward, **changes))


def with_fit(config, **changes):
    return replace(config, fit=replace(config.fit, **changes))


def statistics(is_single):
    return Statistics(is_single.diag(), torch.zeros(MINATAR.num_reward_classes), torch.zeros(()), torch.zeros(2, 10), 0)


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def observations(game, num_frames, batch=3):
    shape = (batch, num_frames, game.channels, game.height, game.width)
    return torch.randint(0, game.levels, shape, dtype=torch.uint8)


def moving_dot(batch, generator):
    """A dot that the action pushes right (odd) or leaves; reward on reaching the last column, where the game ends."""
    row, column = torch.randint(0, 10, (2, batch), generator=generator)
    column = column % 9
    action = torch.randint(0, 2, (batch,), generator=generator)
    frame, next_frame = torch.zeros(2, batch, 4, 10, 10, dtype=torch.uint8)
    everyone = torch.arange(batch)
    frame[everyone, 0, row, column] = 1
    next_frame[everyone, 0, row, column + action] = 1
    won = column + action == 9
    return Transitions(frame.unsqueeze(1), action, next_frame, won.long(), won)


@pytest.fixture(scope="module")
def simple():
    return build_world_model(DeterministicConfig(), ATARI, num_frames=4)


class TestPaperSize:
    def test_the_number_of_parameters_matches_t2t_simple(self, simple):
        # 11,204,743 in T2T SimPLe, minus the heads and embeddings that never get a gradient.
        unused_heads = (1024 * 6 + 6) + (1024 + 1)
        unused_tables = (6 + 3 + 3) * 64
        assert count(simple) == 11_204_743 - unused_heads - unused_tables

    @pytest.mark.parametrize(
        ("layers", "shared", "added"),
        [
            (EVADE, True, 299_520),
            (EVADE, False, 430_592),
            (("translation",), True, 3_840),
            (("weighting",), True, 768),
            (("interaction",), True, 163_840 + 131_072),
        ],
    )
    def test_the_number_of_parameters_of_the_reward_path(self, simple, layers, shared, added):
        reward = RewardPathConfig(event_layers=layers, share_last_stage=shared)
        model = build_world_model(DeterministicConfig(reward=reward), ATARI, num_frames=4)
        assert count(model) - count(simple) == added

    def test_event_layers_are_before_the_fifth_and_sixth_up_stage_in_order(self):
        reward = RewardPathConfig(event_layers=EVADE)
        model = build_world_model(DeterministicConfig(reward=reward), ATARI, num_frames=4)
        assert {name: layer.channels for name, layer in noisy_layers(model).items()} == {
            "reward_path.events.up4.translation": 256,
            "reward_path.events.up4.weighting": 256,
            "reward_path.events.up4.interaction": 256,
            "reward_path.events.up5.translation": 128,
            "reward_path.events.up5.weighting": 128,
            "reward_path.events.up5.interaction": 128,
            "reward_path.last_convolution": 128,
        }


@pytest.mark.parametrize("layers", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("training", [True, False], ids=["training", "dreaming"])
def test_the_transition_path_is_independent_of_the_reward_path(layers, training):
    observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
    outputs = []
    for event_layers in ((), layers):
        torch.manual_seed(7)
        model = small(event_layers=event_layers).train(training)
        torch.manual_seed(8)
        outputs.append(model(observation, action))
    assert torch.equal(outputs[0].frame, outputs[1].frame)
    assert torch.equal(outputs[0].end, outputs[1].end)


@pytest.mark.parametrize("layers", [layers for layers in VARIANTS.values() if layers], ids=list(VARIANTS)[1:])
def test_a_draw_changes_the_reward_and_nothing_else(layers):
    model = small(event_layers=layers).eval()
    observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
    outputs = []
    for seed in (1, 1, 2):
        draw(model, torch.Generator().manual_seed(seed))
        outputs.append(model(observation, action))
    assert torch.equal(outputs[0].reward, outputs[1].reward)
    assert not torch.equal(outputs[0].reward, outputs[2].reward)
    assert torch.equal(outputs[0].frame, outputs[2].frame)
    assert torch.equal(outputs[0].end, outputs[2].end)


def test_identity_event_layers_without_noise_are_simple():
    torch.manual_seed(0)
    simple = small().eval()
    for shared in (True, False):
        evade = small(event_layers=EVADE, share_last_stage=shared).eval()
        evade.load_state_dict(simple.state_dict(), strict=False)
        if not shared:
            with torch.no_grad():
                evade.reward_path.last_convolution.weight.copy_(evade.up[-1].convolution.weight)
        use_mean(evade)
        observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
        torch.testing.assert_close(evade(observation, action).reward, simple(observation, action).reward)


def test_one_draw_for_each_environment_dreams_as_each_alone():
    model = small(event_layers=EVADE, sigma_init=0.5).eval()
    observation, action = observations(MINATAR, 1, batch=4), torch.tensor([0, 3, 5, 1])
    value = draw(model, torch.Generator().manual_seed(0), samples=4)
    together = model(observation, action)
    assert value["reward_path.events.up1.weighting"].shape == (4, 32)
    use_mean(model)
    mean = model(observation, action)
    assert torch.equal(together.frame, mean.frame)
    assert not torch.equal(together.reward, mean.reward)


@given(
    height=st.integers(1, 13),
    width=st.integers(1, 13),
    channels=st.integers(1, 4),
    levels=st.sampled_from([2, 5, 256]),
    depth=st.integers(1, 4),
    num_frames=st.integers(1, 3),
    ends=st.booleans(),
    layers=st.sampled_from(list(VARIANTS.values())),
    activation=st.sampled_from(["relu", "belu"]),
    standardise=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_one_class_for_every_size(
    height, width, channels, levels, depth, num_frames, ends, layers, activation, standardise
):
    game = GameSpec(channels=channels, height=height, width=width, levels=levels, num_actions=3)
    config = DeterministicConfig(
        hidden_size=4,
        depth=depth,
        num_doublings=1,
        activation=activation,
        standardise=standardise,
        predicts_end=ends,
        reward=RewardPathConfig(event_layers=layers),
    )
    model = build_world_model(config, game, num_frames)
    observation, action = observations(game, num_frames, batch=2), torch.tensor([0, 2])
    batch = Transitions(observation, action, observation[:, -1], torch.tensor([-1, 1]), torch.tensor([False, True]))
    loss = model.compute_loss(batch)
    loss.total.backward()
    assert torch.isfinite(loss.total)
    assert ("end_loss" in loss.metrics) == ends
    model.eval()
    logits = model(observation, action)
    assert logits.frame.shape == (2, height, width, channels, levels)
    assert logits.reward.shape == (2, 3)
    prediction = model.predict(observation, action)
    assert prediction.frame.shape == (2, channels, height, width)
    assert prediction.frame.dtype == torch.uint8
    assert int(prediction.frame.max()) < levels
    assert prediction.reward.shape == prediction.terminated.shape == (2,)
    assert prediction.terminated.dtype == torch.bool


@pytest.mark.parametrize("layers", VARIANTS.values(), ids=VARIANTS)
def test_every_parameter_learns(layers):
    torch.manual_seed(0)
    model = small(event_layers=layers, kl_weight=1e-6)
    batch = moving_dot(16, torch.Generator().manual_seed(0))
    batch = batch._replace(action=torch.arange(16) % 6)
    model.compute_loss(batch).total.backward()
    still = [name for name, parameter in model.named_parameters() if not parameter.grad.any()]
    assert still == []


def test_it_learns_a_tiny_game_with_all_its_noise_on():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    config = with_fit(SMALL, dropout=0.0, middle_dropout=0.1, pixel_noise=0.0)
    model = small(config, replace(MINATAR, num_actions=2), event_layers=EVADE)
    fitter = build_fitter(model.config, model)
    first = fitter.update(moving_dot(64, generator))
    for _ in range(250):
        last = fitter.update(moving_dot(64, generator))
    assert last["loss"] < 0.2 * first["loss"]
    model.eval()
    fresh = moving_dot(500, generator)
    with use_mean(model):
        prediction = model.predict(fresh.observation, fresh.action)
    exact = (prediction.frame == fresh.next_frame).flatten(1).all(1)
    assert exact.float().mean() > 0.97
    assert (prediction.reward == fresh.reward).float().mean() > 0.97
    assert (prediction.terminated == fresh.terminated).float().mean() > 0.97


def test_the_kl_term_is_off_by_default_and_added_when_asked_for():
    batch = moving_dot(4, torch.Generator().manual_seed(0))
    model = small(event_layers=EVADE).eval()
    use_mean(model)
    plain = model.compute_loss(batch)
    model.config = with_reward(model.config, kl_weight=0.001)
    weighted = model.compute_loss(batch)
    assert "kl" not in plain.metrics
    torch.testing.assert_close(weighted.total - plain.total, 0.001 * weighted.metrics["kl"])


def test_the_frame_loss_is_weighted_as_set():
    batch = moving_dot(4, torch.Generator().manual_seed(0))
    model = small().eval()
    once = model.compute_loss(batch)
    model.config = with_fit(model.config, frame_loss_weight=50.0)
    often = model.compute_loss(batch)
    torch.testing.assert_close(often.total - once.total, 49 * once.metrics["frame_loss"])
    assert torch.equal(often.metrics["frame_loss"], once.metrics["frame_loss"])


def test_only_binary_cells_can_keep_objects():
    said = (
        "Invalid world_model.keeps_objects = True: must be False, because this game's cells have 256 values and not 2"
    )
    with pytest.raises(ConfigError, match=said):
        small(replace(SMALL, keeps_objects=True), replace(MINATAR, levels=256))


def test_a_dream_keeps_the_only_object_of_a_channel():
    torch.manual_seed(0)
    model = small(replace(SMALL, keeps_objects=True)).eval()
    with torch.no_grad():
        # All cells are off with a probability of about nine in ten.
        model.frame_head.weight.mul_(0.01)
        model.frame_head.bias.copy_(torch.tensor([2.2, 0.0]).repeat(MINATAR.channels))
    observation = torch.zeros_like(observations(MINATAR, 1))
    observation[:, :, 0, 3, 4] = 1
    action = torch.zeros(len(observation), dtype=torch.long)
    shown = model.predict(observation, action).frame.flatten(2).sum(2)
    assert (shown[:, 0] == 1).all()
    assert not shown[:, 1:].any()
    model.config = replace(model.config, keeps_objects=False)
    assert not model.predict(observation, action).frame.any()


def test_statistics_set_the_single_channels_and_fitting_leaves_them_alone():
    model = small(replace(SMALL, keeps_objects=True))
    assert model.one_object.diagonal().tolist() == [False] * 4
    model.use_statistics(statistics(torch.tensor([True, False, True, False])))
    assert model.one_object.diagonal().tolist() == [True, False, True, False]
    batch = moving_dot(3, torch.Generator().manual_seed(0))
    fitter = build_fitter(model.config, model)
    for training in (True, False):
        model.train(training).compute_loss(batch)
        assert model.one_object.diagonal().tolist() == [True, False, True, False]
    model.train()
    fitter.update(batch)
    assert model.one_object.diagonal().tolist() == [True, False, True, False]
    model.use_statistics(statistics(torch.tensor([False, True, True, False])))
    assert model.one_object.diagonal().tolist() == [False, True, True, False]
    assert torch.equal(model.state_dict()["one_object"], model.one_object)


def test_a_dream_shows_one_object_in_single_channels():
    torch.manual_seed(0)
    model = small(replace(SMALL, keeps_objects=True)).eval()
    model.use_statistics(statistics(torch.tensor([False, True, False, False])))
    prediction = model.predict(observations(MINATAR, 1), torch.tensor([0, 3, 5]))
    assert (prediction.frame[:, 1].flatten(1).sum(1) == 1).all()
    assert (prediction.frame[:, 0].flatten(1).sum(1) > 1).any()


def test_statistics_do_not_matter_to_a_model_that_decides_every_cell_alone():
    model = small().eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.use_statistics(statistics(torch.ones(4, dtype=torch.bool)))
    assert "one_object" not in before
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_it_has_neither_memory_nor_noise():
    model = small().eval()
    assert model.initial_memory(torch.zeros(3, 1)) == ()
    assert model.sample_noise(3, None) == ()
    assert model.predict(observations(MINATAR, 1), torch.tensor([0, 3, 5]), (), ()).memory == ()


def test_a_no_op_does_not_depend_on_the_action_embedding():
    model = small().eval()
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.action_embedding.weight.normal_()
    observation = observations(MINATAR, 1)
    no_op, push = torch.zeros(3, dtype=torch.long), torch.ones(3, dtype=torch.long)
    assert torch.equal(model(observation, no_op).frame, twin(observation, no_op).frame)
    assert not torch.equal(model(observation, push).frame, twin(observation, push).frame)


def test_the_expected_reward_is_the_mean_of_its_distribution():
    model = small(game=replace(MINATAR, lowest_reward=-1)).eval()
    observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
    low, none, high = model(observation, action).reward.softmax(-1).unbind(-1)
    torch.testing.assert_close(model.expected_reward(observation, action), high - low)
    assert ((low + none + high) - 1).abs().max() < 1e-6


def test_a_dream_pays_the_most_likely_reward_or_the_expected_one():
    model = small(event_layers=EVADE).eval()
    observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
    draw(model, torch.Generator().manual_seed(0))
    argmax = model.predict(observation, action)
    assert torch.equal(argmax.reward, argmax.reward.round())
    model.config = with_reward(model.config, estimate="expected")
    expected = model.predict(observation, action)
    assert torch.equal(expected.reward, model.expected_reward(observation, action))
    assert not torch.equal(expected.reward, argmax.reward)
    assert torch.equal(expected.frame, argmax.frame)


def test_the_model_compiles_whole():
    model = small(event_layers=EVADE).eval()
    draw(model, torch.Generator().manual_seed(0))
    observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
    with torch.no_grad():
        expected = model(observation, action)
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(observation, action)
    torch.testing.assert_close(compiled.frame, expected.frame)
    torch.testing.assert_close(compiled.reward, expected.reward)


def test_autocast_stays_close():
    torch.manual_seed(0)
    model = small(event_layers=EVADE).eval()
    use_mean(model)
    observation, action = observations(MINATAR, 1), torch.tensor([0, 3, 5])
    with torch.no_grad():
        exact = model(observation, action)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = model(observation, action)
    torch.testing.assert_close(low.frame.float(), exact.frame, atol=0.1, rtol=0.05)
    torch.testing.assert_close(low.reward.float(), exact.reward, atol=0.1, rtol=0.05)


class TestMistakes:
    @pytest.fixture
    def model(self):
        return small()

    @pytest.mark.parametrize("action", [6, -1])
    def test_an_action_outside_the_range(self, model, action):
        actions = torch.tensor([0, action, 1])
        with pytest.raises(
            ActionError, match=f"Invalid actions from {actions.min()} to {actions.max()}: must be 0 to 5"
        ):
            model(observations(MINATAR, 1), actions)

    @pytest.mark.parametrize("shape", [(3, 4, 10, 10), (3, 2, 4, 10, 10), (3, 1, 5, 10, 10)])
    def test_an_observation_of_another_shape(self, model, shape):
        with pytest.raises(
            ShapeError, match=r"Invalid observation.*must be \[batch, 1 frames, 4 channels, height, width\]"
        ):
            model(torch.zeros(shape, dtype=torch.uint8), torch.zeros(3, dtype=torch.long))

    def test_a_frame_of_floats(self, model):
        with pytest.raises(ShapeError, match=r"of dtype torch.float32: must be torch.uint8"):
            model(torch.zeros(3, 1, 4, 10, 10), torch.zeros(3, dtype=torch.long))

    def test_too_few_actions(self, model):
        with pytest.raises(ShapeError, match=r"shape \(2,\): must be \[3\], one for each observation"):
            model(observations(MINATAR, 1), torch.zeros(2, dtype=torch.long))

    @pytest.mark.parametrize("reward", [-1, 2])
    def test_a_reward_outside_the_range(self, model, reward):
        batch = moving_dot(2, torch.Generator())._replace(reward=torch.tensor([0, reward]))
        said = f"Invalid rewards from {min(0, reward)} to {max(0, reward)}: must be 0 to 1. Clip them first"
        with pytest.raises(RewardError, match=said):
            model.compute_loss(batch)
