"""The error type of the event layers; defined here so that this folder has no other dependency."""


class LayerError(ValueError):
    """An invalid argument, input or draw of an event layer; the message says what is wrong and what to do."""
