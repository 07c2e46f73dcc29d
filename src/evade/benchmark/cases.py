"""The cases to measure, and the settings of each."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from evade.benchmark.contenders import (
    BFLOAT16,
    BFLOAT16_COMPILED,
    FLOAT32,
    FLOAT32_COMPILED,
    PLAIN,
    PRESET_COMPILED,
    Contender,
)
from evade.benchmark.options import PRESET_OF, Options, Size
from evade.config import RunConfig
from evade.config.presets import build_config
from evade.envs import spec
from evade.game_spec import GameSpec

Task = Literal["fit", "dream", "ppo", "loop"]
"""`fit`: one world-model update; `dream`: one step of all dreams, policy included; `ppo`: all updates on one rollout;
`loop`: rollouts of dreams, each followed by PPO."""

FIT_BATCHES: dict[Size, tuple[int, ...]] = {"paper": (16, 4), "minatar": (64,)}
DREAM_BATCH: dict[Size, int] = {"paper": 16, "minatar": 256}
"""Dreams that step together: the presets' numbers."""
GROWTH_BATCHES: dict[Size, tuple[int, ...]] = {"paper": (1, 2, 4, 8, 16, 32), "minatar": (8, 16, 32, 64, 128, 256)}
GROWTH_FRAMES: dict[Size, tuple[tuple[int, int], ...]] = {
    "paper": ((53, 40), (105, 80), (210, 160)),
    "minatar": ((10, 10), (20, 20)),
}
GROWTH_CONTENDER: dict[Size, Contender] = {"paper": BFLOAT16, "minatar": FLOAT32}
"""Not compiled, because every shape would be compiled separately."""
COMPILED: dict[Size, Contender] = {"paper": BFLOAT16_COMPILED, "minatar": FLOAT32_COMPILED}


@dataclass(frozen=True)
class Case:
    """One task of one network, computed in one way."""

    size: Size
    task: Task
    variant: str
    batch: int
    """Transitions of a fit, or dreams that step together."""
    frame: tuple[int, int]
    """Rows and columns."""
    contender: Contender
    threads: int
    """Per process."""
    processes: int = 1

    @property
    def same_work(self) -> "Case":
        """The plain case of the same task, which has the same number of operations."""
        return replace(self, contender=PLAIN, threads=1, processes=1)

    @property
    def is_growth(self) -> bool:
        """Whether batch or frame size differ from the preset's."""
        return self.task == "dream" and (self.batch, self.frame) != (DREAM_BATCH[self.size], frame_of(self.size))


@lru_cache
def preset_of(size: Size, variant: str) -> tuple[RunConfig, GameSpec]:
    """The preset's settings and its game."""
    config = build_config(PRESET_OF[size], variant)
    return config, spec(config.game, config.env)


def frame_of(size: Size) -> tuple[int, int]:
    """Rows and columns of the preset's game."""
    game = preset_of(size, "evade")[1]
    return game.height, game.width


def settings_of(case: Case) -> tuple[RunConfig, GameSpec]:
    """The preset's settings with the case's batch size, and its game with the case's frame size."""
    config, game = preset_of(case.size, case.variant)
    config = replace(
        config,
        replay=replace(config.replay, batch_size=case.batch),
        dream=replace(config.dream, num_envs=case.batch),
    )
    return config, replace(game, height=case.frame[0], width=case.frame[1])


def updates_per_rollout(case: Case) -> int:
    """The learner's updates on one batch of dreams."""
    config = settings_of(case)[0]
    return config.learner.num_updates(config.dream.horizon)


def plan_cases(options: Options, default_threads: int) -> list[Case]:
    """All cases, the plain one of each task first."""
    cases: list[Case] = []
    for size in options.sizes:
        threads = options.threads or preset_of(size, "evade")[0].machine.threads or default_threads
        cases += [*_main_cases(options, size, threads), *_growth_cases(options, size, threads)]
        if size == "minatar":
            cases += _loop_cases(options)
    return list(dict.fromkeys(cases))


def _main_cases(options: Options, size: Size, threads: int) -> list[Case]:
    contenders = (PLAIN, FLOAT32, BFLOAT16)
    compiled = (COMPILED[size],) if options.compiles else ()
    cases = []
    for variant in ("simple", "evade"):
        for batch in _fit_batches(options, size, variant):
            cases += [Case(size, "fit", variant, batch, frame_of(size), each, threads) for each in contenders]
        for each in (FLOAT32,) if options.quick and variant == "simple" else (*contenders, *compiled):
            cases.append(Case(size, "dream", variant, DREAM_BATCH[size], frame_of(size), each, threads))
    cases += [Case(size, "ppo", "evade", DREAM_BATCH[size], frame_of(size), each, threads) for each in contenders]
    return cases


def _fit_batches(options: Options, size: Size, variant: str) -> tuple[int, ...]:
    if not options.quick:
        return FIT_BATCHES[size]
    return FIT_BATCHES[size][:1] if variant == "evade" else ()


def _growth_cases(options: Options, size: Size, threads: int) -> list[Case]:
    frame, batch = frame_of(size), DREAM_BATCH[size]
    shapes = [(each, frame) for each in GROWTH_BATCHES[size]] + [(batch, each) for each in GROWTH_FRAMES[size]]
    if options.quick:
        shapes = [(1, frame), (batch // 4, frame)]
    return [Case(size, "dream", "evade", *shape, GROWTH_CONTENDER[size], threads) for shape in shapes]


def _loop_cases(options: Options) -> list[Case]:
    compiled = (PRESET_COMPILED,) if options.compiles else ()
    plain = Case("minatar", "loop", "evade", DREAM_BATCH["minatar"], frame_of("minatar"), PLAIN, 1)
    ours = [
        replace(plain, contender=each, processes=processes) for each in (FLOAT32, *compiled) for processes in (1, 2)
    ]
    return ours if options.quick else [plain, *ours]


def plan_memory_cases(options: Options, cases: list[Case]) -> list[Case]:
    """The cases whose memory is measured: EVaDE's eager tasks, with one batch and frame size for each network size."""
    chosen = [
        case
        for case in cases
        if case.variant == "evade"
        and case.task != "loop"
        and not case.is_growth
        and not case.contender.is_compiled
        and (case.task != "fit" or case.batch == FIT_BATCHES[case.size][0])
    ]
    return [case for case in chosen if (case.contender, case.task) == (FLOAT32, "dream")] if options.quick else chosen
