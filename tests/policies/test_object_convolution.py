"""The compiled loop over objects, held against the convolution and rectifier that it replaces."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from evade.errors import ShapeError
from evade.game_spec import GameSpec
from evade.native import load_library
from evade.policies.build import build_policy
from evade.policies.network import SameConv2d
from evade.policies.object_convolution import convolve_objects, convolve_objects_backward
from evade.policies.settings import ActorCriticConfig

GAME = GameSpec(channels=4, height=10, width=9, levels=2, num_actions=6)
SMALL = ActorCriticConfig(filters=(12,), num_frames=2, kernel_size=3, stride=2, hidden_size=16)


def whole_numbers(*shape):
    """Sums of few of them are exact, in any order."""
    return torch.randint(-4, 5, shape).float()


def some_frames(channels, size, share, batch=3):
    return (torch.rand(batch, channels, *size) < share).to(torch.uint8)


def build_convolution(channels, filters, kernel, stride):
    convolution = SameConv2d(channels, filters, kernel, stride)
    with torch.no_grad():
        convolution.weight.copy_(whole_numbers(*convolution.weight.shape))
        convolution.bias.copy_(whole_numbers(filters))
    return convolution.to(memory_format=torch.channels_last)


def convolve_densely(frames, convolution):
    return F.relu(convolution(frames.to(convolution.weight.dtype))).permute(0, 2, 3, 1).flatten(1)


def convolve_by_loop(frames, convolution):
    return convolve_objects(frames, convolution.weight, convolution.bias, convolution.stride[0])


def gradients(convolve, frames, convolution, above):
    convolution.zero_grad()
    convolve(frames, convolution).backward(above)
    return convolution.weight.grad, convolution.bias.grad


@settings(deadline=None)
@given(
    channels=st.integers(1, 11),
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    filters=st.integers(1, 33),
    kernel=st.one_of(st.integers(1, 6), st.tuples(st.integers(1, 6), st.integers(1, 6))),
    stride=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_loop_adds_what_the_convolution_adds(channels, size, filters, kernel, stride, share, seed):
    torch.manual_seed(seed)
    frames, convolution = some_frames(channels, size, share), build_convolution(channels, filters, kernel, stride)
    features = convolve_by_loop(frames, convolution)
    assert torch.equal(features, convolve_densely(frames, convolution))
    above = whole_numbers(*features.shape)
    ours = gradients(convolve_by_loop, frames, convolution, above)
    plain = gradients(convolve_densely, frames, convolution, above)
    for one, other in zip(ours, plain, strict=True):
        assert torch.equal(one, other)
        assert one.stride() == other.stride()


def test_one_object_adds_its_weights_to_the_outputs_that_see_it():
    convolution = build_convolution(2, 5, kernel=3, stride=2)
    torch.nn.init.constant_(convolution.bias, 100.0)
    frames = torch.zeros(1, 2, 4, 4, dtype=torch.uint8)
    frames[0, 1, 2, 1] = 1
    features = convolve_by_loop(frames, convolution).view(2, 2, 5)
    # SAME padding of an even size is at the bottom and right: output 0 sees rows 0 to 2, output 1 rows 2 to 4.
    weight = convolution.weight[:, 1]
    assert torch.equal(features[0, 0], 100 + weight[:, 2, 1])
    assert torch.equal(features[1, 0], 100 + weight[:, 0, 1])
    assert torch.equal(features[:, 1], torch.full((2, 5), 100.0))


def test_gradients_of_a_large_batch_are_exact_to_a_millionth():
    torch.manual_seed(0)
    frames = some_frames(4, (10, 10), 0.1, batch=1024)
    convolution = SameConv2d(4, 32, 3, 2)
    above = torch.rand(1024, 25 * 32)
    ours = gradients(convolve_by_loop, frames, convolution, above)
    twin = SameConv2d(4, 32, 3, 2).double()
    twin.load_state_dict(convolution.state_dict())
    exact = gradients(convolve_densely, frames, twin, above.double())
    for one, other in zip(ours, exact, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-6, atol=0)


def test_frames_that_lie_apart_or_in_another_order():
    torch.manual_seed(0)
    convolution = build_convolution(6, 8, kernel=3, stride=2)
    stack = some_frames(18, (5, 7), 0.2)
    for frames in (
        stack[:, -6:],
        stack[:, ::3],
        stack[:, :6].contiguous(memory_format=torch.channels_last),
        stack[:, :6].flip(0)[::2],
        stack[:1, :6].expand(4, -1, -1, -1),
        stack[:0, :6],
    ):
        features = convolve_by_loop(frames, convolution)
        assert torch.equal(features, convolve_densely(frames, convolution))
        above = whole_numbers(*features.shape)
        # The layer above may pass back a gradient in another layout.
        turned = above.T.contiguous().T
        ours = gradients(convolve_by_loop, frames, convolution, turned)
        plain = gradients(convolve_densely, frames, convolution, above)
        assert all(torch.equal(one, other) for one, other in zip(ours, plain, strict=True))


def test_a_weight_that_is_not_a_number_is_not_hidden():
    convolution = build_convolution(1, 2, kernel=1, stride=1)
    torch.nn.init.constant_(convolution.weight, float("nan"))
    frames = torch.ones(1, 1, 1, 2, dtype=torch.uint8)
    assert convolve_by_loop(frames, convolution).isnan().all()
    ours = gradients(convolve_by_loop, frames, convolution, torch.ones(1, 4))
    plain = gradients(convolve_densely, frames, convolution, torch.ones(1, 4))
    assert all(torch.equal(one, other) for one, other in zip(ours, plain, strict=True))


def test_it_is_a_proper_operator_for_the_compiler():
    torch.manual_seed(0)
    frames, convolution = some_frames(4, (5, 6), 0.3), build_convolution(4, 8, kernel=3, stride=2)
    torch.library.opcheck(convolve_objects, (frames, convolution.weight, convolution.bias, 2))
    weight, bias = convolution.weight.detach(), convolution.bias.detach()
    features = convolve_objects(frames, weight, bias, 2)
    torch.library.opcheck(convolve_objects_backward, (frames, weight, features, torch.ones_like(features), 2))


def test_inputs_that_would_lead_to_other_memory_are_refused():
    convolution = build_convolution(4, 8, kernel=3, stride=2)
    weight, bias, frames = convolution.weight.detach(), convolution.bias.detach(), some_frames(4, (5, 6), 0.3)
    features = convolve_objects(frames, weight, bias, 2)
    for wrong in (
        (frames.float(), weight, bias, 2),
        (frames, weight.double(), bias, 2),
        (frames, weight, bias.double(), 2),
        (frames, weight[:, :3], bias, 2),
        (frames, weight, bias[:7], 2),
    ):
        with pytest.raises(AssertionError):
            convolve_objects(*wrong)
    for wrong in ((frames, weight, features[:2], features, 2), (frames, weight, features, features[:, :-8], 2)):
        with pytest.raises(AssertionError):
            convolve_objects_backward(*wrong)


def outputs_and_gradients(config, observation):
    torch.manual_seed(0)
    policy = build_policy(config, GAME, num_frames=3)
    logits, value = policy(observation)
    (logits.square().sum() + value.square().sum()).backward()
    return policy._has_loop, [logits, value, *(parameter.grad for parameter in policy.parameters())]


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
@pytest.mark.parametrize("filters", [(12,), (8, 4)])
def test_without_a_working_compiler_the_policy_is_the_same(compiler, filters, fresh_library, monkeypatch, tmp_path):
    config = replace(SMALL, filters=filters, num_iteration_embeddings=3)
    observation = torch.randint(0, 2, (5, 3, 4, 10, 9), dtype=torch.uint8)
    has_loop, fast = outputs_and_gradients(config, observation)
    assert has_loop
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load_library.cache_clear()
    has_loop, slow = outputs_and_gradients(config, observation)
    assert not has_loop
    torch.testing.assert_close(fast, slow)


def test_only_binary_frames_in_float32_are_convolved_by_the_loop(monkeypatch):
    calls = []
    plain = convolve_objects
    monkeypatch.setattr("evade.policies.network.convolve_objects", lambda *given: calls.append(1) or plain(*given))
    observation = torch.randint(0, 2, (5, 2, 4, 10, 9), dtype=torch.uint8)
    build_policy(SMALL, replace(GAME, levels=3), num_frames=2)(observation)
    build_policy(replace(SMALL, precision="bfloat16"), GAME, num_frames=2)(observation)
    policy = build_policy(SMALL, GAME, num_frames=2)
    exact = policy.double()(observation)
    assert not calls
    torch.testing.assert_close(policy.float()(observation).logits.double(), exact.logits, atol=1e-5, rtol=1e-5)
    assert calls


def test_observations_of_booleans_and_of_none():
    policy = build_policy(SMALL, GAME, num_frames=2)
    observation = torch.randint(0, 2, (5, 2, 4, 10, 9), dtype=torch.uint8)
    assert torch.equal(policy(observation.bool()).logits, policy(observation).logits)
    assert policy(observation[:0]).logits.shape == (0, 6)


def test_each_observation_is_convolved_alike_in_any_batch():
    torch.manual_seed(0)
    frames, convolution = some_frames(4, (10, 9), 0.2, batch=7), SameConv2d(4, 12, 3, 2)
    alone = torch.cat([convolve_by_loop(frame, convolution) for frame in frames.split(1)])
    assert torch.equal(convolve_by_loop(frames, convolution), alone)


def test_frames_of_another_size_are_explained():
    policy = build_policy(SMALL, GAME, num_frames=2)
    with pytest.raises(ShapeError, match="Invalid frames of 12 x 9: must give 300 features, not 360"):
        policy(torch.zeros(1, 2, 4, 12, 9, dtype=torch.uint8))


def test_a_compiled_policy_computes_the_same():
    torch.manual_seed(0)
    policy = build_policy(SMALL, GAME, num_frames=2)
    observation = torch.randint(0, 2, (5, 2, 4, 10, 9), dtype=torch.uint8)
    fast = torch.compile(policy, fullgraph=True, dynamic=False)
    torch.testing.assert_close(fast(observation), policy(observation))
