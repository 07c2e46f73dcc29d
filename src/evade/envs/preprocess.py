"""T2T SimPLe's preprocessing: resize, frame skip with max-pooling, reward clipping, no-op starts.

Order from the game outwards: frame skip, time limit, no-op start. So the limit counts agent steps, no-ops included, as
in T2T SimPLe.
"""

from functools import lru_cache, reduce
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import StickyAction, TimeLimit
from numpy.typing import ArrayLike, NDArray

from evade.checks import require
from evade.envs.games import Protocol

Frame = NDArray[np.uint8]
Env = gymnasium.Env[Frame, int]
StepResult = tuple[Frame, float, bool, bool, dict[str, Any]]

NOOP = 0
"""The no-op action in Atari and MinAtar."""


def area_resize(image: Frame, height: int, width: int) -> Frame:
    """Resize an image `[H, W]` or `[H, W, C]` by area averaging, rounded down.

    A new pixel covers `H / height` rows and `W / width` columns of the old image; partly covered old pixels count by
    the covered share. Sums are integers (overlaps in units of 1/height of a row and 1/width of a column), so the
    result is exact on every machine. 210x160 to 105x80 is the floor of each 2x2 mean, as in T2T SimPLe.
    """
    rows, columns = image.shape[:2]
    if (rows, columns) == (height, width):
        return image
    if (rows, columns) == (2 * height, 2 * width):
        pairs = np.add(image[0::2], image[1::2], dtype=np.uint16)
        total, area = pairs[:, 0::2] + pairs[:, 1::2], 4
    else:
        area = rows * columns
        total = _sum_areas(_sum_areas(image, 0, height, 255 * rows), 1, width, 255 * area)
    resized: Frame = (total // area).astype(np.uint8)
    return resized


def reduce_greys(image: Frame, levels: int) -> Frame:
    """Quantise an image `[H, W, C]` to `levels` greys, `[H, W, 1]`, in equal steps of luma.

    Luma is ITU-R BT.601's (0.299, 0.587, 0.114); for any number of channels other than 3 it is their mean. Integer
    arithmetic throughout, so the result is exact on every machine.
    """
    weights = np.array((299, 587, 114) if image.shape[2] == 3 else (1,) * image.shape[2], np.int64)
    brightness = image.astype(np.int64) @ weights
    greys: Frame = (brightness * levels // (256 * weights.sum())).astype(np.uint8)
    return greys[:, :, None]


def _sum_areas(values: NDArray[Any], axis: int, target: int, highest: int) -> NDArray[Any]:
    """Weighted sums along an axis; the weights add up to its old size, and no sum exceeds `highest`."""
    index, weight = _overlaps(values.shape[axis], target)
    dtype = np.min_scalar_type(highest)  # small integers are added several times faster
    weight = weight.astype(dtype).reshape(-1, *[target if place == axis else 1 for place in range(values.ndim)])
    taps = [values.take(cells, axis) * share for cells, share in zip(index, weight, strict=True)]
    return reduce(np.add, taps)


@lru_cache
def _overlaps(source: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Old pixels that each new pixel covers, `[taps, target]`, and the overlaps in units of 1/target."""
    start = np.arange(target) * source
    end = start + source
    first = start // target
    num_taps = int((-(-end // target) - first).max())
    index = first + np.arange(num_taps)[:, None]
    weight = np.minimum(end, (index + 1) * target) - np.maximum(start, index * target)
    return index.clip(max=source - 1), weight.clip(min=0)


def clip_reward(reward: ArrayLike, lowest: int = -1, highest: int = 1) -> NDArray[np.float32]:
    """Clip rewards to the range, then round them (halves to even)."""
    clipped: NDArray[np.float64] = np.clip(np.asarray(reward, np.float64), lowest, highest)
    return np.rint(clipped).astype(np.float32)


class MaxAndSkip(gymnasium.Wrapper[Frame, int, Frame, int]):
    """Repeat each action for `skip` frames; return the pixelwise maximum of the last two and the sum of rewards.

    If an episode ends before the last two frames of a step, frames of the previous step take their place, so the last
    observation of an episode may be stale, as in T2T SimPLe. A reset with a seed clears the kept frames, so that the
    seed determines everything that follows.
    """

    def __init__(self, env: Env, skip: int) -> None:
        super().__init__(env)
        assert env.observation_space.shape is not None
        self._skip = skip
        self._last_two = np.zeros((2, *env.observation_space.shape), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode; no frames are skipped."""
        if seed is not None:
            self._last_two.fill(0)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: int) -> StepResult:
        """Play up to `skip` frames; fewer if the episode ends."""
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
    """Play 1 to `max_noops` no-ops after each reset; a game that ends during them is reset, and they continue.

    The number is sampled from a separate generator, seeded by the reset's seed.
    """

    def __init__(self, env: Env, max_noops: int) -> None:
        super().__init__(env)
        self._max_noops = max_noops
        self._rng = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode and play the no-ops; rewards during no-ops are discarded."""
        if seed is not None:
            # Spawned, because the game seeds its own generator with the same number.
            self._rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        frame, info = self.env.reset(seed=seed, options=options)
        for _ in range(self._rng.integers(1, self._max_noops, endpoint=True)):
            frame, _, terminated, truncated, info = self.env.step(NOOP)
            if terminated or truncated:
                frame, info = self.env.reset(options=options)
        return frame, info


def make_sticky(env: Env, probability: float) -> Env:
    """Repeat the previous action with this probability; the environment itself if it is 0."""
    return StickyAction(env, probability) if probability > 0 else env


def follow_protocol(env: Env, protocol: Protocol) -> Env:
    """Add the protocol's wrappers to a game with uint8 observations."""
    limit, noops = protocol.time_limit, protocol.max_noops
    rule = f"must be above env.max_noops = {noops}, or the agent has no steps left"
    require(limit is None or limit > noops, "env.time_limit", limit, rule)
    if protocol.frame_skip > 1:
        env = MaxAndSkip(env, protocol.frame_skip)
    if limit is not None:
        env = TimeLimit(env, limit)
    if noops:
        env = NoopStart(env, noops)
    return env
