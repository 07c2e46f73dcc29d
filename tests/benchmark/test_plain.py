"""The yardstick must compute what it stands for: plain and real networks agree in float32."""

from dataclasses import replace

import pytest
import torch

from evade.benchmark.plain import PlainPolicy, PlainWorldModel
from evade.config import EVADE, GameSpec, PolicyConfig, WorldModelConfig
from evade.layers import draw, use_mean
from evade.policies import build_policy
from evade.records import Transitions
from evade.world_models import build_world_model, build_world_model_optimiser, fit_update

PIXELS = GameSpec(channels=3, height=27, width=21, levels=256, num_actions=6)
GRID = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6, lowest_reward=0)
STILL = {"dropout": 0.0, "middle_dropout": 0.0, "pixel_noise": 0.0}
KINDS = {
    "pixels": (PIXELS, WorldModelConfig(hidden_size=16, depth=4, num_middle_layers=3, **STILL)),
    "grid": (
        GRID,
        WorldModelConfig(
            num_frames=1,
            hidden_size=8,
            depth=2,
            num_local_layers=2,
            standardise=False,
            predicts_end=True,
            frame_loss_weight=7.0,
            **STILL,
        ),
    ),
}


@pytest.fixture(params=["simple", "interaction", "evade"])
def event_layers(request):
    return {"simple": (), "interaction": ("interaction",), "evade": EVADE}[request.param]


@pytest.fixture(params=list(KINDS))
def pair(request, event_layers):
    game, config = KINDS[request.param]
    torch.manual_seed(3)
    model = build_world_model(replace(config, event_layers=event_layers), game)
    for parameter in model.parameters():
        # Away from zero biases and unit scales, which would hide a missing one.
        parameter.data += 0.05 * torch.randn_like(parameter)
    draw(model, torch.Generator().manual_seed(4))
    return model, PlainWorldModel(model), transitions(game, config.num_frames)


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
    real, told = model.eval()(batch.observation, batch.action), plain.eval()(batch.observation, batch.action)
    torch.testing.assert_close(told.frame, real.frame, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(told.reward, real.reward, atol=2e-5, rtol=1e-4)
    assert (told.end is None) == (real.end is None)
    if real.end is not None:
        torch.testing.assert_close(told.end, real.end, atol=2e-5, rtol=1e-4)
    for ours, theirs in zip(model.predict(*batch[:2]), plain.predict(*batch[:2]), strict=True):
        assert ours.dtype == theirs.dtype
        assert (ours == theirs).float().mean() > 0.999  # two scores may tie to the last bit


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
    real, told = model.compute_loss(batch).total, plain.compute_loss(batch).total
    torch.testing.assert_close(told, real, atol=1e-5, rtol=1e-5)
    real.backward()
    told.backward()
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
    game, config = KINDS["grid"]
    torch.manual_seed(0)
    plain = PlainWorldModel(build_world_model(replace(config, dropout=0.3, pixel_noise=0.3), game)).train()
    batch = transitions(game, config.num_frames)
    assert plain.compute_loss(batch).total != plain.compute_loss(batch).total


def test_the_plain_network_is_fitted_by_the_runs_own_update(pair):
    _, plain, batch = pair
    optimiser = build_world_model_optimiser(plain.network)
    before = {name: parameter.clone() for name, parameter in plain.named_parameters()}
    for _ in range(2):  # the first update's learning rate is 0
        metrics = fit_update(plain.train(), optimiser, batch, 1.0)
    assert torch.isfinite(metrics["gradient_norm"])
    assert any(not torch.equal(before[name], parameter) for name, parameter in plain.named_parameters())


@pytest.mark.parametrize(
    ("game", "config", "num_frames"),
    [
        (PIXELS, PolicyConfig(filters=(8, 8), hidden_size=16), 4),
        (GRID, PolicyConfig(filters=(8,), kernel_size=3, stride=1, hidden_size=16), 1),
    ],
)
def test_the_plain_policy_agrees(game, config, num_frames):
    torch.manual_seed(0)
    policy = build_policy(config, game, num_frames)
    observation = transitions(game, num_frames).observation
    real, told = policy(observation), PlainPolicy(policy)(observation)
    torch.testing.assert_close(told.logits, real.logits)
    torch.testing.assert_close(told.value, real.value)
