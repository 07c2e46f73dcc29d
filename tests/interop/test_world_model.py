import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import goldens
from evade.errors import VariablesError
from evade.interop import load_tensor2tensor_world_model
from evade.layers import use_mean
from evade.vocabulary.variants import EVADE
from evade.world_models.feature_maps import capture
from evade.world_models.settings import DeterministicConfig, RewardPathConfig

MODEL = "next_frame_basic_deterministic/"
GOLDEN = goldens.load("deterministic")
MAPS = {
    "input_standardized": "standardise.after",
    "embed": "embedding.after",
    "embed_timed": "position.after",
    "down0_conv_in": "down.0.convolution.before",
    **{f"down{i}": f"down.{i}.after" for i in range(6)},
    "action_mul_preact": "injection.multiply.after",
    "action_add": "injection.add.after",
    "bottleneck_injected": "injection.after",
    "middle0": "middle.activations.0.after",
    "middle1": "middle.after",
    **{f"up{i}": f"up.{i}.after" for i in range(6)},
    "up5_injected": "up.5.injection.after",
    "up5_deconv_relu": "up.5.activation.after",
    "reward_hidden": "reward_head.activation.after",
}
CHANNELS_LAST_ALREADY = {"embed"}


@pytest.fixture(scope="module")
def variables():
    return goldens.variables(GOLDEN)


@pytest.fixture(scope="module")
def model(variables):
    return load_tensor2tensor_world_model(variables)


@pytest.fixture(scope="module")
def batch():
    return goldens.transitions(GOLDEN)


def test_sizes_are_inferred_from_the_arrays(model):
    assert model.config == replace(DeterministicConfig(), hidden_size=8)
    assert model.num_frames == 4
    assert (model.channels, model.levels, model.num_reward_classes) == (3, 256, 3)
    assert model.action_embedding.weight.shape == (6, 8)
    assert not model.training


def test_logits_match_t2t_simple(model, batch):
    with torch.no_grad():
        logits = model(batch.observation, batch.action)
    rows, columns = GOLDEN["out/pixel_rows"], GOLDEN["out/pixel_cols"]
    frame = logits.frame.numpy()
    goldens.close(frame[:, rows][:, :, columns], GOLDEN["out/frame_logits_pixels"], 2e-4)
    goldens.close(frame[:, ::5, ::5, :, ::17], GOLDEN["out/frame_logits_values"], 2e-4)
    goldens.close(logits.frame.logsumexp(-1)[:, ::5, ::5], GOLDEN["out/frame_logsumexp_sub5"], 2e-4)
    goldens.close(logits.reward, GOLDEN["out/reward_logits"], 5e-5)


def test_predicted_frame_and_reward_match_t2t_simple(model, batch):
    prediction = model.predict(batch.observation, batch.action)
    expected = goldens.channels_first(GOLDEN["out/frame_argmax"])
    safe = goldens.channels_first(goldens.unpack(GOLDEN["out/frame_argmax_safe"], GOLDEN["out/frame_argmax"].shape))
    assert safe.float().mean() > 0.9
    assert torch.equal(prediction.frame[safe], expected[safe])
    assert prediction.reward.tolist() == (GOLDEN["out/reward_argmax"] - 1).tolist()
    assert not prediction.terminated.any()


def test_losses_match_t2t_simple(model, batch):
    loss = model.compute_loss(batch)
    goldens.close(loss.metrics["frame_loss"], GOLDEN["out/loss_frame"], 2e-5)
    goldens.close(loss.metrics["reward_loss"], GOLDEN["out/loss_reward"], 2e-5)
    goldens.close(loss.total, GOLDEN["out/loss_total"], 2e-5)


def test_every_activation_matches_t2t_simple(model, batch):
    with capture(model, MAPS.values()) as maps:
        model.predict(batch.observation, batch.action)
    golden = goldens.load("deterministic_intermediates")
    keys = {key.split("/")[1]: key for key in golden}
    assert keys.keys() == MAPS.keys() | {"x_mid", "x_fin"}
    for name, map_name in MAPS.items():
        actual = maps[map_name].numpy()
        if actual.ndim == 4 and name not in CHANNELS_LAST_ALREADY:
            actual = np.moveaxis(actual, 1, -1)
        stride = {"full": 1, "sub2": 2, "sub4": 4, "sub8": 8}[keys[name].split("/")[0]]
        actual = actual[:, ::stride, ::stride] if actual.ndim == 4 else actual
        goldens.close(actual.reshape(golden[keys[name]].shape), golden[keys[name]], 5e-4)
    goldens.close(maps["injection.after"].mean((2, 3)), golden["full/x_mid"][:, 0, 0], 5e-4)
    goldens.close(maps["up.5.after"].mean((2, 3)), golden["full/x_fin"][:, 0, 0], 5e-4)


def test_names_may_lack_the_models_name_and_have_an_output_number(variables, model, batch):
    bare = {name.removeprefix(MODEL) + ":0": array for name, array in variables.items()}
    again = load_tensor2tensor_world_model(bare)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_unused_variables_and_optimiser_slots_are_optional(variables):
    extended = variables | {
        "global_step": np.zeros((), np.int64),
        "losses_avg/problem_0/total_loss": np.zeros(()),
        f"training/{MODEL}body/logits/bias/Adafactor": np.zeros(768),
    }
    load_tensor2tensor_world_model(extended)
    unused = ("policy/dense", "target_emb", "symbol_modality_3_8/input_emb")
    load_tensor2tensor_world_model({n: a for n, a in variables.items() if not any(part in n for part in unused)})


def test_as_many_actions_as_rewards_share_one_embedding(variables):
    tables = {name: array for name, array in variables.items() if "symbol_modality_6" in name}
    three = {name: array for name, array in variables.items() if name not in tables and "policy" not in name}
    three[f"{MODEL}symbol_modality_3_8/target_action/target_emb/weights_0"] = np.zeros((3, 8), np.float16)
    model = load_tensor2tensor_world_model(three)
    assert np.array_equal(
        model.action_embedding.weight.detach(), three[f"{MODEL}symbol_modality_3_8/input_emb/weights_0"]
    )


def test_event_layers_can_be_added_to_loaded_weights(variables, model, batch):
    evade = load_tensor2tensor_world_model(variables, DeterministicConfig(reward=RewardPathConfig(event_layers=EVADE)))
    use_mean(evade)
    with torch.no_grad():
        plain, noisy = model(batch.observation, batch.action), evade(batch.observation, batch.action)
    assert torch.equal(plain.frame, noisy.frame)
    # Identity event layers without noise are Theorem 1: the reward's function is unchanged too.
    torch.testing.assert_close(plain.reward, noisy.reward)


def test_one_error_lists_all_invalid_variables(variables):
    broken = dict(variables)
    del broken[f"{MODEL}body/upstride3/layer_norm/layer_norm_bias"]
    broken[f"{MODEL}body/surprise/kernel"] = np.zeros((2, 2))
    broken[f"{MODEL}body/layer1/conv2d/bias"] = np.zeros(31)
    with pytest.raises(VariablesError) as caught:
        load_tensor2tensor_world_model(broken)
    message = str(caught.value)
    assert "missing: body/upstride3/layer_norm/layer_norm_bias;" in message
    assert "unexpected: body/surprise/kernel;" in message
    assert "wrong shape: body/layer1/conv2d/bias is [31], must be [32]" in message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("body/inputs_embed/kernel", "no .../body/inputs_embed/kernel among the "),
        ("body/logits/kernel", "body/logits/kernel is missing"),
        ("body/downstride0/conv2d/kernel", "body/downstride0/conv2d/kernel is missing"),
        ("symbol_modality_6_8/input_emb/weights_0", "symbol_modality_6_8/input_emb/weights_0 is missing"),
        ("target_reward/symbol_modality_3_8/softmax/weights_0", "exactly one must match target_reward/symbol_modality"),
    ],
)
def test_a_missing_landmark_is_named(variables, name, said):
    with pytest.raises(VariablesError, match=said):
        load_tensor2tensor_world_model({n: a for n, a in variables.items() if n != MODEL + name})


def test_two_action_embeddings_are_refused(variables):
    with pytest.raises(VariablesError, match=re.escape("embeddings for [6, 9] actions, but only one is allowed")):
        load_tensor2tensor_world_model(
            variables | {f"{MODEL}symbol_modality_9_8/input_emb/weights_0": np.zeros((9, 8))}
        )
