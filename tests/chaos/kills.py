"""Kills in every phase, while saving and while finishing, and at random times; every run must end alike."""

import random
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
    """Kill a run at a named point or at a random time, again and again; finish it after some kills and compare."""
    rng = random.Random(f"{seed}/{game}")  # noqa: S311
    done, round_number = 0, 0
    while done < cases:
        runs_dir = Path(place) / f"{game}-{round_number}"
        round_number += 1
        kills = []
        for _ in range(min(rng.randrange(4, 12), cases - done)):
            if rng.random() < 0.75:
                point = rng.choice(list(POINTS))
                failpoint = f"{point}:{rng.randint(1, POINTS[point])}"
                code, output = crashing.run(runs_dir, game, failpoint)
                kills.append((failpoint, code, output))
            else:
                was_hit = crashing.killed_after(runs_dir, game, rng.uniform(0.05, 4.0))
                kills.append(("at a random time", -signal.SIGKILL if was_hit else 0, ""))
        code, output = crashing.run(runs_dir, game)
        is_alike = code == 0 and crashing.digest(runs_dir) == reference
        for name, code_then, output_then in kills:
            found = {} if code_then in (0, -signal.SIGKILL) else {"traceback": f"code {code_then}: {output_then}"}
            if code_then == -signal.SIGKILL or found:
                done += 1
                tally.add(f"kills, {game}", f"{name} in round {round_number}", found)
        if not is_alike:
            tally.add(f"kills, {game}", f"end of round {round_number}", {"silent": f"code {code}: {output}"})
