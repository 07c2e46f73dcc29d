"""The end of a run: its score beside random play and the paper, its figures and videos, and where to look."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evade.config import RunConfig, to_document
from evade.envs.games import resolve
from evade.errors import EvadeError
from evade.evidence.figures.learning_curve import plot_learning_curve
from evade.evidence.published.paper import METHODS, game_scores, read_human_random
from evade.evidence.results import RunResult, read_run
from evade.evidence.results.comparability import paper_method
from evade.evidence.results.inspection import write_inspection
from evade.evidence.stats import Estimate, estimate
from evade.policies.acting import RandomPolicy
from evade.seeding import derive_seed
from evade.training.evaluation import evaluate
from evade.training.load import LoadedRun
from evade.training.run import Run
from evade.training.state import TrainState
from evade.viewing.films import DRAWS_PER_SECOND, FRAMES_PER_SECOND, film_draws, film_dream, film_game
from evade.viewing.inspection import inspect_run
from evade.viewing.videos import write_video

RANDOM_EPISODES = 100

WHOLE_GAME = 4500
"""Steps: the 5 minutes (18,000 frames) for which random play was measured by Mnih et al. (2015). Scores of games that
are cut off earlier are not shown beside published ones."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    score: Estimate
    """Mean and standard error of the final evaluation's episodes."""
    episodes: int
    random: float
    """Random play: the paper's number for whole Atari games, measured by the run's own protocol elsewhere."""
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
    score, random = estimate(scores), random_score(run)
    paper = paper_score(run.config) if plays_whole_games(run.config) else None
    # A single episode has no standard error, which JSON says with 0.
    error = score.standard_error if len(scores) > 1 else 0.0
    # Before figures and videos, which a run can do without.
    run.session.finish({"mean": score.mean, "standard_error": error, "episodes": len(scores), "random": random})
    media = write_media(run, state, result, random, paper)
    return Outcome(score, len(scores), random, paper, tuple(media))


def write_media(
    run: Run, state: TrainState, result: RunResult, random: float, reference: tuple[str, float] | None
) -> list[Path]:
    """Write all figures and videos of a run and return the paths of those that could be written.

    A run with event layers also gets `inspection.json`.
    """
    media = run.folder.media
    trained = view_state(run, state)
    writers: dict[Path, Callable[[Path], None]] = {
        media / "learning_curve.png": lambda path: _plot_curve(run, path, result, random, reference),
        media / "game.mp4": lambda path: write_video(path, film_game(trained), FRAMES_PER_SECOND),
        media / "dream.mp4": lambda path: write_video(path, film_dream(trained), FRAMES_PER_SECOND),
    }
    if trained.has_draws:
        writers[media / "draws.mp4"] = lambda path: _inspect(trained, state, path)
    written = []
    for path, write in writers.items():
        try:
            write(path)
        except (EvadeError, OSError) as error:
            run.display.note(f"{path.name} is left out: {error}")
        else:
            written.append(path)
    return [path for path in written if path.exists()]


def _plot_curve(run: Run, path: Path, result: RunResult, random: float, reference: tuple[str, float] | None) -> None:
    evaluations: dict[int, list[float]] = defaultdict(list)
    for row in result.episodes:
        if row.purpose == "evaluate":
            evaluations[row.real_steps].append(row.score)
    final = result.final_episodes
    if evaluations:
        plot_learning_curve(
            path,
            list(evaluations),
            list(evaluations.values()),
            title=f"{run.config.game}, {run.config.variant}, seed {run.config.seed}",
            random_score=random,
            reference=reference,
            final=(final[0].real_steps, result.final_scores) if final else None,
            variant=run.config.variant,
        )


def _inspect(trained: LoadedRun, state: TrainState, path: Path) -> None:
    """Write what event layers and draws make of one frame, and the film of three draws from there."""
    inspection = inspect_run(trained, state.replay)
    write_inspection(trained.folder.inspection, inspection)
    write_video(path, film_draws(trained, state.replay.observation(inspection.frame)), DRAWS_PER_SECOND)


def plays_whole_games(config: RunConfig) -> bool:
    """Whether evaluation games are long enough to stand beside published Atari scores."""
    limits = (config.evaluation.time_limit, config.env.time_limit)
    limit = next((limit for limit in limits if limit is not None), None)
    return limit is None or limit >= WHOLE_GAME


def view_state(run: Run, state: TrainState) -> LoadedRun:
    """A run in memory as `evade.load` would load it, on its own device."""
    return LoadedRun(
        config=run.config,
        game=run.game,
        policy=state.policy.eval(),
        world_model=state.world_model.eval(),
        draw=state.draw.value,
        generator=state.generators.device,
        folder=run.folder,
        chunks=state.replay.saved_values(),
        device=run.device,
    )


def random_score(run: Run) -> float:
    """The score of random play: published for whole games of the paper, else measured by the run's own protocol."""
    game = resolve(run.config.game)
    known = {row.game.lower(): row.random for row in read_human_random()}
    if game.kind == "atari" and game.title.lower() in known and plays_whole_games(run.config):
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
    game, method = resolve(config.game), paper_method(to_document(config))
    if game.kind != "atari" or method is None:
        return None
    scores = {name.lower(): scores for name, scores in game_scores(method).items()}.get(game.title.lower())
    return None if scores is None else (METHODS[method], sum(scores) / len(scores))
