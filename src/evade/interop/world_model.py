"""SimPLe's world models from T2T SimPLe's TensorFlow variables."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, overload

from evade.errors import VariablesError
from evade.interop.bits import STATE_KERNEL, bit_twins, with_bit_sizes
from evade.interop.variables import (
    PIXEL_LEVELS,
    UNUSED_EMBEDDINGS,
    Array,
    Twin,
    count_of,
    injection_twins,
    layer_twins,
    load_variables,
    norm_twins,
    shape_of,
    without_prefix,
)
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.settings import DeterministicConfig, FrameNetworkConfig, StochasticDiscreteConfig
from evade.world_models.stochastic import StochasticDiscreteWorldModel

LOWEST_REWARD = -1
"""The reward of T2T SimPLe's class 0."""

NUM_FRAMES = 4
"""Frames in T2T SimPLe's observations, which the stochastic model's arrays do not show."""

UNUSED = re.compile(rf"body/policy/dense(_1)?/(kernel|bias)|{UNUSED_EMBEDDINGS}")
"""Variables that T2T SimPLe creates and never uses."""


@overload
def load_tensor2tensor_world_model(
    variables: Mapping[str, Array], config: DeterministicConfig
) -> DeterministicWorldModel: ...
@overload
def load_tensor2tensor_world_model(
    variables: Mapping[str, Array], config: StochasticDiscreteConfig
) -> StochasticDiscreteWorldModel: ...
@overload
def load_tensor2tensor_world_model(
    variables: Mapping[str, Array], config: None = None
) -> DeterministicWorldModel | StochasticDiscreteWorldModel: ...


def load_tensor2tensor_world_model(
    variables: Mapping[str, Array], config: FrameNetworkConfig | None = None
) -> DeterministicWorldModel | StochasticDiscreteWorldModel:
    """SimPLe's world model with T2T SimPLe's weights: the deterministic one or the stochastic discrete one.

    The variables say which of `next_frame_basic_deterministic` and `next_frame_basic_stochastic_discrete` it is.

    Args:
        variables: by TensorFlow name, with or without the model's name as prefix and `:0` as suffix.
        config: settings that cannot be inferred from the arrays (activation, dropout, event layers, ...); its sizes are
            replaced by those found. Event layers, if any, start with new weights; everything else is loaded.

    Returns:
        The model in evaluation mode. The stochastic one counts 0 updates, so that its warm-ups start anew.

    Raises:
        VariablesError: lists every variable that is missing, unexpected or of wrong shape.
    """
    found = without_prefix(variables, "body/inputs_embed/kernel")
    kind = StochasticDiscreteConfig if STATE_KERNEL in found else DeterministicConfig
    if config is not None and not isinstance(config, kind):
        raise VariablesError(
            f"Invalid variables for {type(config).__name__}: they are of the {kind.kind} model. Give its settings, "
            f"{kind.__name__}, or none."
        )
    sizes = _sizes(found)
    action_table = _action_table(found, sizes.num_rewards, sizes.hidden_size)
    settings = replace(config or kind(), **{name: getattr(sizes, name) for name in SIZE_SETTINGS})
    twins = world_model_twins(sizes, action_table)
    game: dict[str, Any] = {
        "channels": sizes.channels,
        "levels": PIXEL_LEVELS,
        "num_actions": shape_of(found, action_table, 2)[0],
        "lowest_reward": LOWEST_REWARD,
        "num_reward_classes": sizes.num_rewards,
    }
    model: DeterministicWorldModel | StochasticDiscreteWorldModel
    if isinstance(settings, StochasticDiscreteConfig):
        settings, cells = with_bit_sizes(settings, found)
        model = StochasticDiscreteWorldModel(settings, num_frames=NUM_FRAMES, bottleneck_cells=cells, **game)
        twins += bit_twins(action_table)
    else:
        num_frames = max(shape_of(found, "body/inputs_embed/kernel", 2)[0] // sizes.channels, 1)
        model = DeterministicWorldModel(settings, num_frames=num_frames, **game)
    load_variables(model, twins, found, UNUSED)
    return model.eval()


class Sizes(NamedTuple):
    """What the arrays of both models say about sizes."""

    hidden_size: int
    depth: int
    num_doublings: int
    num_middle_layers: int
    reward_hidden_size: int
    channels: int
    num_rewards: int


SIZE_SETTINGS = ("hidden_size", "depth", "num_doublings", "num_middle_layers", "reward_hidden_size")
"""Those of them that are settings."""


def _sizes(found: Mapping[str, Array]) -> Sizes:
    hidden_size = shape_of(found, "body/inputs_embed/kernel", 2)[1]
    units = shape_of(found, "body/logits/kernel", 2)[1]
    depth = count_of(found, "body/downstride{}/conv2d/kernel")
    kernels = [shape_of(found, f"body/downstride{i}/conv2d/kernel", 4) for i in range(depth)]
    softmax = _one_name(found, r"target_reward/symbol_modality_\d+_\d+/softmax/weights_0")
    num_rewards, reward_hidden_size = shape_of(found, softmax, 2)
    return Sizes(
        hidden_size=hidden_size,
        depth=depth,
        num_doublings=sum(kernel[3] == 2 * kernel[2] for kernel in kernels),
        num_middle_layers=count_of(found, "body/layer{}/conv2d/kernel"),
        reward_hidden_size=reward_hidden_size,
        channels=max(units // PIXEL_LEVELS, 1),
        num_rewards=num_rewards,
    )


def world_model_twins(sizes: Sizes, action_table: str) -> list[Twin]:
    """Pairs of T2T SimPLe's variables and the parameters that both world models have."""
    twins = [
        Twin(action_table, "action_embedding.weight"),
        Twin(
            f"target_reward/symbol_modality_{sizes.num_rewards}_{sizes.hidden_size}/softmax/weights_0",
            "reward_head.output.weight",
        ),
        *layer_twins("body/inputs_embed", "embedding", "dense"),
        *layer_twins("body/logits", "frame_head", "dense"),
        *layer_twins("body/reward_pred", "reward_head.hidden", "dense"),
        *injection_twins("body/action_enc", "injection"),
    ]
    for i in range(sizes.num_middle_layers):
        twins += layer_twins(f"body/layer{i}/conv2d", f"middle.convolutions.{i}", "convolution")
    for i in range(1, sizes.num_middle_layers):
        twins += norm_twins(f"body/layer{i}", f"middle.norms.{i - 1}")
    for i in range(sizes.depth):
        twins += layer_twins(f"body/downstride{i}/conv2d", f"down.{i}.convolution", "convolution")
        twins += norm_twins(f"body/downstride{i}", f"down.{i}.norm")
        twins += injection_twins(f"body/upstride{i}/action_enc", f"up.{i}.injection")
        twins += layer_twins(f"body/upstride{i}/conv2d_transpose", f"up.{i}.convolution", "convolution")
        twins += norm_twins(f"body/upstride{i}", f"up.{i}.norm")
    return twins


def _one_name(found: Mapping[str, Array], pattern: str) -> str:
    names = [name for name in found if re.fullmatch(pattern, name)]
    if len(names) != 1:
        raise VariablesError(f"Invalid variables: exactly one must match {pattern}, found {names or 'none'}.")
    return names[0]


def _action_table(found: Mapping[str, Array], num_rewards: int, hidden_size: int) -> str:
    """Name of the action embedding; the number of rows in its name tells it from that of the rewards.

    With as many actions as rewards, T2T SimPLe has a single embedding for both.
    """
    rows = {int(match[1]) for name in found if (match := re.match(r"symbol_modality_(\d+)_", name))}
    others = rows - {num_rewards}
    if len(others) > 1:
        raise VariablesError(f"Invalid variables: embeddings for {sorted(others)} actions, but only one is allowed.")
    return f"symbol_modality_{others.pop() if others else num_rewards}_{hidden_size}/input_emb/weights_0"
