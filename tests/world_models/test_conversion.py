"""Conversions between bytes and floats: the same compiled and not."""

import torch

from evade.runtime.compilation import Compiler
from evade.world_models.conversion import as_bytes, as_float


def there_and_back(frames):
    """The last two frames, and what is off in them."""
    floats = as_float(frames[:, -2:]).flatten(1, 2)
    return floats, as_bytes(1 - floats)


def test_compiled_code_converts_as_torch_does_and_leaves_no_strides_behind():
    frames = torch.randint(0, 2, (3, 4, 2, 5, 5), dtype=torch.uint8)
    compiled = Compiler(True)(there_and_back)(frames)
    for floats, off in (there_and_back(frames), compiled):
        assert floats.dtype == torch.float32
        assert off.dtype == torch.uint8
        assert floats.is_contiguous()
        assert torch.equal(floats.view(3, 2, 2, 5, 5), frames[:, -2:].float())
        assert torch.equal(off, 1 - frames[:, -2:].flatten(1, 2))
