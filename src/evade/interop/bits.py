"""What the stochastic discrete model has beyond the deterministic one, in T2T SimPLe's TensorFlow variables."""

from collections.abc import Mapping
from dataclasses import replace

from evade.errors import VariablesError
from evade.interop.variables import Array, Twin, injection_twins, layer_twins, shape_of
from evade.world_models.settings import StochasticDiscreteConfig

STATE_KERNEL = "body/state_conv/kernel"
"""Only the stochastic model has it."""

PREDICTOR, POSTERIOR = "body/predict_bits_with_lstm", "body/discriminator"


def with_bit_sizes(
    config: StochasticDiscreteConfig, found: Mapping[str, Array]
) -> tuple[StochasticDiscreteConfig, int]:
    """The settings with the sizes of the arrays, and the number of cells at the bottleneck."""
    in_features, predictor_size = shape_of(found, f"{PREDICTOR}/istate/kernel", 2)
    num_values = shape_of(found, f"{PREDICTOR}/discrete_predict/kernel", 2)[1]
    per_symbol = num_values.bit_length() - 1
    if 2**per_symbol != num_values:
        raise VariablesError(
            f"Invalid variable {PREDICTOR}/discrete_predict/kernel for {num_values} symbols: must be a power of 2."
        )
    first, second = (shape_of(found, f"{POSTERIOR}/conv{i}/kernel", 4)[3] for i in (1, 2))
    bits = replace(
        config.bits,
        count=shape_of(found, "body/tanh_discrete_bottleneck/kernel", 2)[1],
        per_symbol=per_symbol,
        predictor_size=predictor_size,
        posterior_filters=(first, second),
        posterior_heads=shape_of(found, f"{POSTERIOR}/mean_with_attention1/mean_attn/kernel", 2)[1],
    )
    memory_channels = shape_of(found, STATE_KERNEL, 4)[3] // 2
    bottleneck_channels = config.hidden_size * 2**config.num_doublings
    return replace(config, memory_channels=memory_channels, bits=bits), in_features // bottleneck_channels


def bit_twins(action_table: str) -> list[Twin]:
    """Pairs of T2T SimPLe's variables and the parameters that only the stochastic discrete model has.

    Args:
        action_table: name of the embedding of the input steps' actions.
    """
    target_table = action_table.replace("/input_emb/", "/target_action/target_emb/")
    twins = [
        Twin(target_table, "target_action_embedding.weight"),
        *layer_twins("body/state_conv", "memory_update", "convolution"),
        *injection_twins("body/unbottleneck", "bit_injection"),
        *layer_twins(f"{PREDICTOR}/istate", "bit_predictor.first_input", "dense"),
        *layer_twins(f"{PREDICTOR}/cstate", "bit_predictor.first_cell", "dense"),
        *layer_twins(f"{PREDICTOR}/mstate", "bit_predictor.first_output", "dense"),
        *layer_twins(f"{PREDICTOR}/lstm_cell", "bit_predictor.gates", "dense"),
        *layer_twins(f"{PREDICTOR}/discrete_predict", "bit_predictor.head", "dense"),
        *layer_twins(f"{PREDICTOR}/discrete_embed", "bit_predictor.symbol_embedding", "dense"),
        *layer_twins("body/latent_embed", "bit_posterior.embedding", "dense"),
        *injection_twins("body/action_enc_latent", "bit_posterior.injection"),
        *layer_twins("body/tanh_discrete_bottleneck", "bit_posterior.head", "dense"),
    ]
    for index, name in enumerate(("first", "second"), start=1):
        pool = f"{POSTERIOR}/mean_with_attention{index}"
        twins += layer_twins(f"{POSTERIOR}/conv{index}", f"bit_posterior.{name}", "convolution")
        twins += layer_twins(f"{pool}/mean_attn", f"bit_posterior.{name}_pool.attention", "dense")
        twins += layer_twins(f"{pool}/mean_attn_final", f"bit_posterior.{name}_pool.output", "dense")
    return twins
