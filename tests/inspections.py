"""A look inside a world model that does not exist: numbers that figures and files must show as they are."""

import numpy as np

from evade.evidence.results.inspection import Inspection, MapChange, SigmaImage


def make_inspection(*, with_prior=True):
    """Two layers with a chosen channel each, three draws of two actions, and sigmas."""
    rng = np.random.default_rng(0)

    def numbers(*shape):
        return rng.normal(size=shape).astype(np.float32)

    before = numbers(4, 5)
    changes = (
        MapChange("weighting", "up stage 1", 3, 8, True, before, np.float32(1.5) * before),
        MapChange("weighting", "up stage 1", 0, 8, False, numbers(4, 5), numbers(4, 5)),
        MapChange("interaction", "up stage 2", 6, 8, True, numbers(7, 7), numbers(7, 7)),
    )
    sigmas = (
        SigmaImage("translation, up stage 1", "channel", "neighbour", tuple("abcde"), (1, 1), abs(numbers(8, 5))),
        SigmaImage("weighting, up stage 1", "", "channel", (), (1, 1), abs(numbers(1, 8))),
        SigmaImage("last convolution", "input channel", "output channel", (), (4, 4), abs(numbers(16, 8))),
        SigmaImage("interaction, up stage 2", "output channel", "input channel", (), (1, 1), abs(numbers(8, 8))),
    )
    prior = (SigmaImage("weighting, predicted frame", "place", "channel", ("0", "1"), (4, 5), abs(numbers(4, 10))),)
    return Inspection(
        title="minatar/breakout, evade, seed 3",
        variant="evade",
        frame=1234,
        picture=rng.integers(0, 256, (4, 5, 3), dtype=np.uint8),
        action=1,
        draw="draw 7",
        mean=numbers(2),
        draws=numbers(3, 2),
        changes=changes,
        sigmas=sigmas,
        prior_sigmas=prior if with_prior else (),
    )
