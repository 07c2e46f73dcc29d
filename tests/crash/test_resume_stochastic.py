"""Kill a run between dreams of a model that samples bits: it ends as if it had not been touched."""

import os
import signal

import pytest

import crashing
from forking import EvadeProcess

SCHEDULE = {
    "schedule.iterations": "1",
    "schedule.first-real-steps": "96",
    "schedule.real-steps": "64",
    "schedule.first-fit-updates": "6",
    "schedule.dream-batches": "4",
    "env.time-limit": "40",
    "replay.batch-size": "2",
    "world-model.hidden-size": "8",
    "world-model.depth": "2",
    # Warm-ups that end inside the run, so that a wrong count of updates shows; and much noise.
    "world-model.bits.warmup-updates": "6",
    "world-model.reward.sigma-init": "1",
    "policy.filters": "4",
    "dream.num-envs": "4",
    "dream.horizon": "5",
    "learner.minibatch-times": "4",
    "evaluation.episodes": "1",
    "evaluation.final-episodes": "1",
    "evaluation.time-limit": "20",
    "machine.threads": "1",
    "machine.save-seconds": "0.01",
}
RECURRENT = SCHEDULE | {
    "env.frame-size": "21 16",
    "replay.target-frames": "2",
    "world-model.num-doublings": "1",
    "world-model.memory-channels": "4",
    "world-model.own-frames-warmup": "6",
    "world-model.bits.count": "16",
    "world-model.bits.predictor-size": "8",
    "world-model.bits.posterior-filters": "8 8",
}
ON_GRIDS = SCHEDULE | {"collect.num-envs": "2", "collect.num-slices": "4", "world-model.bits.use-warmup-updates": "3"}


def run(place, preset, game, settings, failpoint=""):
    words = ["train", preset, "evade", "--game", game, "--runs-dir", str(place)]
    words += [word for name, value in settings.items() for word in (f"--{name}", *value.split())]
    process = EvadeProcess(words, os.environ | ({"EVADE_FAILPOINT": failpoint} if failpoint else {}))
    output, _ = process.communicate(timeout=240)
    return process.returncode, output


@pytest.mark.parametrize(
    "recipe",
    [("atari100k-simple", "atari/pong", RECURRENT), ("minatar-bits", "minatar/asterix", ON_GRIDS)],
    ids=["recurrent", "bits on grids"],
)
def test_a_run_killed_while_fitting_sequences_and_between_dreams_ends_as_if_it_had_not_been(tmp_path, recipe):
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    for failpoint in ("fit:update:4", "improve:update:2", "improve:update:1"):
        code, output = run(killed, *recipe, failpoint)
        assert code == -signal.SIGKILL, f"{failpoint} was not reached: {output}"
    for place in (killed, straight):
        code, output = run(place, *recipe)
        assert code == 0, output
    assert crashing.digest(killed) == crashing.digest(straight)
