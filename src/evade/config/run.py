"""Settings of a whole run: those of its parts, its schedule, how it collects and evaluates, and its machine."""

from dataclasses import dataclass, field
from typing import Literal

from evade.checks import (
    at_least_one,
    finite_positive,
    require,
    require_choice,
    require_fields,
)
from evade.dreams.settings import DreamConfig
from evade.envs.settings import EnvConfig
from evade.kinds import ADDED_LATER
from evade.policies.settings import ActorCriticConfig, LearnerConfig, PolicyConfig, PPOConfig
from evade.replay.settings import ReplayConfig
from evade.world_models.settings import DeterministicConfig, WorldModelConfig

EVALUATION_VERSION = 1
"""Raised whenever the same policy, settings and seed would be given other scores."""


MAX_THREADS = 1024
"""Threads of one operation; with a hundred thousand OpenMP ends the process."""


@dataclass(frozen=True)
class ScheduleConfig:
    """How much of everything, in each iteration of Algorithm 1. The defaults are the paper's section 4.2."""

    iterations: int = 30
    """Turns of Algorithm 1. Paper: 30. May be raised when a run is resumed."""
    first_real_steps: int = 6400
    """Steps in the game before the first fit. Paper: 6400."""
    real_steps: int = 3200
    """Steps in the game before each later fit, and once more after the last iteration. Paper: 3200."""
    first_fit_updates: int = 45_000
    """World-model updates in the first iteration. Paper: 45K."""
    fit_updates: int = 15_000
    """World-model updates in each later iteration. Paper: 15K."""
    dream_batches: int = 1000
    """Dream rollouts, each followed by PPO's epochs, in one iteration. Paper: 1000 z."""
    dream_multipliers: tuple[tuple[int, int], ...] = ()
    """Pairs (iteration, z): z times the dream batches there. Paper: (8, 2) (12, 2) (23, 2) (27, 2) (30, 3)."""
    ends_with_mean: bool = field(default=False, metadata=ADDED_LATER)
    """In the last iteration dreams use the mean of the posterior instead of a draw: nothing is left to explore for, and
    the policy that they leave is the one that is scored. Paper: a draw in every iteration."""

    def __post_init__(self) -> None:
        fields = "iterations first_real_steps real_steps first_fit_updates fit_updates dream_batches"
        require_fields(self, "schedule", fields, at_least_one, "must be at least 1")
        multipliers = dict(self.dream_multipliers)
        require(
            len(multipliers) == len(self.dream_multipliers) and all(z >= 1 for z in multipliers.values()),
            "schedule.dream_multipliers",
            self.dream_multipliers,
            "name each iteration once, with a multiplier of at least 1",
        )

    def real_steps_in(self, iteration: int) -> int:
        """Steps in the game at the start of an iteration, counted from 1."""
        return self.first_real_steps if iteration == 1 else self.real_steps

    def fit_updates_in(self, iteration: int) -> int:
        """World-model updates of an iteration."""
        return self.first_fit_updates if iteration == 1 else self.fit_updates

    def uses_mean_in(self, iteration: int) -> bool:
        """Whether the dreams of an iteration use the mean of the posterior."""
        return self.ends_with_mean and iteration == self.iterations

    def dream_batches_in(self, iteration: int) -> int:
        """Dream rollouts of an iteration."""
        return self.dream_batches * dict(self.dream_multipliers).get(iteration, 1)

    @property
    def total_dream_batches(self) -> int:
        """Dream rollouts of the whole run."""
        return sum(self.dream_batches_in(iteration) for iteration in range(1, self.iterations + 1))

    @property
    def total_real_steps(self) -> int:
        """Steps in the game over the whole run, the last policy's included."""
        return self.first_real_steps + self.iterations * self.real_steps


@dataclass(frozen=True)
class CollectConfig:
    """Acting in the real game."""

    num_envs: int = 1
    """Games played side by side. T2T SimPLe: 1."""
    improves_policy: bool = True
    """PPO also learns from the real steps. T2T SimPLe and paper: yes."""
    num_slices: int = 16
    """For PPO, each game's steps are cut into N segments of equal length that count as separate games.
    T2T SimPLe: one game of 3200 steps as 16 of 200."""
    temperature: float = 1.0
    """Action probabilities are taken to the power 1 / temperature. T2T SimPLe: 1. Above 1 the agent also tries what its
    world model, perhaps wrongly, thinks is of no use."""
    trying_temperature: float | None = field(default=None, metadata=ADDED_LATER)
    """Temperature of every second game; None for the same as all others. T2T SimPLe: none. Ours on grids: 2, so that
    half of the games follow the draw and half try other actions (docs/decisions/0014-horizon-and-temperatures.md)."""

    kept_share: float = field(default=0.0, metadata=ADDED_LATER)
    """Share of the games that go on from one collection to the next; the others begin anew in each. T2T SimPLe: 0. Ours
    on grids: half, so that what comes late in a game is seen, too (docs/decisions/0022-games-that-go-on.md)."""

    def __post_init__(self) -> None:
        require_fields(self, "collect", "num_envs num_slices", at_least_one, "must be at least 1")
        require(0 <= self.kept_share <= 1, "collect.kept_share", self.kept_share, "must be 0 to 1")
        require_fields(self, "collect", "temperature", finite_positive, "must be finite and positive")
        trying, rule = self.trying_temperature, "must be None, or finite and positive"
        require(trying is None or finite_positive(trying), "collect.trying_temperature", trying, rule)

    @property
    def num_kept(self) -> int:
        """Games that go on from one collection to the next: the first ones."""
        return round(self.num_envs * self.kept_share)

    def temperatures(self, num_games: int) -> list[float]:
        """The temperature of each of a number of games side by side."""
        pair = (self.temperature, self.trying_temperature or self.temperature)
        return [pair[number % 2] for number in range(num_games)]


@dataclass(frozen=True)
class EvaluationConfig:
    """The evaluation protocol; scores are comparable only if all of it is equal."""

    episodes: int = 16
    """Whole games after each iteration, for the learning curve."""
    final_episodes: int = 100
    """Whole games at the end, for the score. T2T SimPLe: 64."""
    every: int = 1
    """Iterations between evaluations."""
    temperature: float = 0.5
    """Action probabilities are taken to the power 1 / temperature; 0 takes the most likely. T2T SimPLe: 0.5."""
    max_noops: int | None = None
    """As `env.max_noops`; None for the same value as in training. T2T SimPLe: 8, as in training."""
    time_limit: int | None = None
    """As `env.time_limit`; None for the same value as in training. T2T SimPLe: 1000 in training, 50,000 at the end."""
    num_envs: int = 32
    """Games played side by side, each exactly once."""

    def __post_init__(self) -> None:
        require_fields(self, "evaluation", "episodes final_episodes every num_envs", at_least_one, "must be at least 1")
        require(self.temperature >= 0, "evaluation.temperature", self.temperature, "must not be negative")


@dataclass(frozen=True)
class MachineConfig:
    """Where and how the run is computed; not part of its identity."""

    device: str = "cpu"
    """A torch device: `cpu`, `cuda`, `cuda:1`."""
    threads: int = 0
    """Threads of one operation; 0 leaves it to torch. Bit-exact resume needs the same number again. While they wait
    they soon sleep, unless OMP_WAIT_POLICY says otherwise (`evade.runtime.process`)."""
    compile: Literal["auto", "on", "off"] = "auto"
    """`on`: dream steps run as code that torch.compile makes, which needs a C++ compiler; `off`: they do not; `auto`:
    on for runs long enough to win back the compiling, if a compiler is there. Bit-exact resume needs the same again."""
    save_seconds: float = 60.0
    """Longest time between two checkpoints inside a long phase; one is also written after every phase."""

    def __post_init__(self) -> None:
        rule = f"must be 0 to {MAX_THREADS}"
        require(0 <= self.threads <= MAX_THREADS, "machine.threads", self.threads, rule)
        require_choice("machine.compile", self.compile, ("auto", "on", "off"))
        require_fields(self, "machine", "save_seconds", finite_positive, "must be finite and positive")


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run is. `machine` and a longer `schedule.iterations` may change on resuming."""

    preset: str
    """The preset it started from."""
    variant: str
    """The variant it started from."""
    game: str = "minatar/breakout"
    """The game's name, e.g. `minatar/breakout`, `atari/pong`, or any Gymnasium id."""
    seed: int = 0
    """The root of every random number of the run."""
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    """How much of everything, in each iteration."""
    env: EnvConfig = field(default_factory=EnvConfig)
    """How the game is played."""
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    """Which real transitions the world model is fitted to."""
    world_model: WorldModelConfig = field(default_factory=DeterministicConfig)
    """The world model: which kind, and its network, reward path and fitting."""
    policy: PolicyConfig = field(default_factory=ActorCriticConfig)
    """The policy: which kind, and its network."""
    learner: LearnerConfig = field(default_factory=PPOConfig)
    """What improves the policy."""
    collect: CollectConfig = field(default_factory=CollectConfig)
    """Acting in the real game."""
    dream: DreamConfig = field(default_factory=DreamConfig)
    """Rollouts inside the world model."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    """The evaluation protocol."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    """Where and how it is computed."""

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**31, "seed", self.seed, "must be a whole number from 0 to 2147483647")
        self.policy.check_frames(self.env.num_frames)
        num_slices = self.collect.num_envs * self.collect.num_slices
        for name in ("first_real_steps", "real_steps"):
            steps = getattr(self.schedule, name)
            rule = f"must be a multiple of collect.num_envs x collect.num_slices = {num_slices}"
            require(steps % num_slices == 0, f"schedule.{name}", steps, rule)
        self.learner.check_rollout("dream.horizon", self.dream.horizon)
        self.learner.check_rollout("schedule.real_steps", self.schedule.real_steps // num_slices)
