"""The one error of the event layers; kept here so that this folder stands alone."""


class LayerError(ValueError):
    """An event layer or a draw was given something it cannot work with; the message says what and what to do."""
