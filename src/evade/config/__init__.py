"""A run's settings: frozen dataclasses that check themselves, presets, and settings as a document. No torch here.

The settings of a part stand beside the part (`evade.envs.settings`, `evade.world_models.settings`, ...). Each field
says what it means, its unit where it has one, and its source: *T2T SimPLe* is the published program (tensor2tensor,
`next_frame_pixel_noise` and `ppo_original_params` as `rlmb_base` overrides it), *paper* is the EVaDE paper, *ours*
comes with the reason.
"""

from evade.config.document import differences, fingerprint, flatten, from_document, to_document
from evade.config.run import (
    EVALUATION_VERSION,
    CollectConfig,
    EvaluationConfig,
    MachineConfig,
    RunConfig,
    ScheduleConfig,
)

__all__ = [
    "EVALUATION_VERSION",
    "CollectConfig",
    "EvaluationConfig",
    "MachineConfig",
    "RunConfig",
    "ScheduleConfig",
    "differences",
    "fingerprint",
    "flatten",
    "from_document",
    "to_document",
]
