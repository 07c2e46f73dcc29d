"""Every exception of the package a user can meet, one line of meaning each.

`evade.layers` stands alone and brings its own `LayerError`; the command line reports both kinds the same way.
"""


class EvadeError(Exception):
    """Base of all errors below; catching it catches every error this package raises on purpose."""


class ConfigError(EvadeError):
    """A setting has an invalid value; the message names the field, the value and the rule."""


class ShapeError(EvadeError):
    """A tensor does not have the shape or type that a network or function documents."""


class ActionError(EvadeError):
    """An action lies outside the game's range."""


class RewardError(EvadeError):
    """A reward lies outside the values the world model has classes for."""


class UnknownFeatureMap(EvadeError):
    """A feature map was asked for by a name the network does not have."""


class VariablesError(EvadeError):
    """Variables of T2T SimPLe are missing, unexpected or of the wrong shape."""


class TrainingDiverged(EvadeError):
    """A loss or gradient is not finite; the update was refused and no weight was changed."""


class DeviceMissing(EvadeError):
    """The device that was asked for is not there, or torch was built without support for it."""


class CompileError(EvadeError):
    """Compilation was requested and is not possible: something is missing, or compiling failed."""


class UnknownGame(EvadeError):
    """No game has the given name; the message suggests similar ones."""


class UnsupportedGame(EvadeError):
    """A game's observations or actions are not of a kind the networks can learn."""


class ExtraMissing(EvadeError):
    """An optional package is not installed; the message names the extra that brings it."""


class ResetNeeded(EvadeError):
    """A game was stepped before its first reset."""


class UnknownMethod(EvadeError):
    """A method has no scores of this kind, in the paper or among the runs."""


class ScoreError(EvadeError):
    """A set of scores cannot answer the question: empty, not finite, or not comparable with another."""


class NormalisationError(EvadeError):
    """Scores cannot be normalised, because the two scores that span the scale are equal or not finite."""


class TableError(EvadeError):
    """A table has rows that do not fit its columns, or cannot be written in the form asked for."""


class FigureError(EvadeError):
    """A figure cannot be plotted or written."""


class ReportError(EvadeError):
    """A report cannot be made of these runs or written there, or shows other numbers than its runs hold."""


class ReplayCorrupt(EvadeError):
    """Experience on disk is missing or damaged, or there is too little of it to sample from."""


class UnknownPreset(EvadeError):
    """No preset or variant has the given name; the message lists those there are."""


class ConfigChanged(EvadeError):
    """A run cannot be resumed with other settings; the message lists each difference."""


class Interrupted(EvadeError):
    """The run was asked to stop; it has been saved and can be resumed."""


class RunError(EvadeError):
    """A run folder is not usable for this command; the message says why."""


class IndexUnusable(EvadeError):
    """A results index is missing, damaged, being written, or not an index; it can always be built again."""


class PlanError(EvadeError):
    """A sweep's plan cannot be read, or plans nothing, or plans a run twice."""


class ClusterError(EvadeError):
    """A cluster cannot be reached, or one of its machines cannot train the runs of a sweep."""


class FailpointError(EvadeError):
    """EVADE_FAILPOINT is not a name and a count."""


class StorageError(EvadeError):
    """Something could not be written, for instance because the disk is full; what was there before is intact."""


class NotStorable(EvadeError):
    """A record holds something that JSON cannot represent, such as NaN."""


class UnreadableFile(EvadeError):
    """A file is missing, or damaged, or not of the kind it should be."""


class RunLocked(EvadeError):
    """Another process is working on this run."""


class LockUnsupported(EvadeError):
    """This operating system has no lock that a run could be held with."""


class JournalDamaged(EvadeError):
    """A journal is shorter than its checkpoint says, or a line before its last cannot be read."""


class NonFiniteWeights(EvadeError):
    """A tensor to be saved holds NaN or infinity; nothing was written."""


class NoUsableCheckpoint(EvadeError):
    """A run has checkpoints, and every one of them is damaged."""


class CheckpointMismatch(EvadeError):
    """A checkpoint is whole, but does not hold what its settings ask for; the message names the part."""


class ImportRefused(EvadeError):
    """A run folder names a module to import, and the caller did not allow it; the message says how to."""


class VideoError(EvadeError):
    """A video cannot be written: no frames, frames that do not fit together, or the encoder failed."""


class MetricsError(EvadeError):
    """A line of a metrics file is not a record of iteration, phase, step and values."""


class LookError(EvadeError):
    """`evade look` was asked for something that the run, the game or the page does not have."""
