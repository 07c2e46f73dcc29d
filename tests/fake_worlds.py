"""Small worlds with known answers: a game as a world model, and policies that do as they are told."""

import copy

import torch

from evade.policies import PolicyOutput
from evade.records import Prediction


class PerfectModel:
    """A world model that is the game: it plays copies of real games, one for each environment of the batch."""

    def __init__(self, games):
        self.games = games
        self.predictions = 0

    def predict(self, observation, action):
        self.predictions += 1
        frames, rewards, ends = [], [], []
        for game, chosen in zip(self.games, action.tolist(), strict=True):
            frame, reward, terminated, _, _ = game.step(chosen)
            frames.append(torch.from_numpy(frame))
            rewards.append(reward)
            ends.append(terminated)
        return Prediction(torch.stack(frames), torch.tensor(rewards), torch.tensor(ends))


class ScriptedPolicy:
    """Plays given actions one after the other; values an observation by where things lie in its last frame."""

    def __init__(self, actions, num_actions):
        self.actions, self.num_actions = iter(actions), num_actions

    def __call__(self, observation):
        cells = observation[:, -1].flatten(1).float()
        value = (cells * torch.arange(1, cells.shape[1] + 1)).sum(1)
        logits = torch.full((len(observation), self.num_actions), -1e9)
        logits[:, next(self.actions, 0)] = 0.0
        return PolicyOutput(logits, value)


def twin(game):
    """An independent copy of a MinAtar game in its present state."""
    return copy.deepcopy(game)
