"""Command lines from a grammar: every verb with right, wrong and absurd arguments."""

import contextlib
import random

from chaos.commands import run_here, tree
from chaos.runs import run_of

PATHS = ("", ".", "/dev/null", "/proc/self/mem", "absent", "a\nb", "\x1b[31m", "a" * 300, "~", "config.json")
NUMBERS = ("0", "1", "-1", "2", "1.5", "nan", "inf", "1e9", "99999999999999999999", "", "x", "0x10", "None")
GAMES = ("", " ", "minatar/breakout", "minatar/x", "deepsea/1", "deepsea/3", "CarRacing-v3", "Ant-v5", ":", "x:", ":x")
GAMES += (".x:y", "os:x", "a:b:c", "CartPole-v1", "FrozenLake-v1", "minatar/$", "[bold]", "\x1b[31m", "a" * 300)
TRAIN_FLAGS = ("--schedule.iterations", "--machine.threads", "--machine.save-seconds", "--env.num-frames")
TRAIN_FLAGS += ("--env.frame-size", "--replay.batch-size", "--dream.horizon", "--evaluation.episodes", "--learner.clip")
TRAIN_FLAGS += ("--world-model.hidden-size", "--seed", "--policy.filters", "--collect.num-envs", "--world-model.depth")
VERBS = ("train", "resume", "evaluate", "runs", "compare", "index", "explain", "paper", "posterior", "look", "figures")
VERBS += ("futures", "sweep")
NONSENSE = ("--help", "--", "-x", "--absent", "--seed=", "é", "\udce9", "--runs-dir", "--name", "..", "*")


def build_line(rng, sandbox):
    """One command line; training lines cannot begin a run that takes long."""
    runs, run = str(sandbox / "runs"), str(run_of(sandbox))
    paths = (*PATHS, runs, run, str(sandbox / "outside"), str(sandbox / "outside" / "secret.txt"))
    number, path, game = rng.choice(NUMBERS), rng.choice(paths), rng.choice(GAMES)
    verb = rng.choice(VERBS)
    if rng.random() < 0.15:
        verb = rng.choice(("report", "benchmark", "doctor ", "", "x", "TRAIN"))
    where = rng.choice((runs, run, path))
    fresh = str(sandbox / "new")
    # Never the folder that must not change: a line may name it as its output, and then it is right to write there.
    output = rng.choice((*PATHS, run, fresh))
    lines = {
        # A wrong value in every line that would train: an iteration count that no schedule has.
        "train": [
            "train",
            rng.choice(("smoke", "x", "quick")),
            rng.choice(("evade", "y", "")),
            "--runs-dir",
            fresh,
            "--game",
            game,
            rng.choice(TRAIN_FLAGS),
            number,
            "--schedule.iterations",
            rng.choice(("0", "-3", "x")),
        ],
        "resume": ["resume", rng.choice((path, run)), rng.choice(TRAIN_FLAGS), number, "--learner.clip", "0.7"],
        "evaluate": [
            *("evaluate", where, "--episodes", rng.choice(("0", "1", "-1", "x"))),
            *(rng.choice(("--seed", "--temperature")), number),
        ],
        "runs": ["runs", path],
        "compare": [
            "compare",
            where,
            "--resamples",
            rng.choice(("10", "0", "-1", "x")),
            rng.choice(("--seed", "--baseline", "--table", "--format")),
            number,
        ],
        "index": ["index", where, "--database", rng.choice((str(sandbox / "new.sqlite"), path))],
        "explain": ["explain", rng.choice(("smoke", "x")), "evade", "--no-measure", "--game", game],
        "paper": ["paper", "--table", rng.choice(("games", "x", number)), "--resamples", "10", "--seed", number],
        "posterior": ["posterior", rng.choice((path, run)), "--updates", "0", "--seed", number],
        **_lines_that_look(rng, run, path, where, output, number),
        "sweep": rng.choice(_lines_that_sweep(rng, path, where, fresh, game, number)),
        "report": ["report", where, "-o", output, *rng.choice(((), ("--verify",)))],
        "benchmark": ["benchmark", "--threads", number, "--repeats", rng.choice(("0", "-1"))],
    }
    words = list(lines.get(verb, [verb]))
    if rng.random() < 0.2:
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(NONSENSE))
    if rng.random() < 0.1:
        del words[rng.randrange(len(words))]
    # Last, so that no sweep ever starts.
    return [*words, "--no-measure", "--dry-run"] if "sweep" in words and "status" not in words else words


def _lines_that_look(rng, run, path, where, output, number):
    """Commands that load a run and show it."""
    # A port that cannot be, so that no line serves a page.
    port = ["--no-browser", "--port"]
    draws, values = ("--draw", "--draws", "--channel", "--frame"), ("-2", "0", "x", "999999", "")
    return {
        "look": ["look", rng.choice((path, run)), *port, rng.choice(("-1", "65536", "x", "", "1e9"))],
        "figures": ["figures", where, "-o", output, rng.choice(draws), rng.choice(values)],
        "futures": ["futures", where, "--to", output, rng.choice(("--count", "--steps", "--seed")), number],
    }


def _lines_that_sweep(rng, path, where, fresh, game, number):
    """Sweeps; `build_line` lets none of them start."""
    smoke = ["sweep", "--preset", "smoke"]
    return (
        ["sweep", "status", path],
        ["sweep", rng.choice((path, where)), "--runs-dir", fresh],
        [*smoke, "--games", game, "--seeds", number, "--runs-dir", fresh],
        [*smoke, "--set", f"learner.clip={number}", "--jobs", number, "--runs-dir", path],
    )


def attack(victim, tally, cases, seed):
    """Run command lines in this process; each must end by itself with 0, 1 or 2."""
    sandbox = victim.copy()
    before = tree(sandbox / "outside")
    here = sandbox / "here"
    here.mkdir()
    for number in range(cases):
        words = build_line(random.Random(f"{seed}/{number}"), sandbox)  # noqa: S311
        with contextlib.chdir(here):
            code, output, found = run_here(words)
        if not found and code not in (0, 1, 2):
            found["traceback"] = f"exit code {code}: {output}"
        if tree(sandbox / "outside") != before:
            found["outside"] = " ".join(words)
        tally.add("command lines", f"evade {' '.join(map(repr, words))}", found)
    victim.discard(sandbox)
