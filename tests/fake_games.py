"""Games with known frames, rewards and ends."""

import gymnasium
import numpy as np
from gymnasium import spaces


class TapeGame(gymnasium.Env):
    """Plays back frames and rewards, one per step, independent of the action; ends at the given steps."""

    def __init__(self, frames, rewards, ends_at=()):
        self.observation_space = spaces.Box(0, 255, frames[0].shape, np.uint8)
        self.action_space = spaces.Discrete(2)
        self.frames, self.rewards, self.ends_at = frames, rewards, ends_at
        self.position = 0
        self.actions = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros_like(self.frames[0]), {}

    def step(self, action):
        now = self.position
        self.position += 1
        self.actions.append(action)
        return self.frames[now], self.rewards[now], now in self.ends_at, False, {}


class CountingGame(gymnasium.Env):
    """Every cell shows 10 * (number of the episode) + (steps since its reset); `length` steps per episode."""

    def __init__(self, length=3, shape=(1, 2, 2), rewards=(7.0,), cut=False, num_actions=2):
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.action_space = spaces.Discrete(num_actions)
        self.length, self.rewards, self.cut = length, rewards, cut
        self.episode, self.steps = 0, 0
        self.seeds, self.actions = [], []
        self.is_closed = False

    def _frame(self):
        return np.full(self.observation_space.shape, (10 * self.episode + self.steps) % 256, np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.episode, self.steps = self.episode + 1, 0
        return self._frame(), {}

    def step(self, action):
        reward = self.rewards[self.steps % len(self.rewards)]
        self.actions.append(action)
        self.steps += 1
        ended = self.steps >= self.length
        return self._frame(), reward, ended and not self.cut, ended and self.cut, {}

    def close(self):
        self.is_closed = True


class PlainGame(gymnasium.Env):
    """Always returns the same given observation."""

    def __init__(self, space, observation=None, actions=None):
        self.observation_space = space
        self.action_space = spaces.Discrete(3) if actions is None else actions
        self.observation = space.sample() if observation is None else observation

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation, {}

    def step(self, action):
        return self.observation, 0.4, False, False, {}
