import numpy as np
import pytest
import torch

import goldens
from evade.errors import TrainingDiverged
from evade.interop import load_tensor2tensor_world_model
from evade.interop.world_model import SIZE_SETTINGS, Sizes, world_model_twins
from evade.optimisers import Adafactor, warmup_rsqrt
from evade.world_models.build import build_fitter
from evade.world_models.fit import GradientFitter
from evade.world_models.settings import DeterministicConfig, FitConfig

MODEL = "next_frame_basic_deterministic/"
QUIET = DeterministicConfig(fit=FitConfig(dropout=0, middle_dropout=0, pixel_noise=0))


@pytest.fixture(scope="module")
def golden():
    return goldens.load("train_step")


@pytest.fixture(scope="module")
def forward():
    return goldens.load("deterministic")


def twins_of(model, golden):
    """Pairs of T2T SimPLe's variables and our parameters, in the golden file's order."""
    config = model.config
    found = {name: getattr(config, name) for name in SIZE_SETTINGS}
    sizes = Sizes(**found, channels=model.channels, num_rewards=model.num_reward_classes)
    table = "symbol_modality_6_8/input_emb/weights_0"
    by_name = {twin.variable: twin for twin in world_model_twins(sizes, table)}
    names = [str(name).removeprefix(MODEL) for name in golden["names_with_grad"]]
    assert set(names) == by_name.keys()
    return [by_name[name] for name in names]


def test_three_updates_match_t2t_simple(golden, forward):
    model = load_tensor2tensor_world_model(goldens.variables(forward), QUIET).train()
    batch, twins = goldens.transitions(forward), twins_of(model, golden)
    parameters = dict(model.named_parameters())
    initial = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    fitter = build_fitter(QUIET, model)
    for group in fitter.optimiser.param_groups:
        group["num_updates"] = int(golden["meta/global_step_before_first_update"])
    counts = golden["sub/count"]

    tolerances = (1e-5, 5e-5, 5e-5)
    for update, tolerance in enumerate(tolerances, start=1):
        metrics = fitter.update(batch)
        if update == 1:
            goldens.close(metrics["loss"], golden["loss/before"], 2e-5)
            np.testing.assert_allclose(metrics["gradient_norm"], golden["grad/global_norm"], rtol=1e-4)
        for row, twin in enumerate(twins):
            ours = twin.to_tensorflow(parameters[twin.parameter])
            stored = golden[f"var_after{update}/sub"][row, : counts[row]]
            goldens.close(goldens.subsample(ours), stored, tolerance)
            moved = np.linalg.norm((parameters[twin.parameter] - initial[twin.parameter]).detach().numpy())
            np.testing.assert_allclose(moved, golden[f"var_after{update}/delta_norms"][row], rtol=1e-3, atol=1e-6)
            whole = golden.get(f"var_after{update}_full/{MODEL}{twin.variable}")
            if whole is not None:
                goldens.close(ours, whole, tolerance)
        goldens.close(model.compute_loss(batch).total, golden[f"loss/after{update}"], 2e-5)


def test_gradients_match_t2t_simple(golden, forward):
    model = load_tensor2tensor_world_model(goldens.variables(forward), QUIET).train()
    model.compute_loss(goldens.transitions(forward)).total.backward()
    parameters = dict(model.named_parameters())
    for row, twin in enumerate(twins_of(model, golden)):
        ours = twin.to_tensorflow(parameters[twin.parameter].grad)
        np.testing.assert_allclose(np.linalg.norm(ours), golden["grad/norms"][row], rtol=1e-3, atol=4e-6)
        stored = golden["grad/sub"][row, : golden["sub/count"][row]]
        goldens.close(goldens.subsample(ours), stored, 1e-3 * np.abs(ours).max())
        whole = golden.get(f"grad_full/{MODEL}{twin.variable}")
        if whole is not None:
            goldens.close(ours, whole, 1e-3 * np.abs(whole).max())


def test_a_loss_that_is_not_finite_changes_nothing(forward):
    model = load_tensor2tensor_world_model(goldens.variables(forward), QUIET).train()
    optimiser = Adafactor(model.parameters(), warmup_rsqrt(1.5, 1))
    with torch.no_grad():
        model.frame_head.bias[0] = float("nan")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fitter = GradientFitter(model, optimiser, max_gradient_norm=1.0)
    with pytest.raises(TrainingDiverged, match="Invalid loss = nan.*smaller learning rate"):
        fitter.update(goldens.transitions(forward))
    after = model.state_dict()
    assert all(torch.equal(before[name].nan_to_num(7), after[name].nan_to_num(7)) for name in before)
    assert optimiser.param_groups[0]["num_updates"] == 0
