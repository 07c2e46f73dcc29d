"""Damage to every kind of file of a run, at random places, and a command that meets it."""

import functools
import os
import random

import crashing
from chaos.commands import run_apart, run_here, tree
from chaos.runs import newest_checkpoint, run_of, words_for

WEIGHTS = {"runs": 16, "compare": 16, "index": 16, "evaluate": 16, "verify": 1, "report": 1, "resume": 10}
"""How often each verb is run. The figures of a report take seconds, and it reads the same files as `compare`, except
`inspection.json` and the videos; damage to these always meets a report."""

FOR_REPORTS = ("inspection.json", "game.mp4")


def flip(path, outside, rng):
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def truncate(path, outside, rng):
    os.truncate(path, rng.randrange(path.stat().st_size))


def empty(path, outside, rng):
    os.truncate(path, 0)


def enlarge(path, outside, rng):
    os.truncate(path, 3 << 30)  # sparse: three gigabytes that take no room


def become_folder(path, outside, rng):
    path.unlink()
    path.mkdir()


def become_link(path, outside, rng):
    path.unlink()
    path.symlink_to(outside / "secret.txt")


def become_pipe(path, outside, rng):
    path.unlink()
    os.mkfifo(path)


def vanish(path, outside, rng):
    path.unlink()


HARMS = (flip, truncate, empty, enlarge, become_folder, become_link, become_pipe, vanish)


def targets(sandbox):
    """Every kind of file in a run folder."""
    run = run_of(sandbox)
    files = [run / name for name in ("config.json", "status.json", "environment.txt", "metrics.jsonl")]
    files += [run / name for name in ("scores.jsonl", "timing.jsonl", "lock", "inspection.json", "media/game.mp4")]
    files += sorted(newest_checkpoint(sandbox).iterdir()) + sorted((run / "replay").iterdir())
    return [*files, *sorted((run / "tensorboard").iterdir())]


def attack(victim, tally, cases, seed):
    """Damage one file in each case, then run one command: a reader in this process, or a resume in its own."""
    rng = random.Random(seed)  # noqa: S311
    names = [path.name for path in targets(victim.place / "original")]
    baseline = functools.cache(lambda verb: _output_without_damage(victim, verb))
    for number in range(cases):
        verb = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if names[number % len(names)] in FOR_REPORTS:
            verb = rng.choice(("verify", "report"))
        sandbox = victim.copy(with_report=verb == "verify")
        path = targets(sandbox)[number % len(names)]
        harm = HARMS[(number // len(names) + number) % len(HARMS)]
        if harm in (flip, truncate) and path.stat().st_size == 0:
            harm = vanish
        words, before = words_for(verb, sandbox), tree(sandbox / "outside")
        name = f"{harm.__name__} {path.relative_to(sandbox)}, evade {verb}"
        harm(path, sandbox / "outside", rng)
        code, output, found = (run_apart if verb == "resume" else run_here)(words)
        if tree(sandbox / "outside") != before:
            found["outside"] = name
        if code == 0 and not _was_said(output):
            same = _ended_alike(victim, sandbox) if verb == "resume" else _same(output, baseline(verb), sandbox)
            same = same and (verb != "report" or _pages(sandbox / "report") == _pages(victim.report()))
            if not same:
                found["silent"] = output
        tally.add("damaged files", name, found)
        victim.discard(sandbox)


def _was_said(output):
    """Whether something was reported: an error or warning of ours, or Python's warning from `load`."""
    return any(mark in output for mark in ("evade: ", "damaged", "Warning", "is left out", "cannot be", "differs"))


def _same(output, baseline, sandbox):
    return _without_paths(output, sandbox) == baseline


def _pages(report):
    """Pages, data and figures of a report; its videos are copies of files without a checksum."""
    return {name: content for name, content in tree(report).items() if not name.endswith(".mp4")}


def _output_without_damage(victim, verb):
    whole = victim.copy(with_report=verb == "verify")
    output = _without_paths(run_here(words_for(verb, whole))[1], whole)
    victim.discard(whole)
    return output


def _without_paths(output, sandbox):
    return output.replace(str(sandbox), "")


def _ended_alike(victim, sandbox):
    return crashing.digest(sandbox / "runs") == victim.digest
