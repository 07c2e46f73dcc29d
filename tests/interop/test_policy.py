import numpy as np
import pytest
import torch

import goldens
from evade.errors import ShapeError, VariablesError
from evade.interop import load_tensor2tensor_policy
from evade.interop.policy import policy_twins
from evade.policies.build import build_ppo
from evade.policies.ppo import Minibatch, ppo_update
from evade.policies.settings import PPOConfig

SCOPE = "feed_forward_cnn_small_categorical_policy/body/feed_forward_cnn_small/"
FILES = ("policy_small", "policy_fullsize")


@pytest.fixture(scope="module", params=FILES)
def golden(request):
    return goldens.load(request.param)


def test_logits_and_value_match_t2t_simple(golden):
    policy = load_tensor2tensor_policy(goldens.variables(golden))
    assert policy.iteration_embedding is None
    output = policy(goldens.channels_first(golden["in/obs"]))
    goldens.close(output.logits, golden["out/logits_epoch0"], 1e-5)
    goldens.close(output.value, golden["out/value_epoch0"], 1e-5)


def test_the_epoch_embedding_can_be_kept(golden):
    policy = load_tensor2tensor_policy(goldens.variables(golden), fold_epoch_embedding=False)
    observation = goldens.channels_first(np.tile(golden["in/obs"], (6, 1, 1, 1, 1)))
    epochs = torch.from_numpy(golden["out/epoch4_effective_epoch_index"]).long()
    assert set(epochs.tolist()) == {0, 5}
    output = policy(observation, epochs)
    goldens.close(output.logits, golden["out/epoch4_logits"], 1e-5)
    goldens.close(output.value, golden["out/epoch4_value"], 1e-5)


def test_activations_match_t2t_simple(golden):
    policy = load_tensor2tensor_policy(goldens.variables(golden))
    seen = {}
    for name in ("convolutions.0", "convolutions.1", "dense"):
        module = policy.get_submodule(name)
        module.register_forward_hook(lambda module, inputs, output, name=name: seen.update({name: output.relu()}))
    policy(goldens.channels_first(golden["in/obs"]))
    strides = (2, 1) if golden["in/obs"].shape[2] == 21 else (12, 6)
    for name, key, stride in zip(("convolutions.0", "convolutions.1"), ("conv1", "conv2"), strides, strict=True):
        goldens.close(seen[name].permute(0, 2, 3, 1)[:, ::stride, ::stride], golden[f"mid/{key}_relu"], 1e-5)
    goldens.close(seen["dense"], golden["mid/dense_relu"], 1e-5)


def test_two_ppo_updates_match_t2t_simple(golden):
    policy = load_tensor2tensor_policy(goldens.variables(golden), fold_epoch_embedding=False)
    config = PPOConfig()
    optimiser = build_ppo(config, policy).optimiser
    frames = golden["in/obs"]
    minibatch = Minibatch(
        observation=goldens.channels_first(np.stack([frames, frames[::-1], 255 - frames])),
        action=torch.from_numpy(golden["step/action"]).long(),
        log_prob=torch.from_numpy(golden["step/old_pdf"]).log(),
        advantage=torch.from_numpy(golden["step/advantage"]),
        returns=torch.from_numpy(golden["step/return"]),
    )
    by_name = {SCOPE + twin.variable: twin for twin in policy_twins(has_embedding=True)}
    parameters = dict(policy.named_parameters())
    losses = {1: "step/losses_policy_value_entropy", 2: "step/losses_at_step2"}
    for update in (1, 2):
        metrics = ppo_update(policy, optimiser, minibatch, config)
        ours = [metrics[name].item() for name in ("policy_loss", "value_loss", "entropy_loss")]
        goldens.close(np.array(ours), golden[losses[update]], 1e-5)
        if update == 1:
            np.testing.assert_allclose(metrics["gradient_norm"], golden["step/grad_global_norm"], rtol=1e-4)
        for row, name in enumerate(golden["step/names"]):
            twin = by_name[str(name)]
            count = golden["step/sub_count"][row]
            ours = goldens.subsample(twin.to_tensorflow(parameters[twin.parameter]))
            goldens.close(ours, golden[f"step/var_after{update}_sub"][row, :count], 1e-6)
            if update == 1:
                gradient = twin.to_tensorflow(parameters[twin.parameter].grad)
                clipped = golden["step/grad_norms"][row] * config.max_gradient_norm / golden["step/grad_global_norm"]
                np.testing.assert_allclose(np.linalg.norm(gradient), clipped, rtol=1e-3, atol=1e-7)


def test_a_checkpoint_without_the_epoch_embedding_loads(golden):
    variables = goldens.variables(golden)
    table = variables.pop(SCOPE + "embedding/kernel")
    kernel = variables[SCOPE + "dense/kernel"].astype(np.float32)
    image, rest = kernel[: -len(table)], kernel[-len(table) :]
    variables[SCOPE + "dense/kernel"] = image
    variables[SCOPE + "dense/bias"] = variables[SCOPE + "dense/bias"] + table[0].astype(np.float32) @ rest
    output = load_tensor2tensor_policy(variables)(goldens.channels_first(golden["in/obs"]))
    goldens.close(output.logits, golden["out/logits_epoch0"], 1e-5)


def test_unused_embeddings_are_ignored():
    golden = goldens.load("policy_small")
    unused = {str(name): np.zeros((6, 64)) for name in golden["step/names_without_grad"]}
    assert unused
    load_tensor2tensor_policy(goldens.variables(golden) | unused)


def test_one_error_lists_all_invalid_variables():
    variables = goldens.variables(goldens.load("policy_small"))
    variables[SCOPE + "dense_1/bias"] = np.zeros(2)
    variables[SCOPE + "surprise"] = np.zeros(2)
    del variables[SCOPE + "dense2/bias"]
    with pytest.raises(VariablesError) as caught:
        load_tensor2tensor_policy(variables)
    assert str(caught.value) == (
        "Invalid variables for ActorCritic: missing: dense2/bias; unexpected: surprise; "
        "wrong shape: dense_1/bias is [2], must be [1]."
    )


def test_variables_of_another_network_are_refused():
    with pytest.raises(VariablesError, match=r"Invalid variables: no \.\.\./conv2d/kernel among the 1 given"):
        load_tensor2tensor_policy({"a/b": np.zeros(3)})


def test_frames_of_another_size_are_refused():
    policy = load_tensor2tensor_policy(goldens.variables(goldens.load("policy_small")))
    with pytest.raises(ShapeError, match="Invalid frames of 30 x 16: must give 768 features, not 1024"):
        policy(torch.zeros(1, 4, 3, 30, 16, dtype=torch.uint8))
