"""`evade train` and `evade resume`: one run from wherever it stands to its end."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from evade.checks import require
from evade.config import RunConfig
from evade.config.presets import DEFAULT_PRESET, PRESETS, build_config
from evade.envs.games import check_import
from evade.errors import EvadeError, Interrupted, TrainingDiverged
from evade.runs.folder import RunFolder
from evade.runs.session import folder_of, saved_config
from evade.vocabulary.variants import DEFAULT_VARIANT, VARIANTS

RESUME_ME = 75
"""Exit code of a run that was asked to stop, has been saved, and can be started again."""
DIVERGED = 3
"""Exit code of a run whose loss was no longer finite."""

USAGE = f"""usage: evade train [PRESET] [VARIANT] [--game GAME] [--seed N] [--runs-dir DIR] [--name NAME]
                   [--SECTION.FIELD VALUE ...]

PRESET is one of {", ".join(PRESETS)} (default {DEFAULT_PRESET}); VARIANT is one of {", ".join(VARIANTS)}
(default {DEFAULT_VARIANT}). The same command again resumes an interrupted run. Runs with changed settings get a folder
of their own, VARIANT-NAME (by default VARIANT- and the settings' fingerprint). All settings:
"""

RESUME_USAGE = """usage: evade resume RUN [--schedule.iterations N] [--machine.FIELD VALUE ...]

RUN is the folder of a run. It continues from its last checkpoint, with its own settings; only a longer schedule and the
machine may change. `evade resume RUN --help` lists the run's settings.
"""


def train(arguments: Sequence[str]) -> int:
    """Train an agent: EVaDE, SimPLe(30) or a single-layer ablation, on any game."""
    words = list(arguments)
    names: list[str] = []
    while words and not words[0].startswith("-") and len(names) < 2:
        names.append(words.pop(0))
    preset, variant = (*names, *(DEFAULT_PRESET, DEFAULT_VARIANT)[len(names) :])
    # As flags, too, they choose the settings behind the names, not only the names.
    preset, variant = _take(words, "--preset") or preset, _take(words, "--variant") or variant
    runs_dir = Path(_take(words, "--runs-dir") or "runs")
    game, seed, name = _take(words, "--game"), _take(words, "--seed"), _take(words, "--name")
    _check_name(name)
    config = build_config(preset, variant, game)
    if "--help" in words or "-h" in words:
        print(USAGE)
    if seed is not None:
        words += ["--seed", seed]
    config = tyro.cli(RunConfig, default=config, args=words, prog="evade train")
    return run_to_the_end(config, folder_of(config, runs_dir, name))


def resume(arguments: Sequence[str]) -> int:
    """Resume a run by its folder; settings may follow, but only a longer schedule and the machine may change."""
    if arguments and arguments[0] in ("--help", "-h"):
        print(RESUME_USAGE)
        return 0
    if not arguments or arguments[0].startswith("-"):
        raise EvadeError(RESUME_USAGE.partition("\n")[0])
    words = list(arguments[1:])
    allowed = _take(words, "--allow-import")
    folder = RunFolder(Path(arguments[0]))
    saved = saved_config(folder)
    check_import(saved.game, [] if allowed is None else [allowed])
    config = tyro.cli(RunConfig, default=saved, args=words, prog="evade resume RUN")
    return run_to_the_end(config, folder)


def _take(words: list[str], flag: str) -> str | None:
    """Remove every `flag VALUE` and `flag=VALUE` from the words and return the last value."""
    value: str | None = None
    index = 0
    while index < len(words):
        if words[index] == flag:
            if index + 1 == len(words):
                raise EvadeError(f"{flag} needs a value.")
            value = words[index + 1]
            del words[index : index + 2]
        elif words[index].startswith(f"{flag}="):
            value = words.pop(index).partition("=")[2]
        else:
            index += 1
    return value


def _check_name(name: str | None) -> None:
    """A name becomes part of a folder's, so it must not lead to another folder."""
    is_allowed = name is None or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name) is not None
    require(is_allowed, "--name", name, "must be letters, digits, dots, dashes and underscores, at most 100")


def run_to_the_end(config: RunConfig, folder: RunFolder) -> int:
    """Train, finish, and say where to look."""
    from evade.training.algorithm import train as train_agent
    from evade.training.run import Run
    from evade.viewing.display import Display
    from evade.viewing.streams import ForgivingStream

    title = f"{config.variant} on {config.game}, preset {config.preset}, seed {config.seed}"
    display = Display(title, config.schedule.iterations)
    # Before the display starts: what can be refused at once is one line and nothing else.
    run = Run(config, folder, display)
    try:
        with display, run:
            state = train_agent(run)
            display.note("rendering figures and videos")
            # Only now, because matplotlib is slow to import.
            from evade.viewing.finish import finish

            outcome = finish(run, state)
    except Interrupted as stopped:
        print(f"evade: {stopped}", file=sys.stderr)
        return RESUME_ME
    except TrainingDiverged as error:
        print(f"evade: {error}", file=sys.stderr)
        return DIVERGED
    media = ", ".join(path.name for path in outcome.media)
    lines = f"{outcome.sentence()}\nEverything is in {folder.path}{f': {media} in media/' if media else ''}.\n"
    # The run is done: whether anybody still reads its output does not matter.
    stream = ForgivingStream(sys.stdout)
    stream.write(lines)
    stream.flush()
    return 0
