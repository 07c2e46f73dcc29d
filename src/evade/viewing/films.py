"""What a finished run leaves to look at: a learning curve, a game, and a dream beside the game."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from evade.envs import VectorEnv, make_env
from evade.envs.pictures import draw_frame
from evade.evidence.figures.learning_curve import plot_learning_curve
from evade.evidence.results import read_run
from evade.layers import use_mean
from evade.policies.acting import choose_action
from evade.seeding import derive_seed
from evade.training.run import Run
from evade.training.state import TrainState
from evade.viewing.panels import captioned, compare_strip, panel_factor, reward_caption, upscale
from evade.viewing.videos import write_video

Picture = NDArray[np.uint8]

MAX_GAME_STEPS = 1000
MAX_DREAM_STEPS = 100
FRAMES_PER_SECOND = 10


def make_media(run: Run, state: TrainState, random_score: float, reference: tuple[str, float] | None) -> list[Path]:
    """Write all pictures and videos of a run and return their paths."""
    media = run.folder.media
    paths = [media / "learning_curve.png", media / "game.mp4", media / "dream.mp4"]
    steps, returns = read_curve(run.folder.path)
    title = f"{run.config.game}, {run.config.variant}, seed {run.config.seed}"
    if steps:
        plot_learning_curve(
            paths[0],
            steps,
            returns,
            title=title,
            random_score=random_score,
            reference=reference,
            variant=run.config.variant,
        )
    write_video(paths[1], film_game(run, state), FRAMES_PER_SECOND)
    write_video(paths[2], film_dream(run, state), FRAMES_PER_SECOND)
    return paths


def read_curve(folder: Path) -> tuple[list[int], list[list[float]]]:
    """Real steps and all episode scores of each evaluation of a run."""
    curve: dict[int, list[float]] = defaultdict(list)
    for row in read_run(folder).episodes:
        if row.purpose == "evaluate":
            curve[row.real_steps].append(row.score)
    return list(curve), list(curve.values())


@torch.no_grad()
def film_game(run: Run, state: TrainState) -> Iterator[Picture]:
    """One game of the final policy, as in evaluation."""
    games, observation = _begin(run, "film of a game")
    score, levels = 0.0, run.game.levels
    for step_number in range(MAX_GAME_STEPS):
        picture = draw_frame(observation[0, -1], levels)
        yield captioned(upscale(picture, panel_factor(len(picture))), [f"step {step_number}, score {score:g}"])
        step = games.step(_act(run, state, observation).cpu().numpy())
        score += step.raw_reward[0]
        if step.episodes:
            break
        observation = step.observation
    games.close()


@torch.no_grad()
def film_dream(run: Run, state: TrainState) -> Iterator[Picture]:
    """The mean world model beside the game: both start from the same frames and are given the same actions."""
    model, levels = state.world_model.eval(), run.game.levels
    games, observation = _begin(run, "film of a dream")
    dreamt = torch.from_numpy(observation).to(run.device)
    start = draw_frame(observation[0, -1], levels)
    yield compare_strip(start, start, ["both start here"], is_dreaming=False)
    with use_mean(model):
        for step_number in range(1, MAX_DREAM_STEPS + 1):
            action = _act(run, state, observation)
            step = games.step(action.cpu().numpy())
            prediction = model.predict(dreamt, action)
            dreamt = torch.cat([dreamt[:, 1:], prediction.frame.unsqueeze(1)], dim=1)
            told = reward_caption(prediction.reward.item(), float(step.reward[0]))
            yield compare_strip(
                draw_frame(step.final_observation[0, -1], levels),
                draw_frame(dreamt[0, -1].cpu().numpy(), levels),
                [f"step {step_number}, {told}"],
                is_dreaming=True,
            )
            if step.episodes:
                break
            observation = step.observation
    games.close()


def _begin(run: Run, purpose: str) -> tuple[VectorEnv, Picture]:
    seed = derive_seed(run.config.seed, purpose, 0) % 2**31
    games = make_env(run.config.game, 1, seed, run.config.env, run.config.world_model.num_frames)
    return games, games.reset()


def _act(run: Run, state: TrainState, observation: Picture) -> torch.Tensor:
    logits = state.policy(torch.from_numpy(observation).to(run.device)).logits
    return choose_action(logits, run.config.evaluation.temperature, state.generator)
