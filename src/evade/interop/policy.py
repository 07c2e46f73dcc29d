"""T2T SimPLe's policy from its TensorFlow variables."""

import re
from collections.abc import Mapping
from dataclasses import replace

from evade.interop.variables import (
    PIXEL_CHANNELS,
    PIXEL_LEVELS,
    UNUSED_EMBEDDINGS,
    Array,
    Twin,
    layer_twins,
    load_variables,
    shape_of,
    without_prefix,
)
from evade.policies.network import ITERATION_EMBEDDING_SIZE, ActorCritic
from evade.policies.settings import ActorCriticConfig

UNUSED = re.compile(UNUSED_EMBEDDINGS)
"""Variables that T2T SimPLe creates and never uses."""


def load_tensor2tensor_policy(
    variables: Mapping[str, Array], config: ActorCriticConfig | None = None, *, fold_epoch_embedding: bool = True
) -> ActorCritic:
    """T2T SimPLe's policy (`feed_forward_cnn_small_categorical_policy`) with its weights.

    Args:
        variables: by TensorFlow name, with or without the model's name as prefix and `:0` as suffix. Releases from
            mid-2019 on have an epoch embedding (`embedding/kernel`), earlier ones do not.
        config: settings that cannot be inferred from the arrays; its sizes are replaced by those found.
        fold_epoch_embedding: True folds row 0 of the epoch embedding, which T2T SimPLe always uses for acting, into the
            dense bias, so that the network has no embedding; False keeps the embedding.

    Returns:
        The network in evaluation mode. It takes frames of the size it was trained on.

    Raises:
        VariablesError: lists every variable that is missing, unexpected or of wrong shape.
    """
    found = without_prefix(variables, "conv2d/kernel", unlike="target_")
    first = shape_of(found, "conv2d/kernel", 4)
    second = shape_of(found, "conv2d_1/kernel", 4)
    dense = shape_of(found, "dense/kernel", 2)
    has_embedding = "embedding/kernel" in found
    rows = shape_of(found, "embedding/kernel", 2)[0] if has_embedding else 0
    config = replace(
        config or ActorCriticConfig(),
        filters=(first[3], second[3]),
        kernel_size=first[0],
        hidden_size=dense[1],
        num_iteration_embeddings=rows,
    )
    sizes = {
        "num_frames": max(first[2] // PIXEL_CHANNELS, 1),
        "in_channels": first[2],
        "levels": PIXEL_LEVELS,
        "num_features": dense[0] - (ITERATION_EMBEDDING_SIZE if has_embedding else 0),
        "num_actions": shape_of(found, "dense2/kernel", 2)[1],
    }
    policy = ActorCritic(config, **sizes)
    load_variables(policy, policy_twins(has_embedding), found, UNUSED)
    if has_embedding and fold_epoch_embedding:
        policy = _fold(policy, ActorCritic(replace(config, num_iteration_embeddings=0), **sizes))
    return policy.eval()


def _fold(policy: ActorCritic, folded: ActorCritic) -> ActorCritic:
    """Fold row 0 of the iteration embedding into the dense layer's bias."""
    assert policy.iteration_embedding is not None
    state = policy.state_dict()
    row = state.pop("iteration_embedding")[0]
    image, table = state["dense.weight"].split([folded.dense.in_features, len(row)], dim=1)
    state["dense.weight"] = image
    state["dense.bias"] = (state["dense.bias"].double() + table.double() @ row.double()).float()
    folded.load_state_dict(state)
    return folded


def policy_twins(has_embedding: bool) -> list[Twin]:
    """Pairs of T2T SimPLe's variables and the policy's parameters."""
    twins = [
        *layer_twins("conv2d", "convolutions.0", "convolution"),
        *layer_twins("conv2d_1", "convolutions.1", "convolution"),
        *layer_twins("dense", "dense", "dense"),
        *layer_twins("dense2", "action_head", "dense"),
        *layer_twins("dense_1", "value_head", "dense"),
    ]
    return [*twins, Twin("embedding/kernel", "iteration_embedding")] if has_embedding else twins
