"""Every exception of the package a user can meet, one line of meaning each.

`evade.layers` stands alone and brings its own `LayerError`; the command line reports both kinds the same way.
"""


class EvadeError(Exception):
    """Base of all errors below; catching it catches every mistake this package names."""


class ConfigError(EvadeError):
    """A setting has an impossible value; the message names the field, the value and the rule."""


class ShapeError(EvadeError):
    """A tensor does not have the shape or type that a network or function documents."""


class ActionError(EvadeError):
    """An action lies outside the game's range."""


class RewardError(EvadeError):
    """A reward lies outside the values the world model has classes for."""


class UnknownFeatureMap(EvadeError):
    """A feature map was asked for by a name the network does not have."""


class VariablesError(EvadeError):
    """Variables of the original program are missing, superfluous or misshaped."""


class TrainingDiverged(EvadeError):
    """A loss or gradient is not finite; the update was refused and no weight was changed."""


class FailpointError(EvadeError):
    """EVADE_FAILPOINT is set to something that is not a name and a count."""


class StorageError(EvadeError):
    """Something could not be written, for instance because the disk is full; what was there before is intact."""


class NotStorable(EvadeError):
    """A record holds something that JSON cannot say, such as NaN."""


class UnreadableFile(EvadeError):
    """A file is missing, or damaged, or not of the kind it should be."""


class RunLocked(EvadeError):
    """Another process is working on this run."""


class JournalDamaged(EvadeError):
    """A journal is shorter than its checkpoint says, or a line before its last cannot be read."""


class NonFiniteWeights(EvadeError):
    """A tensor to be saved holds NaN or infinity; nothing was written."""


class NoUsableCheckpoint(EvadeError):
    """A run has checkpoints, and every one of them is damaged."""
