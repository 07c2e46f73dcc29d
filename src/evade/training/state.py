"""Everything of a run that must survive a crash, as one value; what is not here can be rebuilt from the settings."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from evade.errors import RunError
from evade.layers import Draw
from evade.optimisers import Adafactor, TensorFlowAdam, optimiser_numbers, optimiser_tensors, restore_optimiser
from evade.policies import ActorCritic
from evade.replay import ChunkRecord, Replay
from evade.world_models import DeterministicWorldModel

PHASES = ("collect", "fit", "draw", "improve", "evaluate")
"""The verbs of an iteration, in order."""


@dataclass
class TrainState:
    """Where a run stands and all it has learnt."""

    world_model: DeterministicWorldModel
    world_model_optimiser: Adafactor
    policy: ActorCritic
    policy_optimiser: TensorFlowAdam
    replay: Replay
    generator: torch.Generator
    """Of the phase under way, on the networks' device; fresh at its beginning, as are the next one and torch's own."""
    host_generator: torch.Generator
    """Of the phase under way, for what is sampled on the CPU."""
    draw: Draw
    """The Thompson draw of this iteration."""
    iteration: int = 1
    """Counted from 1."""
    phase: str = PHASES[0]
    """The phase under way, or next."""
    progress: int = 0
    """Updates or batches of it that are done."""
    scored_after: int = 0
    """The number of iterations after which the final score was taken; 0 if it has not been."""

    def remaining_iterations(self, iterations: int) -> Iterator[int]:
        """The iteration under way and all later ones."""
        while self.iteration <= iterations:
            yield self.iteration

    def finish_phase(self) -> None:
        """Move on to the next phase, or to the next iteration."""
        following = PHASES.index(self.phase) + 1
        self.progress = 0
        if following == len(PHASES):
            self.iteration += 1
        self.phase = PHASES[following % len(PHASES)]

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All tensors by file."""
        generators = {
            "phase": self.generator.get_state(),
            "host": self.host_generator.get_state(),
            "global": torch.get_rng_state(),
        }
        if self.generator.device.type == "cuda":
            generators["cuda"] = torch.cuda.get_rng_state(self.generator.device)
        return {
            "world_model": self.world_model.state_dict(),
            "world_model_optimiser": optimiser_tensors(self.world_model_optimiser),
            "policy": self.policy.state_dict(),
            "policy_optimiser": optimiser_tensors(self.policy_optimiser),
            "draw": dict(self.draw),
            "generators": generators,
        }

    def numbers(self) -> dict[str, Any]:
        """All that is not a tensor."""
        return {
            "iteration": self.iteration,
            "phase": self.phase,
            "progress": self.progress,
            "scored_after": self.scored_after,
            "replay": [asdict(record) for record in self.replay.records],
            "world_model_optimiser": optimiser_numbers(self.world_model_optimiser),
            "policy_optimiser": optimiser_numbers(self.policy_optimiser),
        }

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], numbers: Mapping[str, Any]) -> None:
        """Become what `tensors` and `numbers` described."""
        load_weights(self.policy, self.world_model, tensors)
        for name in ("world_model_optimiser", "policy_optimiser"):
            restore_optimiser(getattr(self, name), tensors[name], numbers[name])
        self.draw = Draw(tensors["draw"])
        self.generator.set_state(tensors["generators"]["phase"])
        self.host_generator.set_state(tensors["generators"]["host"])
        torch.set_rng_state(tensors["generators"]["global"])
        if "cuda" in tensors["generators"]:
            torch.cuda.set_rng_state(tensors["generators"]["cuda"], self.generator.device)
        self.iteration, self.phase = numbers["iteration"], numbers["phase"]
        self.progress, self.scored_after = numbers["progress"], numbers["scored_after"]
        self.replay.restore([ChunkRecord(**record) for record in numbers["replay"]])


def load_weights(
    policy: ActorCritic, world_model: DeterministicWorldModel, tensors: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """Give both networks the weights of a checkpoint, or say that it is another version's."""
    try:
        policy.load_state_dict(tensors["policy"])
        world_model.load_state_dict(tensors["world_model"])
    except RuntimeError as error:
        raise RunError(
            "the checkpoint does not hold the weights that its settings ask for, so another version of evade made it: "
            f"use that one, which the run's environment.txt names, or train anew. ({' '.join(str(error).split())})"
        ) from None
