"""What people call the actions of a game and the channels of its frames."""

from typing import NamedTuple

from evade.envs.preprocess import Env


class Names(NamedTuple):
    """Names in the order of the numbers that networks use."""

    actions: tuple[str, ...]
    channels: tuple[str, ...]
    """Empty if the frames are pictures, or nothing is known of their channels."""


def find_names(env: Env) -> Names:
    """Read the names from a built game: our own grids have them as attributes, Atari lists its actions' meanings."""
    bare = env.unwrapped
    num_actions = int(env.action_space.n)  # type: ignore[attr-defined] # every builder makes Discrete actions
    actions: tuple[str, ...] = getattr(bare, "action_names", ())
    if not actions and hasattr(bare, "get_action_meanings"):
        actions = tuple(meaning.lower() for meaning in bare.get_action_meanings())
    if len(actions) != num_actions:
        actions = tuple(f"action {index}" for index in range(num_actions))
    channels = getattr(bare, "channels", ())
    return Names(actions, channels if isinstance(channels, tuple) else ())
