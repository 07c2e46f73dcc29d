"""Videos of a trained run: a game, and a dream beside the game."""

from collections.abc import Iterator

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
from evade.training.run import Run
from evade.training.state import TrainState
from evade.viewing.panels import captioned, compare_strip, panel_factor, reward_caption, upscale

Picture = NDArray[np.uint8]

MAX_GAME_STEPS = 1000
MAX_DREAM_STEPS = 100


@torch.no_grad()
def film_game(run: Run, state: TrainState) -> Iterator[Picture]:
    """One game of the final policy, as in evaluation."""
    env = _begin(run, "film of a game")
    observation, score = env.reset(), 0.0
    for step_number in range(MAX_GAME_STEPS):
        picture = _render_last(run, observation)
        yield captioned(upscale(picture, panel_factor(len(picture))), [f"step {step_number}, score {score:g}"])
        observation = env.step(_choose(run, state, observation)).observation
        assert env.last_step is not None
        score += env.last_step.raw_reward[0]
        if env.episodes:
            break
    env.close()


@torch.no_grad()
def film_dream(run: Run, state: TrainState) -> Iterator[Picture]:
    """The mean world model beside the game: both start from the same frames and are given the same actions.

    Ends where the game or the dream does.
    """
    env = _begin(run, "film of a dream")
    observation = env.reset()
    start = observation
    dream = DreamEnv(state.world_model.eval(), 1, lambda count: start.repeat(count, 1, 1, 1, 1))
    dream.reset()
    picture = _render_last(run, start)
    yield compare_strip(picture, picture, ["both start here"], is_dreaming=False)
    with use_mean(state.world_model):
        for step_number in range(1, MAX_DREAM_STEPS + 1):
            action = _choose(run, state, observation)
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


def _begin(run: Run, purpose: str) -> RealEnv:
    seed = derive_seed(run.config.seed, purpose, 0) % 2**31
    return RealEnv(make_env(run.config.game, 1, seed, run.config.env), run.device)


def _choose(run: Run, state: TrainState, observation: Tensor) -> Tensor:
    return act(state.policy, observation, run.config.evaluation.temperature, state.generators.device).action


def _render_last(run: Run, observation: Tensor) -> Picture:
    return render_frame(observation[0, -1].cpu().numpy(), run.game.levels)
