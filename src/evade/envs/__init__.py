"""Games: Atari, MinAtar and any Gymnasium environment with pictures, stepped in batches. No torch here.

`make_env("minatar/breakout", num_envs=16, seed=1)` gives a `VectorEnv`, and
`spec("minatar/breakout")` what the networks must know of the game.
"""

from evade.envs.make import make_env, spec
from evade.envs.vector import Episode, Step, VectorEnv

__all__ = ["Episode", "Step", "VectorEnv", "make_env", "spec"]
