import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import ShapeError
from evade.game_spec import GameSpec
from evade.policies.build import build_policy
from evade.policies.network import ORTHOGONAL_GAIN, SameConv2d
from evade.policies.settings import ActorCriticConfig

ATARI = GameSpec(channels=3, height=105, width=80, levels=256, num_actions=6)
MINATAR = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
SMALL = ActorCriticConfig(filters=(16,), kernel_size=3, stride=1, hidden_size=32)


def test_the_number_of_parameters_matches_t2t_simple():
    policy = build_policy(ActorCriticConfig(), ATARI, num_frames=4)
    assert sum(parameter.numel() for parameter in policy.parameters()) == 2_248_135


def test_a_small_policy_for_minatar_from_the_same_class():
    policy = build_policy(SMALL, MINATAR, num_frames=1)
    output = policy(torch.randint(0, 2, (5, 1, 4, 10, 10), dtype=torch.uint8))
    assert output.logits.shape == (5, 6)
    assert output.value.shape == (5,)


@given(size=st.integers(1, 40), kernel=st.integers(1, 7), stride=st.integers(1, 4))
def test_same_padding_gives_one_output_for_each_stride(size, kernel, stride):
    convolution = SameConv2d(1, 1, kernel, stride)
    assert convolution(torch.zeros(1, 1, size, size)).shape == (
        1,
        1,
        math.ceil(size / stride),
        math.ceil(size / stride),
    )


def test_initial_kernels_are_orthogonal_with_gain_one_and_a_half():
    policy = build_policy(ActorCriticConfig(), ATARI, num_frames=4)
    for layer in (*policy.convolutions, policy.dense, policy.action_head):
        rows = layer.weight.detach().flatten(1)
        torch.testing.assert_close(rows @ rows.T, ORTHOGONAL_GAIN**2 * torch.eye(len(rows)), atol=1e-4, rtol=0)
        assert not layer.bias.any()


def test_the_input_is_scaled_by_its_number_of_levels():
    policy = build_policy(SMALL, MINATAR, num_frames=1)
    pixels = build_policy(SMALL, GameSpec(channels=4, height=10, width=10, levels=256, num_actions=6), num_frames=1)
    pixels.load_state_dict(policy.state_dict())
    grid = torch.randint(0, 2, (3, 1, 4, 10, 10), dtype=torch.uint8)
    torch.testing.assert_close(policy(grid).logits, pixels(grid * 255).logits)


@pytest.mark.parametrize("shape", [(1, 4, 10, 10), (1, 0, 4, 10, 10), (1, 2, 3, 10, 10)])
def test_a_wrong_shape_is_explained(shape):
    policy = build_policy(SMALL, MINATAR, num_frames=1)
    with pytest.raises(
        ShapeError,
        match="Invalid observation.*with at least 1 frames of 4 channels",
    ):
        policy(torch.zeros(shape, dtype=torch.uint8))


def test_the_policy_can_use_only_the_last_frames():
    policy = build_policy(replace(SMALL, num_frames=2), MINATAR, num_frames=5)
    assert policy.num_frames == 2
    assert build_policy(SMALL, MINATAR, num_frames=5).num_frames == 5
    grid = torch.randint(0, 2, (3, 5, 4, 10, 10), dtype=torch.uint8)
    changed = grid.clone()
    changed[:, :3] = 1 - changed[:, :3]
    assert torch.equal(policy(grid).logits, policy(changed).logits)
    assert torch.equal(policy(grid).logits, policy(grid[:, 3:]).logits)
    changed[:, 3] = 1 - changed[:, 3]
    assert not torch.equal(policy(grid).logits, policy(changed).logits)


def test_row_0_of_the_iteration_embedding_is_the_default():
    policy = build_policy(ActorCriticConfig(num_iteration_embeddings=8), MINATAR, num_frames=1)
    grid = torch.randint(0, 2, (2, 1, 4, 10, 10), dtype=torch.uint8)
    assert torch.equal(policy(grid).logits, policy(grid, torch.tensor([0, 0])).logits)
    assert not torch.equal(policy(grid).logits, policy(grid, torch.tensor([3, 3])).logits)


def test_bfloat16_is_close_and_its_heads_are_float32():
    policy = build_policy(SMALL, MINATAR, num_frames=1)
    low = build_policy(replace(SMALL, precision="bfloat16"), MINATAR, num_frames=1)
    low.load_state_dict(policy.state_dict())
    grid = torch.randint(0, 2, (16, 1, 4, 10, 10), dtype=torch.uint8)
    for exact, rounded in zip(policy(grid), low(grid), strict=True):
        assert rounded.dtype == torch.float32
        assert not torch.equal(exact, rounded)
        torch.testing.assert_close(rounded, exact, atol=0.1, rtol=0.05)
    assert all(parameter.dtype == torch.float32 for parameter in low.parameters())
