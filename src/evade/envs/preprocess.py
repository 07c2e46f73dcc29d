"""The original's protocol in small pieces: resize, skip and pool frames, clip rewards, wait at the start.

Order from the game outwards: frame skip, time limit, waiting. So the limit counts steps of the agent, and the
steps it waits count too, as in the original.
"""

from functools import lru_cache, reduce
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit
from numpy.typing import ArrayLike, NDArray

from evade.checks import require
from evade.envs.games import Protocol

Frame = NDArray[np.uint8]
Env = gymnasium.Env[Frame, int]
StepResult = tuple[Frame, float, bool, bool, dict[str, Any]]

NOOP = 0
"""The action that does nothing, in Atari and in MinAtar."""


def area_resize(picture: Frame, height: int, width: int) -> Frame:
    """Resize a picture `[H, W]` or `[H, W, C]`: each new cell is the mean over its area, rounded down.

    A new cell covers `H / height` rows and `W / width` columns of the old picture; an old cell that it covers
    in part counts by that part. The sum is made of whole numbers (overlaps measured in 1/height of a row and
    1/width of a column), so the result is exact on every machine. 210x160 to 105x80 is the floor of each 2x2
    mean, as in the original.
    """
    rows, columns = picture.shape[:2]
    if (rows, columns) == (height, width):
        return picture
    if (rows, columns) == (2 * height, 2 * width):
        pairs = np.add(picture[0::2], picture[1::2], dtype=np.uint16)
        total, area = pairs[:, 0::2] + pairs[:, 1::2], 4
    else:
        area = rows * columns
        total = _sum_areas(_sum_areas(picture, 0, height, 255 * rows), 1, width, 255 * area)
    resized: Frame = (total // area).astype(np.uint8)
    return resized


def reduce_greys(picture: Frame, levels: int) -> Frame:
    """Reduce a picture `[H, W, C]` to `[H, W, 1]` with values 0 to `levels` - 1: equal steps of brightness.

    Brightness is that of ITU-R BT.601, the 0.299 / 0.587 / 0.114 of television; a picture of any other number of
    channels than 3 is as bright as their mean. Whole numbers throughout, so the result is exact on every machine.
    """
    weights = np.array((299, 587, 114) if picture.shape[2] == 3 else (1,) * picture.shape[2], np.int64)
    brightness = picture.astype(np.int64) @ weights
    greys: Frame = (brightness * levels // (256 * weights.sum())).astype(np.uint8)
    return greys[:, :, None]


def _sum_areas(values: NDArray[Any], axis: int, target: int, highest: int) -> NDArray[Any]:
    """Weighted sums along an axis, whose weights add up to its old size; no sum is above `highest`."""
    index, weight = _overlaps(values.shape[axis], target)
    dtype = np.min_scalar_type(highest)  # small numbers are added several times as fast
    weight = weight.astype(dtype).reshape(-1, *[target if place == axis else 1 for place in range(values.ndim)])
    taps = [values.take(cells, axis) * share for cells, share in zip(index, weight, strict=True)]
    return reduce(np.add, taps)


@lru_cache
def _overlaps(source: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which old cells each new cell covers `[taps, target]`, and by how much, in 1/target of an old cell."""
    start = np.arange(target) * source
    end = start + source
    first = start // target
    num_taps = int((-(-end // target) - first).max())
    index = first + np.arange(num_taps)[:, None]
    weight = np.minimum(end, (index + 1) * target) - np.maximum(start, index * target)
    return index.clip(max=source - 1), weight.clip(min=0)


def clip_reward(reward: ArrayLike, lowest: int = -1, highest: int = 1) -> NDArray[np.float32]:
    """Clip rewards to the range, then round to whole numbers, halves to the even one."""
    clipped: NDArray[np.float64] = np.clip(np.asarray(reward, np.float64), lowest, highest)
    return np.rint(clipped).astype(np.float32)


class MaxAndSkip(gymnasium.Wrapper[Frame, int, Frame, int]):
    """Repeat each action for `skip` frames; the agent sees the maximum of the last two, the sum of rewards.

    If an episode ends before the last two frames, what was kept of the previous step stands in for the
    missing ones: the last picture of an episode may be an old one. That is the original's behaviour. A reset
    with a seed forgets the kept frames, so that it determines all that follows.
    """

    def __init__(self, env: Env, skip: int) -> None:
        super().__init__(env)
        assert env.observation_space.shape is not None
        self._skip = skip
        self._last_two = np.zeros((2, *env.observation_space.shape), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode; nothing is skipped."""
        if seed is not None:
            self._last_two.fill(0)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: int) -> StepResult:
        """Up to `skip` frames; fewer if the episode ends."""
        total = 0.0
        for repeat in range(self._skip):
            frame, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if repeat >= self._skip - 2:
                self._last_two[repeat - self._skip] = frame
            if terminated or truncated:
                break
        return np.maximum(*self._last_two), total, terminated, truncated, info


class NoopStart(gymnasium.Wrapper[Frame, int, Frame, int]):
    """After each reset wait 1 to `max_noops` steps; a game that ends meanwhile is reset, and waiting goes on.

    How long comes from a generator of its own, seeded with the reset's seed.
    """

    def __init__(self, env: Env, max_noops: int) -> None:
        super().__init__(env)
        self._max_noops = max_noops
        self._rng = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode and wait; the rewards of waiting are nobody's."""
        if seed is not None:
            # Spawned, because games seed generators of their own with the very same number.
            self._rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        frame, info = self.env.reset(seed=seed, options=options)
        for _ in range(self._rng.integers(1, self._max_noops, endpoint=True)):
            frame, _, terminated, truncated, info = self.env.step(NOOP)
            if terminated or truncated:
                frame, info = self.env.reset(options=options)
        return frame, info


def follow_protocol(env: Env, protocol: Protocol) -> Env:
    """Put the wrappers the protocol calls for around a game whose observations are uint8."""
    limit, noops = protocol.time_limit, protocol.max_noops
    rule = f"it must be above env.max_noops = {noops}, or no step is left to the agent"
    require(limit is None or limit > noops, "env.time_limit", limit, rule)
    if protocol.frame_skip > 1:
        env = MaxAndSkip(env, protocol.frame_skip)
    if limit is not None:
        env = TimeLimit(env, limit)
    if noops:
        env = NoopStart(env, noops)
    return env
