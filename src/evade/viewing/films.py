"""Videos of a trained run: a game, a dream beside the game, and dreams of several draws beside each other."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.envs import make_env
from evade.envs.pictures import render_frame
from evade.envs.tensors import RealEnv
from evade.layers import use_mean
from evade.policies.acting import act
from evade.seeding import derive_seed
from evade.training.load import DrawChoice, LoadedRun
from evade.viewing.panels import captioned, compare_strip, draws_strip, panel_factor, reward_caption, upscale
from evade.viewing.videos import write_gif

Picture = NDArray[np.uint8]

FRAMES_PER_SECOND = 10
DRAWS_PER_SECOND = 4
"""Frames a second of a film of draws, whose numbers are to be read."""
MAX_GAME_STEPS = 1000
MAX_DREAM_STEPS = 100
FILMED_DRAWS: tuple[DrawChoice, ...] = (0, 1, 2)
"""Numbers of the draws whose dreams are filmed beside each other."""


def write_gifs(run: LoadedRun, start: NDArray[np.uint8], folder: Path) -> list[Path]:
    """Write the dream beside the game, and dreams of draws from a start `[K, C, H, W]`, as GIFs; return their paths."""
    paths = [folder / "dream.gif", folder / "draws.gif"]
    write_gif(paths[0], film_dream(run), FRAMES_PER_SECOND)
    write_gif(paths[1], film_draws(run, start), DRAWS_PER_SECOND)
    return paths


@torch.no_grad()
def film_game(run: LoadedRun) -> Iterator[Picture]:
    """One game of the final policy, as in evaluation."""
    env = _begin(run, "film of a game")
    observation, score = env.reset(), 0.0
    for step_number in range(MAX_GAME_STEPS):
        picture = _render_last(run, observation)
        yield captioned(upscale(picture, panel_factor(len(picture))), [f"step {step_number}, score {score:g}"])
        observation = env.step(_choose(run, observation)).observation
        assert env.last_step is not None
        score += env.last_step.raw_reward[0]
        if env.episodes:
            break
    env.close()


@torch.no_grad()
def film_dream(run: LoadedRun) -> Iterator[Picture]:
    """The mean world model beside the game: both start from the same frames and are given the same actions.

    Ends where the game or the dream does.
    """
    env = _begin(run, "film of a dream")
    observation = env.reset()
    start = observation
    dream = DreamEnv(run.world_model.eval(), 1, lambda count: start.repeat(count, 1, 1, 1, 1))
    dream.reset()
    picture = _render_last(run, start)
    yield compare_strip(picture, picture, ["both start here"], is_dreaming=False)
    with use_mean(run.world_model):
        for step_number in range(1, MAX_DREAM_STEPS + 1):
            action = _choose(run, observation)
            observation, dreamt = env.step(action).observation, dream.step(action)
            assert env.last_step is not None
            caption = reward_caption(dreamt.reward.item(), float(env.last_step.reward[0]))
            is_over = bool(dreamt.terminated.item())
            # A dream that has ended shows its next start already: its last frame stays on screen instead.
            picture = picture if is_over else _render_last(run, dreamt.observation)
            yield compare_strip(
                render_frame(env.last_step.final_observation[0, -1], run.game.levels),
                picture,
                [f"step {step_number}, {caption}" + (", the dream has ended" if is_over else "")],
                is_dreaming=True,
            )
            if env.episodes or is_over:
                break
    env.close()


@torch.no_grad()
def film_draws(run: LoadedRun, start: NDArray[np.uint8]) -> Iterator[Picture]:
    """Dreams under several draws, from the same start with the same actions: those of the agent in the mean dream.

    Event layers act on rewards only, so with the package's world models the frames agree and the rewards differ. The
    film is as long as the run's own dreams; it stops where one of its dreams ends.

    Args:
        run: with draws.
        start: uint8 `[K, C, H, W]`.
    """
    dreams = [run.dream(start, choice) for choice in ("mean", *FILMED_DRAWS)]
    observations = [dream.reset(seed=0)[0] for dream in dreams]
    shown, rewards, is_over = [observations], [[0.0] * len(dreams)], False
    while not is_over:
        action = int(_choose(run, torch.from_numpy(observations[0]).unsqueeze(0).to(run.device)))
        steps = [dream.step(action) for dream in dreams]
        observations = [step[0] for step in steps]
        shown.append(observations)
        rewards.append([step[1] for step in steps])
        is_over = any(step[2] or step[3] for step in steps)
    names = [f"draw {number}" for number in FILMED_DRAWS]
    mean, *others = np.array(rewards).T
    for step_number, frames in enumerate(shown):
        pictures = [render_frame(frame[-1], run.game.levels) for frame in frames[1:]]
        yield draws_strip(pictures, names, np.stack(others, 1), mean, step_number)


def _begin(run: LoadedRun, purpose: str) -> RealEnv:
    seed = derive_seed(run.config.seed, purpose, 0) % 2**31
    return RealEnv(make_env(run.config.game, 1, seed, run.config.env), run.device)


def _choose(run: LoadedRun, observation: Tensor) -> Tensor:
    return act(run.policy, observation, run.config.evaluation.temperature, run.generator).action


def _render_last(run: LoadedRun, observation: Tensor) -> Picture:
    return render_frame(observation[0, -1].cpu().numpy(), run.game.levels)
