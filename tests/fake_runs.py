"""Run folders as a finished training leaves them, made in a moment."""

from evade.runs.files import write_json
from evade.runs.folder import RunFolder
from evade.runs.journal import Journal

VERSIONS = {"preprocessing_version": 1, "evaluation_version": 1}


def make_finished_run(path, *, variant="evade", game="minatar/breakout", seed=0, scores=(1.0, 3.0), evaluation=None):
    """A run of two iterations; its evaluations gave half of its final `scores`."""
    folder = RunFolder(path)
    folder.create()
    settings = {"preset": "smoke", "variant": variant, "game": game, "seed": seed, "env": {}}
    write_json(folder.config, {"settings": settings | {"evaluation": evaluation or {}}, "fingerprint": "f", **VERSIONS})
    write_json(folder.status, {"status": "finished"})
    _append(folder.scores, _episodes(scores))
    _append(folder.metrics, _metrics())
    _append(folder.timing, [{"iteration": i, "phase": "fit", "seconds": 1.5} for i in (1, 2)])
    return folder


def _episodes(scores):
    for purpose, iteration, factor in (("evaluate", 1, 0.5), ("evaluate", 2, 0.5), ("score", 3, 1.0)):
        shared = {"purpose": purpose, "iteration": iteration, "real_steps": 64 * iteration, **VERSIONS}
        for episode, score in enumerate(scores):
            yield shared | {"episode": episode, "score": factor * score, "length": 7}


def _metrics():
    for iteration in (1, 2):
        for phase, values in (
            ("collect", {"real_return": 1.0 * iteration}),
            ("draw", {"sigma": 0.1, "sigma/layer": 0.1}),
            ("improve", {"dream_return": 2.0}),
            ("improve", {"dream_return": 4.0}),
        ):
            yield {"iteration": iteration, "phase": phase, "step": iteration, "values": values}


def _append(path, records):
    journal = Journal(path, 0)
    for record in records:
        journal.append(record)
    journal.close()
