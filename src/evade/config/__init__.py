"""Every setting: frozen dataclasses that check themselves, and settings as a document. No torch here.

Each field says what it means, its unit where it has one, and its source: *original* is the published SimPLe program
(tensor2tensor, `next_frame_pixel_noise` and `ppo_original_params` as `rlmb_base` overrides it), *paper* is the EVaDE
paper, *ours* comes with the reason.
"""

from evade.checks import require, require_choice
from evade.config.document import differences, fingerprint, flatten, from_document, to_document
from evade.config.env import EnvConfig, GameSpec
from evade.config.networks import EVADE, EventLayer, PolicyConfig, WorldModelConfig
from evade.config.run import (
    EVALUATION_VERSION,
    CollectConfig,
    DreamConfig,
    EvaluationConfig,
    MachineConfig,
    RunConfig,
    ScheduleConfig,
)

__all__ = [
    "EVADE",
    "EVALUATION_VERSION",
    "CollectConfig",
    "DreamConfig",
    "EnvConfig",
    "EvaluationConfig",
    "EventLayer",
    "GameSpec",
    "MachineConfig",
    "PolicyConfig",
    "RunConfig",
    "ScheduleConfig",
    "WorldModelConfig",
    "differences",
    "fingerprint",
    "flatten",
    "from_document",
    "require",
    "require_choice",
    "to_document",
]
