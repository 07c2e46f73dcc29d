"""Kill it anywhere: the run that ends is bit for bit the run that was never touched."""

import json
import signal
import subprocess
import sys
import time

import pytest

import crashing

# Inside every phase and every step of saving; with counts that fall in the middle of things.
CHAINS = {
    "the first iteration": [
        "collect:begin:1",
        "collect:step:20",
        "fit:begin:1",
        "fit:update:5",
        "fit:update:3",
        "draw:begin:1",
        "improve:begin:1",
        "improve:update:2",
    ],
    "the second iteration and the end": [
        "evaluate:begin:1",
        "evaluate:step:1",
        "collect:step:9",
        "improve:update:3",
        "score:begin:1",
        "score:step:1",
    ],
    "saving": [
        "save:begin:1",
        "save:tensors:1",
        "save:manifest:4",
        "save:before-rename:9",
        "save:after-rename:3",
        "save:cleaned:5",
    ],
}
ATARI_CHAIN = ["collect:step:11", "fit:update:4", "save:manifest:2", "improve:update:1", "collect:step:30"]


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """The digest of an uninterrupted run, by game; made once for each test process."""
    made = {}

    def of(game):
        if game not in made:
            place = tmp_path_factory.mktemp(f"reference-{game}")
            crashing.finish(place, game)
            made[game] = crashing.digest(place)
        return made[game]

    return of


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_a_run_killed_at_named_points_ends_as_if_it_had_not_been(chain, reference, tmp_path):
    for failpoint in chain:
        crashing.killed_at(tmp_path, "minatar", failpoint)
    crashing.finish(tmp_path, "minatar")
    assert crashing.digest(tmp_path) == reference("minatar")


def test_an_atari_run_killed_at_named_points_ends_as_if_it_had_not_been(reference, tmp_path):
    for failpoint in ATARI_CHAIN:
        crashing.killed_at(tmp_path, "atari", failpoint)
    crashing.finish(tmp_path, "atari")
    assert crashing.digest(tmp_path) == reference("atari")


def test_a_run_killed_at_random_times_ends_as_if_it_had_not_been(reference, tmp_path):
    crashing.chaos(tmp_path, "minatar", reference("minatar"), kills=4, seed=0, longest=6.0)


@pytest.mark.slow_first
def test_a_run_with_every_speed_feature_killed_between_dreams_ends_as_if_it_had_not_been(monkeypatch, tmp_path):
    precision = ("--world-model.precision", "bfloat16", "--policy.precision", "bfloat16")
    compiled = ("--machine.compile", "on", *precision, "--schedule.iterations", "1")
    compiled += ("--world-model.depth", "1")  # half the time to compile
    # The first process compiles; the others find its code in the cache, and must go on exactly as it did.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    code, output = crashing.run(killed, "minatar", "improve:update:2", compiled)
    assert code == -signal.SIGKILL, output
    for place in (killed, straight):
        assert "compiled the dream step in" in crashing.finish(place, "minatar", compiled)
    assert crashing.digest(killed) == crashing.digest(straight)


def test_different_seeds_give_different_runs(reference, tmp_path):
    crashing.finish(tmp_path, "minatar", ("--seed", "4"))
    assert crashing.digest(tmp_path)["policy.safetensors"] != reference("minatar")["policy.safetensors"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_signal_saves_and_says_resume_me(number, reference, tmp_path):
    process = crashing.start(tmp_path, "minatar", extra=("--schedule.first-fit-updates", "100000"))
    crashing.wait_for_phase(tmp_path, "fit")
    asked = time.monotonic()
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert time.monotonic() - asked < 10
    assert process.returncode == crashing.RESUME_ME, output
    assert "run the same command again" in output
    status = json.loads((crashing.folder_of(tmp_path) / "status.json").read_text())
    assert (status["status"], status["phase"]) == ("stopped", "fit")


def test_a_second_process_on_the_same_run_is_refused_with_the_holders_pid(tmp_path):
    first = crashing.start(tmp_path, "minatar", extra=("--schedule.first-fit-updates", "100000"))
    try:
        crashing.wait_for_phase(tmp_path, "fit")
        code, output = crashing.run(tmp_path, "minatar", extra=("--schedule.first-fit-updates", "100000"))
        assert code == 2
        assert str(first.pid) in output
        assert "Traceback" not in output
    finally:
        first.kill()
        first.communicate()
    # The holder is dead: its lock is free at once.
    code, _ = crashing.run(tmp_path, "minatar", "fit:update:1", extra=("--schedule.first-fit-updates", "100000"))
    assert code == -signal.SIGKILL


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    place = tmp_path_factory.mktemp("finished")
    crashing.finish(place, "minatar")
    return place


@pytest.fixture
def copied(finished, tmp_path):
    subprocess.run(["cp", "-r", f"{finished}/.", str(tmp_path)], check=True)  # noqa: S607
    return tmp_path


def test_a_finished_run_started_again_changes_nothing(copied):
    before = crashing.digest(copied)
    crashing.finish(copied, "minatar")
    assert crashing.digest(copied) == before


def test_a_changed_setting_is_refused_with_a_difference(copied):
    name = crashing.folder_of(copied).parent.name.removeprefix("evade-")
    code, output = crashing.run(copied, "minatar", extra=("--learner.clip", "0.3", "--name", name))
    assert code == 2
    assert "learner.clip: 0.2 in the run, 0.3 now" in output.replace("\n", "")
    assert "Traceback" not in output


def test_a_longer_schedule_continues_and_is_the_longer_run(copied, tmp_path_factory):
    longer = ("--schedule.iterations", "3")
    crashing.finish(copied, "minatar", longer)
    straight = tmp_path_factory.mktemp("straight")
    crashing.finish(straight, "minatar", longer)
    ours, theirs = crashing.digest(copied), crashing.digest(straight)
    # The shorter run's own final score stays in the record; everything learnt is the same.
    for name in ("world_model.safetensors", "policy.safetensors", "draw.safetensors", "learner.safetensors"):
        assert ours[name] == theirs[name]


def test_a_corrupt_checkpoint_is_named_and_the_previous_one_used(copied, reference):
    folder = crashing.folder_of(copied)
    newest = max((folder / "checkpoints").iterdir())
    weights = newest / "policy.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    output = crashing.finish(copied, "minatar")
    assert newest.name in output
    assert crashing.digest(copied) == reference("minatar")


def test_no_usable_checkpoint_is_a_refusal_and_never_a_silent_restart(copied):
    folder = crashing.folder_of(copied)
    for checkpoint in (folder / "checkpoints").iterdir():
        (checkpoint / "MANIFEST.json").write_text("{}")
    scores = (folder / "scores.jsonl").read_bytes()
    code, output = crashing.run(copied, "minatar")
    assert code == 2
    assert "Traceback" not in output
    assert (folder / "scores.jsonl").read_bytes() == scores


def test_a_run_without_its_checkpoints_is_a_refusal(copied):
    folder = crashing.folder_of(copied)
    subprocess.run(["rm", "-r", str(folder / "checkpoints")], check=True)  # noqa: S607
    code, output = crashing.run(copied, "minatar")
    assert code == 2
    assert "no checkpoint to continue from" in output.replace("\n", " ")


def test_a_full_disk_stops_cleanly_with_the_last_checkpoint_intact(tmp_path, reference):
    # Files may grow to 40 kB: the first checkpoints fit, a larger file later does not.
    evade = [sys.executable, "-m", "evade", *crashing.command(tmp_path, "minatar")]
    limited = ["bash", "-c", 'ulimit -f 40; exec "$@"', "limited", *evade]
    stopped = subprocess.run(limited, capture_output=True, text=True, timeout=120, check=False)
    assert stopped.returncode == 2, stopped.stdout + stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".tmp") and path.is_file()]
    crashing.finish(tmp_path, "minatar")
    assert crashing.digest(tmp_path) == reference("minatar")
