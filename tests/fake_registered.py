"""A user's own environment, registered when this module is imported: catch the falling dot."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Catch(gymnasium.Env):
    def __init__(self):
        self.observation_space = spaces.Box(0, 1, (2, 6, 6), np.uint8)
        self.action_space = spaces.Discrete(3)

    def _grid(self):
        grid = np.zeros((2, 6, 6), np.uint8)
        grid[0, self.row, self.column] = 1
        grid[1, 5, self.paddle] = 1
        return grid

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.row, self.column, self.paddle = 0, int(self.np_random.integers(6)), 3
        return self._grid(), {}

    def step(self, action):
        self.paddle = min(max(self.paddle + int(action) - 1, 0), 5)
        self.row += 1
        ended = self.row == 5
        return self._grid(), float(ended and self.paddle == self.column), ended, False, {}


gymnasium.register("EvadeCatch-v0", entry_point=Catch)
