"""Small parts with known answers: world models of games, and a policy that plays given actions."""

import copy

import torch
from torch import nn

from evade.records import PolicyOutput, Prediction, Segments


class PerfectModel(nn.Module):
    """A world model that is the game: it plays copies of real games, one for each environment of the batch."""

    def __init__(self, games):
        super().__init__()
        self.games = games
        self.predictions = 0

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()

    def predict(self, observation, action, memory=(), noise=()):
        self.predictions += 1
        frames, rewards, ends = [], [], []
        for game, chosen in zip(self.games, action.tolist(), strict=True):
            frame, reward, terminated, _, _ = game.step(chosen)
            frames.append(torch.from_numpy(frame))
            rewards.append(reward)
            ends.append(terminated)
        return Prediction(torch.stack(frames), torch.tensor(rewards), torch.tensor(ends))

    def expected_reward(self, observation, action, memory=(), noise=()):
        return PerfectModel(copy.deepcopy(self.games)).predict(observation, action).reward

    def feature_maps(self, observation, action):
        return {}

    def observe_dreamt(self, batch):
        pass

    def observe(self, batch):
        pass

    def use_statistics(self, statistics):
        pass


class CountingModel:
    """The game's only cell counts up by the action and pays what it shows; the game ends at 6.

    From `wrong_from` on the model shows one more than the game would.
    """

    def __init__(self, wrong_from=100):
        self.wrong_from = wrong_from

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()

    def predict(self, observation, action, memory, noise):
        frame = observation[:, -1] + action[:, None, None, None].to(torch.uint8)
        value = frame.flatten(1)[:, 0]
        shown = torch.where(value >= self.wrong_from, value + 1, value)
        return Prediction(shown[:, None, None, None], value.float(), value == 6)


def counting_segments(actions, start):
    """What the counting game really does, from each start, under the same actions."""
    values = torch.tensor(start, dtype=torch.uint8) + torch.tensor(actions).cumsum(0).unsqueeze(1).to(torch.uint8)
    ended = (values >= 6).long().cumsum(0)
    happened = ended <= 1
    return Segments(
        observation=torch.tensor(start, dtype=torch.uint8).view(-1, 1, 1, 1, 1),
        action=torch.tensor(actions).unsqueeze(1).expand(-1, len(start)),
        frame=values[..., None, None, None],
        reward=values * happened.float(),
        terminated=ended == 1,
        happened=happened,
    )


class ScriptedPolicy(nn.Module):
    """Plays given actions one after the other; the value of an observation depends on each cell of its last frame.

    Rollouts keep all frames of an observation, unless `num_frames` says fewer.
    """

    def __init__(self, actions, num_actions, num_frames=100):
        super().__init__()
        self.actions, self.num_actions, self.num_frames = iter(actions), num_actions, num_frames

    def forward(self, observation):
        cells = observation[:, -1].flatten(1).float()
        value = (cells * torch.arange(1, cells.shape[1] + 1)).sum(1)
        logits = torch.full((len(observation), self.num_actions), -1e9)
        logits[:, next(self.actions, 0)] = 0.0
        return PolicyOutput(logits, value)


def twin(game):
    """An independent copy of a MinAtar game in its present state."""
    return copy.deepcopy(game)
