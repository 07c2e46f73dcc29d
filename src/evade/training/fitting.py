"""One update of the world model on a batch of real experience."""

import torch
from torch import Tensor

from evade.interfaces import Fitter, SequenceFitter
from evade.records import Sequences, Transitions
from evade.replay.store import Replay


def update_world_model(
    fitter: Fitter, replay: Replay, generator: torch.Generator, device: torch.device
) -> dict[str, Tensor]:
    """Sample the batch that the fitter takes, single transitions or sequences, and make one update on it.

    Args:
        fitter: of the world model.
        replay: all real experience.
        generator: on the CPU.
        device: of the world model.
    """
    if isinstance(fitter, SequenceFitter):
        return fitter.update_on_sequences(Sequences(*(field.to(device) for field in replay.sequences(generator))))
    return fitter.update(Transitions(*(field.to(device) for field in replay.batch(generator))))
