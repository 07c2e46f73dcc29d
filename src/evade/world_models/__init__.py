"""World models: SimPLe's deterministic next-frame model with EVaDE's reward path."""

from evade.world_models.build import build_world_model, build_world_model_optimiser
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.feature_maps import capture, event_map_names
from evade.world_models.fit import fit_update
from evade.world_models.precision import PredictionGap, compare_predictions, predict_with

__all__ = [
    "DeterministicWorldModel",
    "PredictionGap",
    "build_world_model",
    "build_world_model_optimiser",
    "capture",
    "compare_predictions",
    "event_map_names",
    "fit_update",
    "predict_with",
]
