"""The real frames that the posterior knows least about: where some of the dreams start."""

from collections.abc import Mapping

import torch
from torch import Tensor

from evade.errors import CheckpointMismatch
from evade.interfaces import WorldModel
from evade.records import Transitions
from evade.replay.store import Replay

SIZE = 512
"""Frames on the frontier. Ours: a few times the dreams that start there in one batch."""
AT_ONCE = 256
"""Transitions whose novelty is computed at a time."""


class Frontier:
    """The most novel transitions of a run; a part of its state.

    Posterior sampling explores only if the policy finds what the current draw promises. That lies just beyond what has
    been seen, and uniformly sampled starts are hardly ever there.
    """

    def __init__(self) -> None:
        self.windows = torch.empty(0, dtype=torch.long)
        """The replay's index of each transition's frame, int64 `[n]`, n at most `SIZE`."""

    @torch.no_grad()
    def extend(self, model: WorldModel, replay: Replay, device: torch.device) -> None:
        """Look at the newest transitions, and again at those of before, and keep the most novel ones."""
        candidates = torch.cat([self.windows, replay.newest_windows])
        novelty = torch.cat(
            [
                model.novelty(Transitions(*(field.to(device) for field in replay.gather(part)))).cpu()
                for part in torch.split(candidates, AT_ONCE)
            ]
        )
        kept = novelty.argsort(descending=True, stable=True)[:SIZE]
        self.windows = candidates[kept[novelty[kept] > 0]]

    def starts(self, count: int, replay: Replay, generator: torch.Generator) -> Tensor:
        """Sample observations of the frontier, uint8 `[count or 0, K, C, H, W]`; empty if there is no frontier."""
        if len(self.windows) == 0:
            return replay.observations(self.windows)
        return replay.observations(self.windows[torch.randint(len(self.windows), (count,), generator=generator)])

    def saved_tensors(self) -> dict[str, Tensor]:
        """The indices of its frames."""
        return {"windows": self.windows} if len(self.windows) else {}

    def saved_values(self) -> None:
        """Nothing else."""

    def restore(self, tensors: Mapping[str, Tensor], values: None) -> None:
        """Bring back the indices."""
        windows = tensors.get("windows", torch.empty(0, dtype=torch.long))
        if tensors.keys() - {"windows"} or windows.dtype != torch.long or windows.dim() != 1 or (windows < 0).any():
            raise CheckpointMismatch(f"{', '.join(tensors):.80} is not a list of frames")
        self.windows = windows
