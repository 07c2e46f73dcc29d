"""Parts of somebody else's in Algorithm 1: a world model, a policy and a learner that the package does not know."""

import json
import math

import pytest
import torch

from evade.config import from_document, to_document
from evade.errors import ConfigError, Interrupted
from evade.runs.folder import RunFolder
from evade.training.algorithm import train
from evade.training.load import load_run
from evade.training.run import Run
from evade.viewing.finish import finish
from evade.world_models.build import build_world_model
from evade.world_models.settings import WorldModelConfig
from toy_agent import NUM_CELLS, SLIP, toy_config


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run of the toy agent, and its last state."""
    folder = RunFolder(tmp_path_factory.mktemp("toy"))
    with Run(toy_config(), folder) as run:
        state = train(run)
        outcome = finish(run, state)
    return folder, state, outcome


def test_an_iteration_of_algorithm_1_fits_the_table_to_the_game(trained):
    _, state, _ = trained
    counts = state.world_model.counts
    assert counts.sum() == 50 * 16
    for cell in range(NUM_CELLS - 1):
        left, right = counts[cell]
        assert left.nonzero().flatten().tolist() == [max(cell - 1, 0)]
        assert set(right.nonzero().flatten().tolist()) <= {cell, cell + 1}
    stayed = sum(counts[cell, 1, cell] for cell in range(NUM_CELLS - 1)) / counts[:, 1].sum()
    # Four standard deviations of a share of that many steps.
    assert stayed.item() == pytest.approx(SLIP, abs=4 * math.sqrt(SLIP * (1 - SLIP) / 200))
    assert torch.equal(state.world_model.rewards, state.world_model.ends)
    assert state.world_model.one_object.tolist() == [[True]]


def test_the_policy_learns_in_sampled_dreams_to_go_right(trained):
    _, state, outcome = trained
    logits = state.policy.logits[: NUM_CELLS - 1]
    assert (logits[:, 1] > logits[:, 0]).all()
    assert outcome.score.mean == 1.0


def test_a_variant_that_the_paper_does_not_have_ends_like_any_other(trained):
    folder, _, outcome = trained
    assert outcome.paper is None
    assert json.loads(folder.status.read_text())["status"] == "finished"
    assert sorted(path.name for path in outcome.media) == ["dream.mp4", "game.mp4", "learning_curve.png"]


def test_what_foreign_parts_log_is_kept_under_their_names(trained):
    folder, _, _ = trained
    names = {name for line in folder.metrics.read_text().splitlines() for name in json.loads(line)["values"]}
    assert {"fit/counted", "dream/credit", "dream/return", "collect/credit", "faithfulness/dream_return"} <= names
    assert not any(name.startswith("posterior/") for name in names), "a model without noise has no posterior"


def test_a_run_of_foreign_parts_is_loaded_and_its_settings_are_read_back(trained):
    folder, state, _ = trained
    assert from_document(to_document(toy_config())) == toy_config()
    loaded = load_run(folder.path)
    assert torch.equal(loaded.world_model.counts, state.world_model.counts)
    env = loaded.make_env(num_envs=3)
    assert loaded.act(env.reset()).shape == (3,)


@pytest.mark.parametrize("phase", ["fit", "improve"])
def test_a_run_of_foreign_parts_resumes_exactly(trained, tmp_path, phase, monkeypatch):
    """Stopped in the middle of a phase and started again: sampled frames and memory included."""
    complete_unit = Run.complete_unit

    def stop_in_the_middle(run, state, done):
        run.session.should_stop = run.progress.phase == phase and done == 7
        complete_unit(run, state, done)

    folder = RunFolder(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Run, "complete_unit", stop_in_the_middle)
        with pytest.raises(Interrupted), Run(toy_config(), folder) as run:
            train(run)
    with Run(toy_config(), folder) as run:
        resumed = train(run)
    _, state, _ = trained
    assert torch.equal(resumed.policy.logits, state.policy.logits)
    assert torch.equal(resumed.world_model.counts, state.world_model.counts)


def test_settings_that_nothing_builds_are_named():
    class Unbuilt(WorldModelConfig, kind="toy-unbuilt"):
        pass

    with pytest.raises(
        ConfigError, match="world_model.kind = 'toy-unbuilt': Unbuilt is not registered.*register_world_model"
    ):
        build_world_model(Unbuilt(), None, 1)
