"""The end of a run: its score beside random play and the paper, its figures and videos, and where to look."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from evade.config import RunConfig
from evade.envs.games import resolve
from evade.errors import RunError
from evade.evidence.figures.learning_curve import plot_learning_curve
from evade.evidence.published.paper import METHODS, game_scores, read_human_random
from evade.evidence.results import RunResult, read_run
from evade.evidence.stats import Estimate, estimate
from evade.policies.acting import RandomPolicy
from evade.seeding import derive_seed
from evade.training.evaluation import evaluate
from evade.training.run import Run
from evade.training.state import TrainState
from evade.viewing.films import film_dream, film_game
from evade.viewing.videos import write_video
from evade.vocabulary.variants import VARIANTS
from evade.world_models.settings import StochasticDiscreteConfig

RANDOM_EPISODES = 100
FRAMES_PER_SECOND = 10


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    score: Estimate
    """Mean and standard error of the final evaluation's episodes."""
    episodes: int
    random: float
    """Random play: the paper's number for its Atari games, measured by the same protocol elsewhere."""
    paper: tuple[str, float] | None
    """The paper's method of the same kind and its mean score, where there is one."""
    media: tuple[Path, ...]
    """The figures and videos that were written."""

    def sentence(self) -> str:
        """One line for people."""
        own = f"score {self.score.show(2)} over {self.episodes} games"
        paper = "" if self.paper is None else f"; {self.paper[0]} in the paper {self.paper[1]:.1f}"
        return f"{own}; random play {self.random:.2f}{paper}"


def finish(run: Run, state: TrainState) -> Outcome:
    """Compare, render figures and videos, and write down that the run is done."""
    result = read_run(run.folder.path)
    scores = result.final_scores
    if not scores:
        raise RunError(
            f"The final scores of {run.folder.path} are missing, although its games were played: something removed or "
            f"changed its scores.jsonl meanwhile. `evade evaluate {run.folder.path}` plays new games."
        )
    score, random, paper = estimate(scores), random_score(run), paper_score(run.config)
    media = write_media(run, state, result, random, paper)
    # A single episode has no standard error, which JSON says with 0.
    error = score.standard_error if len(scores) > 1 else 0.0
    run.session.finish({"mean": score.mean, "standard_error": error, "episodes": len(scores), "random": random})
    return Outcome(score, len(scores), random, paper, tuple(media))


def write_media(
    run: Run, state: TrainState, result: RunResult, random: float, reference: tuple[str, float] | None
) -> list[Path]:
    """Write all figures and videos of a run and return their paths."""
    media = run.folder.media
    paths = [media / "learning_curve.png", media / "game.mp4", media / "dream.mp4"]
    evaluations: dict[int, list[float]] = defaultdict(list)
    for row in result.episodes:
        if row.purpose == "evaluate":
            evaluations[row.real_steps].append(row.score)
    if evaluations:
        plot_learning_curve(
            paths[0],
            list(evaluations),
            list(evaluations.values()),
            title=f"{run.config.game}, {run.config.variant}, seed {run.config.seed}",
            random_score=random,
            reference=reference,
            variant=run.config.variant,
        )
    write_video(paths[1], film_game(run, state), FRAMES_PER_SECOND)
    write_video(paths[2], film_dream(run, state), FRAMES_PER_SECOND)
    return paths


def random_score(run: Run) -> float:
    """The score of random play: published for the paper's games, measured elsewhere."""
    game = resolve(run.config.game)
    known = {row.game.lower(): row.random for row in read_human_random()}
    if game.kind == "atari" and game.title.lower() in known:
        return known[game.title.lower()]
    played = evaluate(
        RandomPolicy(run.game.num_actions),
        run.config.game,
        run.config.env,
        run.config.evaluation,
        num_episodes=min(RANDOM_EPISODES, run.config.evaluation.final_episodes),
        seed=derive_seed(run.config.seed, "random play", 0) % 2**31,
        device=run.device,
    )
    return estimate([score.score for score in played]).mean


def paper_score(config: RunConfig) -> tuple[str, float] | None:
    """The paper's mean score of the same agent on the same game; None if it has none."""
    game, method = resolve(config.game), _paper_method(config)
    if game.kind != "atari" or method is None:
        return None
    scores = {name.lower(): scores for name, scores in game_scores(method).items()}.get(game.title.lower())
    return None if scores is None else (METHODS[method], sum(scores) / len(scores))


def _paper_method(config: RunConfig) -> str | None:
    if isinstance(config.world_model, StochasticDiscreteConfig):
        return "simple15" if config.variant == "simple" else None
    return VARIANTS[config.variant].paper_method if config.variant in VARIANTS else None
