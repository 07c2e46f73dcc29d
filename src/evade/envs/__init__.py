"""Games: Atari, MinAtar, MiniGrid, DeepSea and any Gymnasium environment with images or grids. No torch here.

`make_env("minatar/breakout", num_envs=16, seed=1)` returns a `VectorEnv` of 16 games that step together;
`spec("minatar/breakout")` returns the game's `GameSpec`: frame shape, number of actions, reward range;
`names("minatar/breakout")` what people call its actions and channels.
"""

from evade.envs.make import make_env, names, spec
from evade.envs.vector import Episode, Step, VectorEnv

__all__ = ["Episode", "Step", "VectorEnv", "make_env", "names", "spec"]
