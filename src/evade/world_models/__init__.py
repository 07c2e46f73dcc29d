"""World models: SimPLe's deterministic next-frame model with EVaDE's reward path."""

from evade.world_models.build import build_world_model, build_world_model_optimiser
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.feature_maps import capture, event_map_names
from evade.world_models.fit import fit_update

__all__ = [
    "DeterministicWorldModel",
    "build_world_model",
    "build_world_model_optimiser",
    "capture",
    "event_map_names",
    "fit_update",
]
