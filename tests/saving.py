"""Checkpoints whose every part tells which save it came from; as a program, saves some until it is killed.

python saving.py DIRECTORY NUMBER VERSION [endlessly]
"""

import sys
from itertools import count
from pathlib import Path

import torch

from evade.runs.checkpoint import load_checkpoint, save_checkpoint


def contents(number, version=0):
    """Tensors and state in which nothing is equal between two saves, so that a mix cannot pass for either."""
    mark = 1000 * number + version
    tensors = {
        "world_model": {"kernel": torch.arange(700.0) + mark, "steps": torch.tensor(mark)},
        "policy": {
            "bias": torch.full((3, 5), float(mark)),
            "generator": torch.tensor([number % 256, version], dtype=torch.uint8),
        },
    }
    return tensors, {"number": number, "version": version, "cursor": ["fit", mark / 7]}


def save(directory, number, version=0, keep=2):
    return save_checkpoint(directory, number, *contents(number, version), keep=keep)


def load_whole(directory):
    """The newest checkpoint as (number, version), after every part of it was found to belong to it; None if none."""
    warnings = []
    checkpoint = load_checkpoint(directory, warnings.append)
    assert warnings == []
    return identify(checkpoint)


def identify(checkpoint):
    if checkpoint is None:
        return None
    tensors, state = contents(checkpoint.number, checkpoint.state["version"])
    assert checkpoint.state == state
    assert {group: set(members) for group, members in checkpoint.tensors.items()} == {
        group: set(members) for group, members in tensors.items()
    }
    for group, members in tensors.items():
        for name, tensor in members.items():
            torch.testing.assert_close(checkpoint.tensors[group][name], tensor, rtol=0, atol=0)
    return checkpoint.number, checkpoint.state["version"]


if __name__ == "__main__":
    directory, number, version = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for each in count(number) if len(sys.argv) > 4 else [number]:
        save(directory, each, version)
        sys.stdout.write(f"{each}\n")
        sys.stdout.flush()
