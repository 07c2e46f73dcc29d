"""Everything of a run that must survive a crash, as a set of parts; all else is rebuilt from the settings."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_type_hints

import torch
from torch import Tensor

from evade.checks import fits_type
from evade.errors import CheckpointMismatch, RunError
from evade.interfaces import Fitter, Network, Policy, PolicyLearner, Savable, WorldModel
from evade.layers import Draw, noisy_layers
from evade.optimisers.state import describe
from evade.replay.store import Replay
from evade.seeding import build_generator, derive_seed
from evade.vocabulary.phases import ITERATION_NAMES


class HeldDraw:
    """The Thompson draw of the current iteration."""

    def __init__(self) -> None:
        self.value = Draw({})

    def saved_tensors(self) -> dict[str, Tensor]:
        """The draw's noise by layer."""
        return dict(self.value)

    def saved_values(self) -> None:
        """Nothing else."""

    def restore(self, tensors: Mapping[str, Tensor], values: None) -> None:
        """Bring back the draw."""
        self.value = Draw(tensors)


class Generators:
    """The random numbers of the current phase: fresh at its beginning, as is torch's global generator.

    Args:
        device: of the networks.
        seed: the run's root seed.
    """

    def __init__(self, device: torch.device, seed: int) -> None:
        self._seed = seed
        self.device = torch.Generator(device)
        """For what is sampled on the networks' device."""
        self.host = torch.Generator()
        """For what is sampled on the CPU."""
        self.begin("start", 0)

    def begin(self, phase: str, iteration: int) -> None:
        """Seed everything for a phase of an iteration."""
        self.device = build_generator(self.device.device, self._seed, phase, iteration)
        self.host = build_generator(torch.device("cpu"), self._seed, f"{phase} data", iteration)
        torch.manual_seed(derive_seed(self._seed, f"{phase} noise", iteration))

    def saved_tensors(self) -> dict[str, Tensor]:
        """The state of each generator, torch's global ones included."""
        states = {"phase": self.device.get_state(), "host": self.host.get_state(), "global": torch.get_rng_state()}
        if self.device.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device.device)
        return states

    def saved_values(self) -> None:
        """Nothing else."""

    def restore(self, tensors: Mapping[str, Tensor], values: None) -> None:
        """Bring back the state of each generator."""
        check_tensors(tensors, self.saved_tensors())
        self.device.set_state(tensors["phase"])
        self.host.set_state(tensors["host"])
        torch.set_rng_state(tensors["global"])
        if "cuda" in tensors:
            torch.cuda.set_rng_state(tensors["cuda"], self.device.device)


@dataclass
class Position:
    """Where in Algorithm 1 a run is."""

    iteration: int = 1
    """Counted from 1."""
    phase: str = ITERATION_NAMES[0]
    """The current phase, or the next one."""
    progress: int = 0
    """Updates or batches of it that are done."""
    scored_after: int = 0
    """The number of iterations after which the final score was taken; 0 if it has not been."""

    def finish_phase(self) -> None:
        """Move on to the next phase, or to the next iteration."""
        following = ITERATION_NAMES.index(self.phase) + 1
        self.progress = 0
        if following == len(ITERATION_NAMES):
            self.iteration += 1
        self.phase = ITERATION_NAMES[following % len(ITERATION_NAMES)]

    def saved_tensors(self) -> dict[str, Tensor]:
        """No tensors."""
        return {}

    def saved_values(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    def restore(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Bring back all fields."""
        kinds = get_type_hints(Position)
        if not isinstance(values, dict) or values.keys() != kinds.keys():
            raise CheckpointMismatch(f"it has {values!r:.80} for its position")
        for name, value in values.items():
            if not fits_type(value, kinds[name]) or (kinds[name] is int and value < 0):
                raise CheckpointMismatch(f"its position has {name} = {value!r:.50}")
        if values["phase"] not in ITERATION_NAMES or values["iteration"] < 1:
            raise CheckpointMismatch(f"it is in phase {values['phase']!r:.50} of iteration {values['iteration']}")
        for name, value in values.items():
            setattr(self, name, value)


@dataclass
class SavedNetwork:
    """A network as a part of a checkpoint."""

    network: Network

    def saved_tensors(self) -> dict[str, Tensor]:
        """Weights and buffers."""
        return self.network.state_dict()

    def saved_values(self) -> None:
        """Nothing else."""

    def restore(self, tensors: Mapping[str, Tensor], values: None) -> None:
        """Take over weights and buffers."""
        load_weights(self.network, tensors)


@dataclass
class TrainState:
    """All parts of a run; each field is saved under its own name, so a new part is one more field."""

    world_model: WorldModel
    fitter: Fitter
    policy: Policy
    learner: PolicyLearner
    replay: Replay
    generators: Generators
    draw: HeldDraw
    position: Position

    def remaining_iterations(self, iterations: int) -> Iterator[int]:
        """The current iteration and all later ones."""
        while self.position.iteration <= iterations:
            yield self.position.iteration

    def parts(self) -> dict[str, Savable]:
        """Everything to save, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: part if isinstance(part, Savable) else SavedNetwork(part) for name, part in found.items()}

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All tensors by part; parts without tensors are left out."""
        return {name: tensors for name, part in self.parts().items() if (tensors := part.saved_tensors())}

    def values(self) -> dict[str, Any]:
        """All that is not a tensor, by part."""
        return {name: part.saved_values() for name, part in self.parts().items()}

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], values: Mapping[str, Any]) -> None:
        """Become what `tensors` and `values` described.

        Raises:
            RunError: they are not those of a run with these settings; the message names the part and the tensor.
        """
        parts = self.parts()
        if not isinstance(values, dict):
            raise _other_version(f"its parts are {values!r:.100} instead of values by name")
        if not tensors.keys() <= parts.keys() == values.keys():
            raise _other_version(f"it has the parts {', '.join(sorted({*tensors, *values})):.200}")
        for name, part in parts.items():
            try:
                part.restore(tensors.get(name, {}), values[name])
            except CheckpointMismatch as error:
                raise _other_version(f"{name}: {error}") from None
        check_draw(self.draw.value, self.world_model)


def check_tensors(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise a `CheckpointMismatch` that names the first tensor that is missing, unknown or of another shape or type."""
    for name in dict.fromkeys((*expected, *found)):
        if name not in found or name not in expected:
            raise CheckpointMismatch(f"{name!r:.80} is {'unknown' if name in found else 'missing'}")
        if found[name].shape != expected[name].shape or found[name].dtype != expected[name].dtype:
            raise CheckpointMismatch(f"{name} is {describe(found[name])}; {describe(expected[name])} is expected")


def check_draw(draw: Draw, world_model: WorldModel) -> None:
    """Raise a `RunError` unless a checkpoint's draw, if it has one, is of this world model."""
    if draw:
        try:
            check_tensors(draw, {name: layer.sigma.float() for name, layer in noisy_layers(world_model).items()})
        except CheckpointMismatch as error:
            raise _other_version(f"draw: {error}") from None


def load_weights(network: Network, tensors: Mapping[str, Tensor]) -> None:
    """Give a network the weights of a checkpoint, or say that another version made it."""
    try:
        check_tensors(tensors, network.state_dict())
    except CheckpointMismatch as error:
        raise _other_version(str(error)) from None
    network.load_state_dict(tensors)


def _other_version(finding: str) -> RunError:
    return RunError(
        "The checkpoint does not hold what its settings ask for, so another version of evade made it: use that "
        f"version, which the run's environment.txt names, or train again. ({finding})"
    )
