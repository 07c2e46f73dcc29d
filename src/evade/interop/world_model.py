"""SimPLe's deterministic world model from T2T SimPLe's TensorFlow variables."""

import re
from collections.abc import Mapping
from dataclasses import replace

from evade.errors import VariablesError
from evade.interop.variables import (
    PIXEL_LEVELS,
    UNUSED_EMBEDDINGS,
    Array,
    Twin,
    count_of,
    layer_twins,
    load_variables,
    norm_twins,
    shape_of,
    without_prefix,
)
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.settings import DeterministicConfig

LOWEST_REWARD = -1
"""The reward of T2T SimPLe's class 0."""

UNUSED = re.compile(rf"body/policy/dense(_1)?/(kernel|bias)|{UNUSED_EMBEDDINGS}")
"""Variables that T2T SimPLe creates and never uses."""


def load_tensor2tensor_world_model(
    variables: Mapping[str, Array], config: DeterministicConfig | None = None
) -> DeterministicWorldModel:
    """SimPLe's deterministic world model (`next_frame_basic_deterministic`) with T2T SimPLe's weights.

    Args:
        variables: by TensorFlow name, with or without the model's name as prefix and `:0` as suffix.
        config: settings that cannot be inferred from the arrays (activation, dropout, event layers, ...); its sizes are
            replaced by those found. Event layers, if any, start with new weights; everything else is loaded.

    Returns:
        The model in evaluation mode.

    Raises:
        VariablesError: lists every variable that is missing, unexpected or of wrong shape.
    """
    found = without_prefix(variables, "body/inputs_embed/kernel")
    if "body/state_conv/kernel" in found:
        raise VariablesError(
            "Invalid variables: body/state_conv/kernel belongs to the stochastic discrete model. Load a checkpoint of "
            "next_frame_basic_deterministic."
        )
    embed = shape_of(found, "body/inputs_embed/kernel", 2)
    units = shape_of(found, "body/logits/kernel", 2)[1]
    channels = max(units // PIXEL_LEVELS, 1)
    depth = count_of(found, "body/downstride{}/conv2d/kernel")
    kernels = [shape_of(found, f"body/downstride{i}/conv2d/kernel", 4) for i in range(depth)]
    num_rewards, hidden = shape_of(
        found, _one_name(found, r"target_reward/symbol_modality_\d+_\d+/softmax/weights_0"), 2
    )
    action_table = _action_table(found, num_rewards, embed[1])
    config = replace(
        config or DeterministicConfig(),
        hidden_size=embed[1],
        depth=depth,
        num_doublings=sum(kernel[3] == 2 * kernel[2] for kernel in kernels),
        num_middle_layers=count_of(found, "body/layer{}/conv2d/kernel"),
        reward_hidden_size=hidden,
    )
    model = DeterministicWorldModel(
        config,
        num_frames=max(embed[0] // channels, 1),
        channels=channels,
        levels=PIXEL_LEVELS,
        num_actions=shape_of(found, action_table, 2)[0],
        lowest_reward=LOWEST_REWARD,
        num_reward_classes=num_rewards,
    )
    twins = world_model_twins(config, action_table, num_rewards)
    load_variables(model, twins, found, UNUSED)
    return model.eval()


def world_model_twins(config: DeterministicConfig, action_table: str, num_rewards: int) -> list[Twin]:
    """Pairs of T2T SimPLe's variables and the deterministic world model's parameters."""
    twins = [
        Twin(action_table, "action_embedding.weight"),
        Twin(
            f"target_reward/symbol_modality_{num_rewards}_{config.hidden_size}/softmax/weights_0",
            "reward_head.output.weight",
        ),
        *layer_twins("body/inputs_embed", "embedding", "dense"),
        *layer_twins("body/logits", "frame_head", "dense"),
        *layer_twins("body/reward_pred", "reward_head.hidden", "dense"),
        *_injection("body", "injection"),
    ]
    for i in range(config.num_middle_layers):
        twins += layer_twins(f"body/layer{i}/conv2d", f"middle.convolutions.{i}", "convolution")
    for i in range(1, config.num_middle_layers):
        twins += norm_twins(f"body/layer{i}", f"middle.norms.{i - 1}")
    for i in range(config.depth):
        twins += layer_twins(f"body/downstride{i}/conv2d", f"down.{i}.convolution", "convolution")
        twins += norm_twins(f"body/downstride{i}", f"down.{i}.norm")
        twins += _injection(f"body/upstride{i}", f"up.{i}.injection")
        twins += layer_twins(f"body/upstride{i}/conv2d_transpose", f"up.{i}.convolution", "convolution")
        twins += norm_twins(f"body/upstride{i}", f"up.{i}.norm")
    return twins


def _injection(variable: str, parameter: str) -> list[Twin]:
    return [
        *layer_twins(f"{variable}/action_enc_mul", f"{parameter}.multiply", "dense"),
        *layer_twins(f"{variable}/action_enc_add", f"{parameter}.add", "dense"),
    ]


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
