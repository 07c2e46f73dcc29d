"""Any Gymnasium environment with pictures or small channel grids and discrete actions."""

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import StickyAction
from numpy.typing import NDArray

from evade.checks import require
from evade.envs.games import Game
from evade.envs.preprocess import Env, Frame, area_resize, reduce_greys
from evade.envs.settings import EnvConfig
from evade.errors import UnsupportedGame

MAX_CHANNELS = 64
"""More channels than this are taken for a mistake in the order of axes."""


def build_pixels(game: Game, config: EnvConfig) -> Env:
    """The environment as it was registered; `UnsupportedGame` if the networks could not learn it."""
    # The checker would examine every step; what matters to us is examined in `FrameObservation`.
    env = gymnasium.make(game.id, disable_env_checker=True)
    name = game.name
    actions = env.action_space
    if not isinstance(actions, spaces.Discrete) or actions.start != 0:
        raise UnsupportedGame(
            f"the actions of {name} are {actions}: they must be Discrete(n), counted from 0. "
            "Wrap the environment with gymnasium.wrappers.TransformAction."
        )
    find_levels(env.observation_space, name)
    if config.sticky_probability > 0:
        env = StickyAction(env, config.sticky_probability)
    return cast(Env, env)


def find_levels(space: gymnasium.Space[Any], name: str) -> int:
    """How many values a cell of the observations can take; `UnsupportedGame` if they are no pictures.

    Pictures are uint8 from 0 to 255 and give 256. A grid has whole numbers, or truth values, from 0 to at
    most 255.
    """
    advice = "Wrap the environment so that it gives a uint8 picture [H, W, 3] or [H, W], or a grid [C, H, W]."
    if isinstance(space, spaces.MultiBinary):
        highest = 1
    elif isinstance(space, spaces.Box) and (space.dtype == bool or np.issubdtype(space.dtype, np.integer)):
        lowest, highest = int(space.low.min()), int(space.high.max())
        if lowest < 0 or not 1 <= highest <= 255:
            raise UnsupportedGame(
                f"the observations of {name} go from {lowest} to {highest}: a cell must hold whole numbers "
                f"from 0 to at most 255. {advice}"
            )
    else:
        raise UnsupportedGame(f"the observations of {name} are {space}: they must be a Box of whole numbers. {advice}")
    shape = space.shape
    if len(shape) not in (2, 3) or min(shape) < 1 or (len(shape) == 3 and min(shape[0], shape[2]) > MAX_CHANNELS):
        raise UnsupportedGame(
            f"the observations of {name} have the shape {shape}: this is neither [H, W] nor [H, W, C] nor "
            f"[C, H, W] with at most {MAX_CHANNELS} channels. {advice}"
        )
    return highest + 1


class FrameObservation(gymnasium.ObservationWrapper[Frame, int, NDArray[Any]]):
    """Turn pictures and grids into frames: uint8 `[C, H, W]`.

    Pictures are reduced by `area_resize` if a size is given, then by `reduce_greys` if a number of greys is.
    `[H, W]` becomes one channel. Of three axes the last is the channels, unless the first is smaller than it.
    """

    def __init__(self, env: Env, name: str, frame_size: tuple[int, int] | None, grey_levels: int | None) -> None:
        super().__init__(env)
        self._levels = find_levels(env.observation_space, name)
        self._name, self._frame_size, self._grey_levels = name, frame_size, grey_levels
        shape = env.observation_space.shape
        assert shape is not None
        self._shape = shape
        self._channels_first = len(shape) == 3 and shape[0] < shape[2]
        rule = f"{name} shows a grid of {self._levels} values, not a picture; it cannot be reduced"
        for field, value in (("frame_size", frame_size), ("grey_levels", grey_levels)):
            require(value is None or self._levels == 256, f"env.{field}", value, rule)
        example = self.observation(np.zeros(shape, np.uint8))
        self.observation_space = spaces.Box(0, (grey_levels or self._levels) - 1, example.shape, np.uint8)

    def observation(self, observation: NDArray[Any]) -> Frame:
        """One frame; `UnsupportedGame` if it breaks the promise of the environment's observation space."""
        picture = np.asarray(observation)
        if picture.shape != self._shape:
            raise UnsupportedGame(
                f"{self._name} promised observations of the shape {self._shape} and gave {picture.shape}: "
                "correct its observation_space."
            )
        if self._levels < 256 and (picture.max() >= self._levels or picture.min() < 0):
            raise UnsupportedGame(
                f"{self._name} promised cells from 0 to {self._levels - 1} and gave {picture.min()} to "
                f"{picture.max()}: correct its observation_space."
            )
        if picture.ndim == 2:
            picture = picture[:, :, None]
        elif self._channels_first:
            picture = picture.transpose(1, 2, 0)
        picture = picture.astype(np.uint8, copy=False)
        if self._frame_size is not None:
            picture = area_resize(picture, *self._frame_size)
        if self._grey_levels is not None:
            picture = reduce_greys(picture, self._grey_levels)
        return picture.transpose(2, 0, 1)
