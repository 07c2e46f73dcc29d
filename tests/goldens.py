"""Reads the golden values recorded from T2T SimPLe (tensor2tensor)."""

from pathlib import Path

import numpy as np
import torch

from evade.records import Transitions

FOLDER = Path(__file__).parent / "golden"


def load(name: str) -> dict[str, np.ndarray]:
    """All arrays of a golden file by key."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


def variables(golden: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The network's variables by TensorFlow name, those given by a recipe included."""
    stored = {key.removeprefix("var/"): array for key, array in golden.items() if key.startswith("var/")}
    for i, name in enumerate(golden.get("recipe/names", ())):
        shape = tuple(size for size in golden["recipe/shapes"][i] if size)
        random = np.random.RandomState(golden["recipe/seeds"][i]).random_sample(shape)
        integers = np.floor(17 * random) - 8
        assert integers.sum() == golden["recipe/integer_sums"][i]
        stored[str(name)] = (integers * golden["recipe/scales"][i]).astype(np.float32)
    return stored


def unpack(bits: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A packed boolean array."""
    return np.unpackbits(bits)[: np.prod(shape)].reshape(shape).astype(bool)


def subsample(array: np.ndarray) -> np.ndarray:
    """The 64 entries of an array that the golden files keep."""
    flat = np.ascontiguousarray(array).ravel()
    return flat[:: max(1, flat.size // 64) | 1][:64]


def channels_first(frames: np.ndarray) -> torch.Tensor:
    """Frames `[..., H, W, C]` as ours, `[..., C, H, W]`."""
    return torch.from_numpy(np.moveaxis(frames, -1, -3).copy())


def close(actual: torch.Tensor | np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Assert equality within an absolute tolerance."""
    actual = actual.detach().numpy() if isinstance(actual, torch.Tensor) else actual
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def transitions(forward: dict[str, np.ndarray]) -> Transitions:
    """The batch of `deterministic.npz`."""
    return Transitions(
        observation=channels_first(forward["in/frames"]),
        action=torch.from_numpy(forward["in/action"][:, -1]).long(),
        next_frame=channels_first(forward["in/target_frame"]),
        reward=torch.from_numpy(forward["in/target_reward"]) - 1,
        terminated=torch.zeros(2, dtype=torch.bool),
    )
