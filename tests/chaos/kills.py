"""Kills in every phase, while saving and while finishing, and at random times; every run must end alike."""

import json
import random
import shutil
import signal
from pathlib import Path

import crashing

POINTS = {
    "collect:begin": 3, "collect:step": 60, "fit:begin": 2, "fit:update": 20, "draw:begin": 2, "improve:begin": 2,
    "improve:update": 8, "evaluate:begin": 2, "evaluate:step": 3, "score:begin": 1, "score:step": 2, "save:begin": 30,
    "save:tensors": 100, "save:manifest": 30, "save:before-rename": 30, "save:after-rename": 30, "save:cleaned": 30,
}  # fmt: skip
"""Where a process can be killed, and a count that a run reaches."""


def attack(place, tally, game, cases, seed, reference):
    """Kill a run at a named point or at a random time until it ends by itself, compare the end, and begin another.

    A run that has ended is started once more and killed while it renders: it must stay finished.
    """
    rng = random.Random(f"{seed}/{game}")  # noqa: S311
    round_number = 0
    while tally.cases[f"kills, {game}"] < cases:
        round_number += 1
        runs_dir = Path(place) / f"{game}-{round_number}"
        for _ in range(rng.randrange(6, 16)):
            name, code, output = _kill_once(runs_dir, game, rng)
            if code == 0:
                break
            found = {} if code == -signal.SIGKILL else {"traceback": f"code {code}: {output}"}
            tally.add(f"kills, {game}", f"{name} in round {round_number}", found)
        else:
            code, output = crashing.run(runs_dir, game)
        if code != 0 or crashing.digest(runs_dir) != reference:
            tally.add(f"kills, {game}", f"end of round {round_number}", {"silent": f"code {code}: {output}"})
        elif crashing.killed_after(runs_dir, game, rng.uniform(0.3, 2.0)):
            status = json.loads((crashing.folder_of(runs_dir) / "status.json").read_text())["status"]
            is_kept = status == "finished" and crashing.digest(runs_dir) == reference
            found = {} if is_kept else {"silent": f"a finished run is {status}, or its files differ"}
            tally.add(f"kills, {game}", f"after the end of round {round_number}", found)
        shutil.rmtree(runs_dir, ignore_errors=True)


def _kill_once(runs_dir, game, rng):
    """Start a run and kill it; returns what was tried, the exit code (0: it ended before) and the output."""
    if rng.random() < 0.25:
        was_hit = crashing.killed_after(runs_dir, game, rng.uniform(0.05, 4.0))
        return "at a random time", -signal.SIGKILL if was_hit else 0, ""
    point = rng.choice(list(POINTS))
    failpoint = f"{point}:{rng.randint(1, POINTS[point])}"
    return failpoint, *crashing.run(runs_dir, game, failpoint)
