"""The agent end to end, through the command, as a stranger would run it."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evade.cli.main import MISTAKE, main
from evade.config.document import recipe_fingerprint
from evade.config.presets import build_config
from evade.errors import RunError
from evade.runs.folder import RunFolder
from evade.runs.journal import read_journal
from evade.runs.session import folder_of
from evade.training import algorithm
from evade.training.load import load_run
from evade.training.phases import score_policy
from evade.training.state import load_weights
from evade.viewing.finish import paper_score
from evade.vocabulary.metrics import METRICS
from evade.vocabulary.variants import VARIANTS

ROOT = Path(__file__).parent.parent.parent


def train(runs_dir, *words):
    return main(["train", "smoke", *words, "--runs-dir", str(runs_dir)])


def only_run(runs_dir):
    """The folder of the one run below `runs_dir`."""
    (config,) = runs_dir.rglob("config.json")
    return config.parent


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished smoke run."""
    runs_dir = tmp_path_factory.mktemp("trained")
    assert train(runs_dir, "evade", "--seed", "1") == 0
    return runs_dir / "smoke" / "minatar-breakout" / "evade" / "seed-1"


@pytest.mark.parametrize(
    ("variant", "game"),
    [*((variant, "minatar/breakout") for variant in VARIANTS), ("simple", "atari/freeway"), ("evade", "atari/freeway")],
)
def test_every_variant_trains_and_so_do_pixels(game, variant, tmp_path, capsys):
    assert train(tmp_path, variant, "--game", game) == 0
    output = capsys.readouterr().out
    assert re.search(r"score -?\d+\.\d\d ± \d+\.\d\d over 3 games; random play", output)
    folder = RunFolder(tmp_path / "smoke" / game.replace("/", "-") / variant / "seed-0")
    assert str(folder.path) in output.replace("\n", "")
    status = json.loads(folder.status.read_text())
    assert status["status"] == "finished"
    assert status["real_steps"] == 128 + 2 * 64
    phases = [(record["iteration"], record["phase"]) for record in read_journal(folder.metrics)]
    expected = ["collect", "fit", *(["draw"] if variant != "simple" else []), "improve", "evaluate"]
    order = list(dict.fromkeys(phases))
    assert order == [(i, phase) for i in (1, 2) for phase in expected] + [(3, "collect"), (3, "score")]
    draws = {"draws.mp4"} if variant != "simple" else set()
    assert {path.name for path in folder.media.iterdir()} == {"learning_curve.png", "game.mp4", "dream.mp4"} | draws
    assert folder.inspection.exists() == (variant != "simple")
    assert all(path.stat().st_size > 1000 for path in folder.media.iterdir())
    assert list(folder.tensorboard.iterdir())


def test_a_registered_environment_of_ones_own_trains(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    assert train(tmp_path, "evade", "--game", "fake_registered:EvadeCatch-v0") == 0
    assert (tmp_path / "smoke" / "fake_registered-EvadeCatch-v0" / "evade" / "seed-0" / "status.json").exists()


def test_the_counts_of_an_iteration_are_exact(trained):
    metrics = list(read_journal(RunFolder(trained).metrics))
    steps = {(r["iteration"], r["phase"]): r["step"] for r in metrics}
    assert steps[1, "collect"] == 128
    assert steps[2, "collect"] == 64
    assert steps[1, "fit"] == 12
    assert steps[2, "fit"] == 8
    assert steps[1, "improve"] == steps[2, "improve"] == 4
    loaded = load_run(trained)
    assert loaded.draw.keys() <= dict(loaded.world_model.named_modules()).keys()
    assert len(loaded.draw) == 8


def test_every_logged_number_is_explained(trained):
    logged = {name for record in read_journal(RunFolder(trained).metrics) for name in record["values"]}
    assert len(logged) > 20
    # Some are also logged by layer, by horizon or by channel, as the text of the metric says.
    assert {name for name in logged if name not in METRICS and name.rpartition("/")[0] not in METRICS} == set()


def test_scores_are_kept_raw_for_each_episode(trained):
    scores = list(read_journal(RunFolder(trained).scores))
    assert [(s["purpose"], s["iteration"], s["episode"]) for s in scores] == [
        *(("evaluate", 1, e) for e in range(2)),
        *(("evaluate", 2, e) for e in range(2)),
        *(("score", 3, e) for e in range(3)),
    ]
    assert {s["real_steps"] for s in scores} == {128, 192, 256}
    assert all({"evaluation_version", "preprocessing_version", "length"} <= s.keys() for s in scores)


def test_more_evaluation_does_not_change_training(trained, tmp_path):
    assert train(tmp_path, "evade", "--seed", "1", "--evaluation.episodes", "5") == 0
    ours = load_run(trained)
    theirs = load_run(only_run(tmp_path))
    for name, weight in ours.policy.state_dict().items():
        assert torch.equal(weight, theirs.policy.state_dict()[name])


def test_evaluate_plays_a_finished_run(trained, capsys):
    assert main(["evaluate", str(trained), "--episodes", "4"]) == 0
    assert "over 4 games" in capsys.readouterr().out
    assert main(["evaluate", str(trained), "--episodes", "4", "--as-json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["episodes"]) == 4


def test_runs_lists_them_all(trained, capsys):
    assert main(["runs", str(trained.parents[3])]) == 0
    output = capsys.readouterr().out
    assert "finished" in output
    assert "2/2" in output
    assert main(["runs", str(trained / "media")]) == 0
    assert "There are no runs" in capsys.readouterr().out


def test_resume_by_folder(trained, capsys):
    assert main(["resume", str(trained)]) == 0
    assert "resuming" in capsys.readouterr().out
    assert main(["resume", str(trained), "--learner.clip", "0.3"]) == MISTAKE
    assert "learner.clip: 0.2 in the run, 0.3 now" in capsys.readouterr().err
    assert main(["resume", str(trained.parent)]) == MISTAKE
    assert "is not a run" in capsys.readouterr().err
    assert main(["resume"]) == MISTAKE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--game", "minatar/brekout"], "did you mean minatar/breakout"),
        (["--replay.eventful-share", "1.5"], "Invalid replay.eventful_share = 1.5: must be at least 0 and below 1"),
        (["--game", "atari/pong", "--world-model.keeps-objects"], "this game's cells have 256 values"),
        (["--world-model.hidden-size", "0"], "Invalid world_model.hidden_size = 0: must be at least 1"),
        (["--learner.minibatch-times", "5000"], "must fill at least one minibatch"),
        (["--schedule.real-steps", "63"], "multiple of collect.num_envs x collect.num_slices = 8"),
        (["--seed"], "--seed needs a value"),
        (["--seed", "-1"], "Invalid seed = -1: must be"),
    ],
)
def test_a_users_mistake_is_one_line(words, said, tmp_path, capsys):
    assert train(tmp_path, "evade", *words) == MISTAKE
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.mark.parametrize("words", [["smok"], ["smoke", "evad"]])
def test_an_unknown_preset_or_variant_lists_those_there_are(words, capsys):
    assert main(["train", *words]) == MISTAKE
    assert "must be one of" in capsys.readouterr().err


def test_a_variant_given_as_a_flag_is_the_variant_and_not_only_its_name(tmp_path):
    assert main(["train", "--preset", "smoke", "--variant=weighting", "--runs-dir", str(tmp_path)]) == 0
    run = load_run(tmp_path / "smoke" / "minatar-breakout" / "weighting" / "seed-0")
    assert run.config.world_model.reward.event_layers == ("weighting",)


def test_changed_settings_get_a_folder_of_their_own(tmp_path):
    """Two settings of one preset and seed never meet in one folder, and the same command finds its own again."""
    preset = build_config("smoke", "evade", seed=3)
    changed = [replace(preset, learner=replace(preset.learner, clip=clip)) for clip in (0.3, 0.4)]
    paths = [folder_of(config, tmp_path).path for config in (preset, *changed)]
    assert paths[0] == tmp_path / "smoke" / "minatar-breakout" / "evade" / "seed-3"
    assert len(set(paths)) == 3
    assert paths[1].parent.name == f"evade-{recipe_fingerprint(changed[0])}"
    assert paths[1].parent == folder_of(replace(changed[0], seed=4), tmp_path).path.parent
    # Neither the machine nor the run's length is part of a run's identity.
    longer = replace(
        preset, schedule=replace(preset.schedule, iterations=9), machine=replace(preset.machine, threads=2)
    )
    assert folder_of(longer, tmp_path).path == paths[0]
    assert folder_of(changed[0], tmp_path, "wide").path.parent.name == "evade-wide"


def test_a_run_can_be_given_a_name(tmp_path):
    assert train(tmp_path, "simple", "--name", "first", "--schedule.iterations", "1") == 0
    assert only_run(tmp_path) == tmp_path / "smoke" / "minatar-breakout" / "simple-first" / "seed-0"


def test_a_wrong_flag_is_refused_with_the_near_name(tmp_path):
    words = ["train", "smoke", "evade", "--learner.clp", "0.2", "--runs-dir", str(tmp_path)]
    result = subprocess.run([sys.executable, "-m", "evade", *words], capture_output=True, text=True, check=False)
    assert result.returncode == MISTAKE
    assert "--learner.clip" in result.stdout + result.stderr
    assert not list(tmp_path.iterdir())


def test_the_readme_shows_how_to_load_a_run_and_act():
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"```python\n(import evade\n.*?)```", readme, re.DOTALL)[1]
    assert len(example.strip().splitlines()) <= 10
    words = [sys.executable, "-c", example]
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout.removeprefix("return ")) > 1


def test_loading_past_a_damaged_checkpoint_is_not_silent(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    newest = max((tmp_path / "run" / "checkpoints").iterdir())
    (newest / "policy.safetensors").write_bytes(b"damaged")
    with pytest.warns(UserWarning, match=newest.name):
        load_run(tmp_path / "run")


def test_a_checkpoint_of_another_version_is_named(trained):
    run = load_run(trained)
    weights = run.world_model.state_dict()
    weights.pop("one_object")
    with pytest.raises(RunError, match=r"another version of evade.*environment.txt.*one_object.* is missing"):
        load_weights(run.world_model, weights)


def test_scores_that_vanish_during_a_run_are_named(tmp_path, capsys, monkeypatch):
    def score_and_lose(run, state):
        score_policy(run, state)
        run.folder.scores.unlink()

    monkeypatch.setattr(algorithm, "score_policy", score_and_lose)
    assert train(tmp_path, "simple") == MISTAKE
    assert re.search(r"seed-0/scores.jsonl does not fit the checkpoint.*restore the file", capsys.readouterr().err)


def test_a_diverged_run_stops_with_a_post_mortem_and_keeps_its_last_checkpoint(tmp_path, capsys):
    words = ("evade", "--world-model.fit.learning-rate", "1e30", "--world-model.fit.warmup-updates", "1")
    assert train(tmp_path, *words) == 3
    error = capsys.readouterr().err
    assert "this update was refused" in error
    folder = RunFolder(only_run(tmp_path))
    report = json.loads((folder.post_mortem / "report.json").read_text())
    assert report["phase"] == "fit"
    assert json.loads(folder.status.read_text())["status"] == "failed"
    loaded = load_run(folder.path)
    assert all(torch.isfinite(weight).all() for weight in loaded.world_model.state_dict().values())


def test_explain_shows_the_papers_counts(capsys):
    assert main(["explain", "atari100k", "--no-measure"]) == 0
    output = capsys.readouterr().out
    for number in ("102,400", "480,000", "36,000", "28,800,000"):
        assert number in output
    assert main(["explain", "atari100k-simple", "simple", "--no-measure"]) == 0
    output = capsys.readouterr().out
    for number in ("102,400", "255,000", "19,000", "15,200,000"):
        assert number in output
    assert main(["explain", "smoke"]) == 0
    assert "dream steps a second" in capsys.readouterr().out


SHORT_PRESETS = {
    # A minute of one core each; the limits are for machines that are busy with something else.
    "atari100k": ("evade", {}),
    # Fitted to one sequence of five frames: with four of ten it takes 4.6 GB and two minutes.
    "atari100k-simple": (
        "simple",
        {"replay.batch-size": "1", "replay.target-frames": "1", "dream.num-envs": "2"},
    ),
}


@pytest.mark.parametrize(
    ("preset", "variant", "title"),
    [
        ("atari100k", "evade", "EVaDE-SimPLe"),
        ("atari100k", "simple", "SimPLe(30)"),
        ("atari100k-simple", "simple", "SimPLe"),
        ("atari100k-simple", "evade", None),
    ],
)
def test_a_score_stands_beside_that_of_the_papers_same_agent(preset, variant, title):
    found = paper_score(build_config(preset, variant, "atari/pong"))
    assert (None if found is None else found[0]) == title


@pytest.mark.slow_first
@pytest.mark.timeout(600)
@pytest.mark.parametrize("preset", SHORT_PRESETS)
def test_the_papers_presets_run_shortened_on_a_cpu_in_little_memory(preset, tmp_path):
    variant, changes = SHORT_PRESETS[preset]
    short = {
        "schedule.iterations": "1",
        # Together enough frames for all 64 that an inspection chooses from: judging them takes the most memory.
        "schedule.first-real-steps": "64",
        "schedule.real-steps": "64",
        "schedule.first-fit-updates": "1",
        "schedule.dream-batches": "1",
        "dream.horizon": "2",
        "learner.minibatch-times": "2",
        "evaluation.episodes": "1",
        "evaluation.final-episodes": "1",
        "evaluation.time-limit": "10",
        "env.time-limit": "20",
        "machine.threads": "1",
    } | changes
    words = ["train", preset, variant, "--game", "atari/pong", "--runs-dir", str(tmp_path)]
    words += [word for name, value in short.items() for word in (f"--{name}", value)]
    code = (
        "import resource, sys; from evade.cli.main import main\n"
        f"code = main({words!r})\n"
        "print('peak kB', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "sys.exit(code)"
    )
    # No numbers are compared, so that it need not be slowed down to AVX2 as the other tests are.
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert int(result.stdout.split("peak kB")[1]) < 6_000_000
    # Games of 10 steps: neither the paper's score nor published random play is comparable.
    assert "in the paper" not in result.stdout
