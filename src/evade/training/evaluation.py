"""The evaluation protocol: whole games, played once each, scored by their raw rewards."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch

from evade.config import EvaluationConfig
from evade.envs import make_env
from evade.envs.settings import EnvConfig
from evade.envs.tensors import RealEnv
from evade.interfaces import Policy
from evade.policies.acting import act


class EpisodeScore(NamedTuple):
    """One whole game."""

    episode: int
    """Counted from 0."""
    score: float
    """Sum of the raw rewards."""
    length: int
    """Steps of the agent."""


@torch.no_grad()
def evaluate(
    policy: Policy,
    game: str,
    env: EnvConfig,
    config: EvaluationConfig,
    *,
    num_episodes: int,
    seed: int,
    device: torch.device,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[EpisodeScore]:
    """Play `num_episodes` games, each to its end, and return all scores in order.

    Games are played side by side in batches; each game of a batch is played exactly once, so that short games do not
    count more often than long ones. Nothing outside is changed: all randomness comes from `seed`.

    Args:
        policy: acts at `config.temperature`.
        game: the game's name.
        env: how it is played in training; the protocol's own no-ops and time limit replace those given there.
        config: the protocol.
        num_episodes: how many games.
        seed: of games and actions.
        device: where the policy is.
        on_progress: called with the number of games finished.
    """
    chosen = {name: getattr(config, name) for name in ("max_noops", "time_limit")}
    env = replace(env, **{name: value for name, value in chosen.items() if value is not None})
    generator = torch.Generator(device).manual_seed(seed)
    scores: list[EpisodeScore] = []
    while len(scores) < num_episodes:
        size = min(config.num_envs, num_episodes - len(scores))
        games = RealEnv(make_env(game, size, (seed + len(scores)) % 2**31, env), device)
        finished: dict[int, EpisodeScore] = {}
        observation = games.reset()
        while len(finished) < size:
            num_ended = len(games.episodes)
            observation = games.step(act(policy, observation, config.temperature, generator).action).observation
            for episode in games.episodes[num_ended:]:
                number = len(scores) + episode.env
                finished.setdefault(episode.env, EpisodeScore(number, episode.raw_return, episode.length))
            if len(games.episodes) > num_ended:
                on_progress(len(scores) + len(finished))
        games.close()
        scores += [finished[index] for index in range(size)]
    return scores
