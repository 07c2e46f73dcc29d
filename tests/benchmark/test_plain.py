"""The baseline must compute the same: plain and real networks agree in float32."""

from dataclasses import replace

import pytest
import torch

from evade.benchmark.plain import PlainPolicy, PlainWorldModel
from evade.game_spec import GameSpec
from evade.layers import draw, use_mean
from evade.policies.build import build_actor_critic
from evade.policies.settings import ActorCriticConfig
from evade.records import Transitions
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_deterministic, build_deterministic_fitter
from evade.world_models.fit import GradientFitter
from evade.world_models.settings import DeterministicConfig, FitConfig

PIXELS = GameSpec(channels=3, height=27, width=21, levels=256, num_actions=6)
GRID = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6, lowest_reward=0)
NO_NOISE = FitConfig(dropout=0.0, middle_dropout=0.0, pixel_noise=0.0)
GRID_MODEL = DeterministicConfig(
    hidden_size=8,
    depth=2,
    num_local_layers=2,
    standardise=False,
    predicts_end=True,
    fit=replace(NO_NOISE, frame_loss_weight=7.0),
)
KINDS = {
    "pixels": (PIXELS, 4, DeterministicConfig(hidden_size=16, depth=4, num_middle_layers=3, fit=NO_NOISE)),
    "grid": (GRID, 1, GRID_MODEL),
}


@pytest.fixture(params=["simple", "interaction", "evade"])
def event_layers(request):
    return {"simple": (), "interaction": ("interaction",), "evade": EVADE}[request.param]


@pytest.fixture(params=list(KINDS))
def pair(request, event_layers):
    game, num_frames, config = KINDS[request.param]
    torch.manual_seed(3)
    model = build_deterministic(config.with_event_layers(event_layers), game, num_frames)
    for parameter in model.parameters():
        # Away from zero biases and unit scales, which would hide a missing one.
        parameter.data += 0.05 * torch.randn_like(parameter)
    draw(model, torch.Generator().manual_seed(4))
    return model, PlainWorldModel(model), transitions(game, num_frames)


def transitions(game, num_frames, batch=5):
    shape = (batch, num_frames, game.channels, game.height, game.width)
    observation = torch.randint(0, game.levels, shape, dtype=torch.uint8)
    return Transitions(
        observation=observation,
        action=torch.arange(batch) % game.num_actions,
        next_frame=torch.randint(0, game.levels, (batch, *shape[2:]), dtype=torch.uint8),
        reward=torch.arange(batch) % game.num_reward_classes + game.lowest_reward,
        terminated=torch.arange(batch) % 2 == 0,
    )


def test_frames_rewards_and_ends_agree(pair):
    model, plain, batch = pair
    real, baseline = model.eval()(batch.observation, batch.action), plain.eval()(batch.observation, batch.action)
    # A constant added to all logits of a cell has no meaning.
    frames = baseline.frame.log_softmax(-1), real.frame.log_softmax(-1)
    torch.testing.assert_close(*frames, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(baseline.reward, real.reward, atol=2e-5, rtol=1e-4)
    assert (baseline.end is None) == (real.end is None)
    if real.end is not None:
        torch.testing.assert_close(baseline.end, real.end, atol=2e-5, rtol=1e-4)
    predictions = model.predict(*batch[:2]), plain.predict(*batch[:2])
    assert [prediction.memory for prediction in predictions] == [(), ()]
    for ours, theirs in zip(*(prediction[:3] for prediction in predictions), strict=True):
        assert ours.dtype == theirs.dtype
        assert (ours == theirs).float().mean() > 0.999  # two logits may tie to the last bit
    torch.testing.assert_close(
        plain.expected_reward(*batch[:2]), model.expected_reward(*batch[:2]), atol=1e-5, rtol=1e-4
    )


def test_the_held_draw_counts_in_the_plain_network_too(pair):
    model, plain, batch = pair
    with torch.no_grad():
        drawn = plain.eval()(batch.observation, batch.action).reward
        with use_mean(plain):
            mean = plain(batch.observation, batch.action).reward
    assert torch.equal(drawn, mean) == (model.reward_path is None)


def test_losses_and_gradients_agree(pair):
    model, plain, batch = pair
    use_mean(model.train())
    use_mean(plain.train())
    real, baseline = model.compute_loss(batch).total, plain.compute_loss(batch).total
    torch.testing.assert_close(baseline, real, atol=1e-5, rtol=1e-5)
    real.backward()
    baseline.backward()
    plain_parameters = dict(plain.network.named_parameters())
    for name, parameter in model.named_parameters():
        theirs = plain_parameters[name].grad
        assert (theirs is None) == (parameter.grad is None), name
        if theirs is not None:
            torch.testing.assert_close(theirs, parameter.grad, atol=3e-5, rtol=1e-3)


def test_the_plain_network_is_plain(pair):
    model, plain, batch = pair
    kernels = [parameter for parameter in plain.parameters() if parameter.dim() == 4]
    assert all(kernel.is_contiguous() and kernel.dtype == torch.float32 for kernel in kernels)
    assert not all(parameter.is_contiguous() for parameter in model.parameters() if parameter.dim() == 4)
    seen = []
    for module in plain.modules():
        if isinstance(module, torch.nn.Conv2d | torch.nn.ConvTranspose2d):
            module.register_forward_hook(lambda _, inputs, output: seen.extend([inputs[0], output]))
    plain.eval()(batch.observation, batch.action)
    assert seen
    assert all(each.is_contiguous() for each in seen)


def test_fitting_noise_is_in_the_plain_network_too():
    config = replace(GRID_MODEL, fit=replace(GRID_MODEL.fit, dropout=0.3, pixel_noise=0.3))
    torch.manual_seed(0)
    plain = PlainWorldModel(build_deterministic(config, GRID, num_frames=1)).train()
    batch = transitions(GRID, num_frames=1)
    assert plain.compute_loss(batch).total != plain.compute_loss(batch).total


def test_the_plain_network_is_fitted_by_the_runs_own_update(pair):
    _, plain, batch = pair
    optimiser = build_deterministic_fitter(plain.network.config, plain.network).optimiser
    fitter = GradientFitter(plain.train(), optimiser, max_gradient_norm=1.0)
    before = {name: parameter.clone() for name, parameter in plain.named_parameters()}
    for _ in range(2):  # the first update's learning rate is 0
        metrics = fitter.update(batch)
    assert torch.isfinite(metrics["gradient_norm"])
    assert any(not torch.equal(before[name], parameter) for name, parameter in plain.named_parameters())


@pytest.mark.parametrize(
    ("game", "config", "num_frames"),
    [
        (PIXELS, ActorCriticConfig(filters=(8, 8), hidden_size=16), 4),
        (GRID, ActorCriticConfig(filters=(8,), kernel_size=3, stride=1, hidden_size=16), 1),
    ],
)
def test_the_plain_policy_agrees(game, config, num_frames):
    torch.manual_seed(0)
    policy = build_actor_critic(config, game, num_frames)
    observation = transitions(game, num_frames).observation
    plain = PlainPolicy(policy)
    assert plain.num_frames == policy.num_frames == num_frames
    real, baseline = policy(observation), plain(observation)
    torch.testing.assert_close(baseline.logits, real.logits)
    torch.testing.assert_close(baseline.value, real.value)
