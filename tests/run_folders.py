"""Run folders as a training run leaves them, without the training."""

from evade.runs.files import write_json
from evade.runs.folder import RunFolder
from evade.runs.journal import Journal

VERSIONS = {"preprocessing_version": 1, "evaluation_version": 1}


def make_run(path, finals=((3, (1.0, 2.0)),), *, status=None, metrics=(), versions=VERSIONS, **settings):
    """A run folder; `finals` are the final evaluations as (iteration, scores), `settings` go over the usual ones."""
    folder = RunFolder(path)
    folder.create()
    usual = {"preset": "smoke", "variant": "evade", "game": "minatar/breakout", "seed": 4, "env": {}, "evaluation": {}}
    settings = usual | settings
    fingerprint = "-".join(str(settings[name]) for name in ("variant", "game", "seed"))
    write_json(folder.config, {"settings": settings, "fingerprint": fingerprint, **versions})
    if status is not None:
        write_json(folder.status, {"status": status})
    write_journal(folder.scores, _episodes(finals, versions))
    write_journal(folder.timing, [{"iteration": 1, "phase": "fit", "seconds": seconds} for seconds in (1.5, 2.0)])
    if metrics:
        write_journal(folder.metrics, metrics)
    return folder


def make_finished(runs_dir, variant, game, seed, *scores, **settings):
    """A finished run in the folder a training run would choose."""
    path = runs_dir / game.replace("/", "-") / variant / f"seed-{seed}"
    return make_run(path, ((3, scores),), status="finished", variant=variant, game=game, seed=seed, **settings)


def write_journal(path, records):
    journal = Journal(path)
    for record in records:
        journal.append(record)
    journal.close()


def _episodes(finals, versions):
    for purpose, iteration, values in [("evaluate", 1, (0.5,)), *(("score", i, values) for i, values in finals)]:
        for episode, score in enumerate(values):
            shared = {"purpose": purpose, "iteration": iteration, "real_steps": 64 * iteration, **versions}
            yield shared | {"episode": episode, "score": score, "length": 7}


def make_finished_run(path, *, variant="evade", game="minatar/breakout", seed=0, scores=(1.0, 3.0), evaluation=None):
    """A finished run of two iterations with metrics; its evaluations gave half of its final `scores`."""
    folder = RunFolder(path)
    folder.create()
    settings = {"preset": "smoke", "variant": variant, "game": game, "seed": seed, "env": {}}
    identity = {"settings": settings | {"evaluation": evaluation or {}}, "fingerprint": f"{variant}-{game}-{seed}"}
    write_json(folder.config, identity | VERSIONS)
    write_json(folder.status, {"status": "finished"})
    write_journal(folder.scores, _halved_evaluations(scores))
    write_journal(folder.metrics, _two_iterations())
    write_journal(folder.timing, [{"iteration": i, "phase": "fit", "seconds": 1.5} for i in (1, 2)])
    return folder


def _halved_evaluations(scores):
    for purpose, iteration, factor in (("evaluate", 1, 0.5), ("evaluate", 2, 0.5), ("score", 3, 1.0)):
        shared = {"purpose": purpose, "iteration": iteration, "real_steps": 64 * iteration, **VERSIONS}
        for episode, score in enumerate(scores):
            yield shared | {"episode": episode, "score": factor * score, "length": 7}


def _two_iterations():
    for iteration in (1, 2):
        for phase, values in (
            ("collect", {"faithfulness/game_return": 1.0 * iteration, "faithfulness/dream_return": 2.0}),
            ("collect", {"faithfulness/dream_return": 4.0}),
            ("draw", {"posterior/sigma": 0.1, "posterior/sigma/layer": 0.1}),
            ("improve", {"dream/return": 2.0}),
        ):
            yield {"iteration": iteration, "phase": phase, "step": iteration, "values": values}
