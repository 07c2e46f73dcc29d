"""Any registered Gymnasium environment with image or grid observations and discrete actions."""

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from evade.checks import require
from evade.envs.games import Game
from evade.envs.preprocess import Env, Frame, area_resize, make_sticky, reduce_greys
from evade.envs.settings import EnvConfig
from evade.errors import ExtraMissing, UnsupportedGame

MAX_CHANNELS = 64
"""With more channels than this, the order of axes is assumed to be wrong."""

IMAGE_LEVELS = 256
"""Values of a cell of an image."""


def build_pixels(game: Game, config: EnvConfig) -> Env:
    """Build an environment as registered; raise `UnsupportedGame` if its spaces are not supported."""
    # Gymnasium's checker would run at every step; `FrameObservation` checks what matters here.
    name = game.name
    try:
        env = gymnasium.make(game.id, disable_env_checker=True)
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        raise ExtraMissing(f"A package that {name} needs is not installed: {error}") from error
    except Exception as error:  # whatever the environment's own code raises
        raise UnsupportedGame(f"{name} cannot be made ({type(error).__name__}: {error}).") from error
    actions = env.action_space
    if not isinstance(actions, spaces.Discrete) or actions.start != 0:
        raise UnsupportedGame(
            f"Unsupported action space {actions} of {name}: must be Discrete(n), counted from 0. "
            "Wrap the environment with gymnasium.wrappers.TransformAction."
        )
    find_levels(env.observation_space, name)
    return make_sticky(cast(Env, env), config.sticky_probability)


def find_levels(space: gymnasium.Space[Any], name: str) -> int:
    """Number of values a cell of an observation can take; raise `UnsupportedGame` if the space is not supported.

    Images are uint8 from 0 to 255: 256 levels. Grids are integers or booleans from 0 to at most 255.
    """
    advice = "Wrap the environment so that it returns a uint8 image [H, W, 3] or [H, W], or a grid [C, H, W]."
    if isinstance(space, spaces.MultiBinary):
        highest = 1
    elif isinstance(space, spaces.Box) and (space.dtype == bool or np.issubdtype(space.dtype, np.integer)):
        lowest, highest = int(space.low.min()), int(space.high.max())
        if lowest < 0 or not 1 <= highest <= 255:
            raise UnsupportedGame(
                f"Unsupported observations of {name}, from {lowest} to {highest}: must be integers from 0 to at "
                f"most 255. {advice}"
            )
    else:
        raise UnsupportedGame(f"Unsupported observation space {space} of {name}: must be a Box of integers. {advice}")
    shape = space.shape
    if len(shape) not in (2, 3) or min(shape) < 1 or (len(shape) == 3 and min(shape[0], shape[2]) > MAX_CHANNELS):
        raise UnsupportedGame(
            f"Unsupported observation shape {shape} of {name}: must be [H, W], [H, W, C] or [C, H, W] with at most "
            f"{MAX_CHANNELS} channels. {advice}"
        )
    return highest + 1


class FrameObservation(gymnasium.ObservationWrapper[Frame, int, NDArray[Any]]):
    """Convert images and grids to frames: uint8 `[C, H, W]`.

    Images are resized by `area_resize` if `frame_size` is given, then converted by `reduce_greys` if `grey_levels` is.
    `[H, W]` becomes one channel. With three axes the last is the channel axis, unless the first is smaller. With
    `binary_channels` each value of a channel of a grid, from 1, becomes a binary channel, value by value.
    """

    def __init__(
        self,
        env: Env,
        name: str,
        frame_size: tuple[int, int] | None,
        grey_levels: int | None,
        binary_channels: bool = False,
    ) -> None:
        super().__init__(env)
        self._levels = find_levels(env.observation_space, name)
        self._name, self._frame_size, self._grey_levels = name, frame_size, grey_levels
        shape = env.observation_space.shape
        assert shape is not None
        self._shape = shape
        self._channels_first = len(shape) == 3 and shape[0] < shape[2]
        rule = f"must be None, because {name} shows a grid of {self._levels} values and not an image"
        for field, value in (("frame_size", frame_size), ("grey_levels", grey_levels)):
            require(value is None or self._levels == IMAGE_LEVELS, f"env.{field}", value, rule)
        self._splits_values = binary_channels and 2 < self._levels < IMAGE_LEVELS
        frame_shape = self.observation(np.zeros(shape, np.uint8)).shape
        rule = f"must be False, because {name} would have {frame_shape[0]} channels and not at most {MAX_CHANNELS}"
        require(not self._splits_values or frame_shape[0] <= MAX_CHANNELS, "env.binary_channels", True, rule)
        levels = 2 if self._splits_values else grey_levels or self._levels
        self.observation_space = spaces.Box(0, levels - 1, frame_shape, np.uint8)

    def observation(self, observation: NDArray[Any]) -> Frame:
        """Convert one observation; raise `UnsupportedGame` if it lies outside the environment's observation space."""
        image = np.asarray(observation)
        if image.shape != self._shape:
            raise UnsupportedGame(
                f"{self._name} returned an observation of shape {image.shape}, but its observation_space has shape "
                f"{self._shape}: correct the space."
            )
        if self._levels < IMAGE_LEVELS and (image.max() >= self._levels or image.min() < 0):
            raise UnsupportedGame(
                f"{self._name} returned cells from {image.min()} to {image.max()}, but its observation_space goes from "
                f"0 to {self._levels - 1}: correct the space."
            )
        if image.ndim == 2:
            image = image[:, :, None]
        elif self._channels_first:
            image = image.transpose(1, 2, 0)
        image = image.astype(np.uint8, copy=False)
        if self._frame_size is not None:
            image = area_resize(image, *self._frame_size)
        if self._grey_levels is not None:
            image = reduce_greys(image, self._grey_levels)
        if self._splits_values:
            is_value = image[..., None] == np.arange(1, self._levels, dtype=np.uint8)
            image = is_value.reshape(*image.shape[:2], -1).view(np.uint8)
        return image.transpose(2, 0, 1)
