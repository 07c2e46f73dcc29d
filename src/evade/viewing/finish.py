"""The end of a run: its score against random play and the paper, its pictures, and where to look."""

from dataclasses import dataclass
from pathlib import Path

from evade.envs.games import resolve
from evade.errors import RunError
from evade.evidence.published.paper import METHODS, game_runs, read_human_random
from evade.evidence.results import read_run
from evade.policies.acting import RandomPolicy
from evade.seeding import derive_seed
from evade.training.evaluation import evaluate
from evade.training.run import Run
from evade.training.state import TrainState
from evade.viewing.films import make_media

PAPER_METHODS = {
    "simple": "simple30",
    "evade": "evade",
    "interaction": "evade-interaction",
    "weighting": "evade-weighting",
    "translation": "evade-translation",
}
"""Our variants as the paper's tables call them."""

RANDOM_EPISODES = 100


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    score: float
    """Mean of the final evaluation's episodes."""
    standard_error: float
    episodes: int
    random: float
    """Random play: the paper's number for its Atari games, measured by the same protocol elsewhere."""
    paper: tuple[str, float] | None
    """The paper's method of the same kind and its mean score, where there is one."""
    pictures: tuple[Path, ...]

    def sentence(self) -> str:
        """One line for people."""
        own = f"score {self.score:.2f} ± {self.standard_error:.2f} over {self.episodes} games"
        paper = "" if self.paper is None else f"; {self.paper[0]} in the paper {self.paper[1]:.1f}"
        return f"{own}; random play {self.random:.2f}{paper}"


def finish(run: Run, state: TrainState) -> Outcome:
    """Compare, draw, film, and write down that the run is done."""
    scores = read_run(run.folder.path).final_scores
    if not scores:
        raise RunError(
            f"the final scores of {run.folder.path} are gone, although its games were played: something removed or "
            f"changed its scores.jsonl meanwhile. `evade evaluate {run.folder.path}` plays new games."
        )
    mean = sum(scores) / len(scores)
    spread = sum((score - mean) ** 2 for score in scores) / max(len(scores) - 1, 1)
    random, paper = random_score(run), paper_score(run)
    pictures = make_media(run, state, random, paper)
    outcome = Outcome(mean, (spread / len(scores)) ** 0.5, len(scores), random, paper, tuple(pictures))
    run.finish({"mean": mean, "standard_error": outcome.standard_error, "episodes": len(scores), "random": random})
    return outcome


def random_score(run: Run) -> float:
    """What random play scores: known for the paper's games, measured elsewhere."""
    title = resolve(run.config.game).title
    known = {row.game.lower(): row.random for row in read_human_random()}
    if resolve(run.config.game).kind == "atari" and title.lower() in known:
        return known[title.lower()]
    played = evaluate(
        RandomPolicy(run.game.num_actions),
        run.config.game,
        run.config.env,
        run.config.evaluation,
        num_frames=run.config.world_model.num_frames,
        num_episodes=min(RANDOM_EPISODES, run.config.evaluation.final_episodes),
        seed=derive_seed(run.config.seed, "random play", 0) % 2**31,
        device=run.device,
    )
    return sum(score.score for score in played) / len(played)


def paper_score(run: Run) -> tuple[str, float] | None:
    """The paper's mean score of the same variant on the same game, if it has one."""
    game = resolve(run.config.game)
    if game.kind != "atari":
        return None
    method = PAPER_METHODS[run.config.variant]
    runs = {name.lower(): scores for name, scores in game_runs(method).items()}.get(game.title.lower())
    return None if runs is None else (METHODS[method], sum(runs) / len(runs))
