"""MiniGrid games as fully observed grids of objects, one binary channel for each kind of thing.

The channels are chosen so that the effect of an action depends only on the agent's cell and the cell in front of it
(moving obstacles aside), which a 3x3 convolution sees:

- The agent has one channel for its place and one for each direction, set in its cell. A step forward shifts both by one
  cell, a turn swaps two channels in place. The place has a channel of its own because it shows exactly one object in
  every frame, which world models that keep single objects can rely on.
- What the agent carries is set in the agent's cell (`carried key`), not over the whole grid: it moves with the agent,
  and picking up or dropping changes two cells instead of all.
- A door has one channel for each state: open, closed, locked.
- Colours have channels only where they matter: for keys and doors if a layout has locked doors in two colours, so that
  keys must match; and for a kind of object if a layout has two of them in different colours and the mission names one
  by its colour. A cell holds at most one object, so all kinds share one channel per colour; carried objects have
  their own. None of the documented games has colour channels.

The kinds, colours and actions of a game are found by looking at layouts with fixed seeds, so they are the same in every
run. The mission text is not shown (in games such as Fetch the goal is therefore unknown), nor are contents of boxes.
"""

import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from evade.envs.extras import import_extra
from evade.envs.games import Game
from evade.envs.pictures import render_frame
from evade.envs.preprocess import Env, Frame, StepResult, make_sticky
from evade.envs.settings import EnvConfig
from evade.errors import ActionError, ExtraMissing, UnsupportedGame

LEVELS = 2
"""Channels are binary."""
NUM_LAYOUTS = 50
"""Layouts that are looked at to find a game's kinds and colours. In all registered games each kind is in at least every
second layout."""
DIRECTIONS = ("right", "down", "left", "up")
"""In MiniGrid's order."""
KINDS = ("key", "ball", "box", "door", "goal", "lava", "wall")
"""Objects with channels, in order. A floor tile has no effect and no channel."""
CARRIABLE = ("key", "ball", "box")
DOOR_STATES = ("open", "closed", "locked")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
ACTIONS = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
"""MiniGrid's, in order."""
DONE_GAMES = ("GoToDoor", "GoToObject")
"""The only games in which the action `done` has an effect: it claims success."""


@dataclass(frozen=True)
class Contents:
    """The objects, colours and actions that occur in a game."""

    kinds: tuple[str, ...]
    """Of `KINDS`."""
    coloured: frozenset[str]
    """Kinds whose colours matter."""
    colours: tuple[str, ...]
    """Of `COLOURS`: those of coloured kinds."""
    actions: tuple[int, ...]
    """Numbers of the actions that have an effect."""

    @property
    def carriable(self) -> tuple[str, ...]:
        """Kinds that the agent can carry."""
        return tuple(kind for kind in self.kinds if kind in CARRIABLE and ACTIONS.index("pickup") in self.actions)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of a frame's channels."""
        objects = [f"door {state}" if kind == "door" else kind for kind in self.kinds for state in _states(kind)]
        carries_colours = any(kind in self.coloured for kind in self.carriable)
        return (
            *(f"facing {direction}" for direction in DIRECTIONS),
            "agent",
            *(f"carried {kind}" for kind in self.carriable),
            *(f"carried {colour}" for colour in self.colours if carries_colours),
            *objects,
            *self.colours,
        )


def _states(kind: str) -> tuple[str, ...]:
    return DOOR_STATES if kind == "door" else ("",)


class MiniGridGame(gymnasium.Env[Frame, int]):
    """One MiniGrid game, fully observed: uint8 `[C, H, W]`, channels as named in `channels`.

    The reward is 1 at success and 0 otherwise: MiniGrid's own reward, which shrinks with the number of steps, is only
    looked at for its sign. Lava and collisions end the episode with reward 0. MiniGrid's own step limit truncates.

    Args:
        env_id: `MiniGrid-DoorKey-5x5-v0`.
        minimal_actions: offer only the 3 to 7 actions that have an effect in this game, in MiniGrid's order.
        render_mode: `"rgb_array"` to enable `render`.
        render_scale: side of a rendered cell in pixels.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        env_id: str,
        *,
        minimal_actions: bool = True,
        render_mode: Literal["rgb_array"] | None = None,
        render_scale: int = 16,
    ) -> None:
        contents = find_contents(env_id)
        self._env_id = env_id
        self._game = _make(env_id)
        self._actions = contents.actions if minimal_actions else tuple(range(int(self._game.action_space.n)))
        self.action_names = tuple(ACTIONS[action] for action in self._actions)
        self._coloured = contents.coloured
        self.channels = contents.channels
        self._channel = {name: index for index, name in enumerate(self.channels)}
        self._codes: dict[tuple[str, str, str], int] = {}
        self._table = np.zeros((0, len(self.channels)), np.uint8)
        shape = (len(self.channels), self._game.height, self._game.width)
        self.observation_space = spaces.Box(0, LEVELS - 1, shape, np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))  # type: ignore[assignment] # counts in int64
        self.render_mode = render_mode
        self._render_scale = render_scale

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode with a new layout; a seed determines everything that follows. There are no options."""
        super().reset(seed=seed, options=options)
        self._game.reset(seed=seed)
        return self._frame(), {}

    def step(self, action: int) -> StepResult:
        """Play one action of the game."""
        if not 0 <= action < len(self._actions):
            raise ActionError(f"Invalid action {action}: must be 0 to {len(self._actions) - 1} in this game.")
        _, reward, terminated, truncated, _ = self._game.step(self._actions[action])
        return self._frame(), float(reward > 0), bool(terminated), bool(truncated), {}

    def render(self) -> Frame | None:
        """The current frame as an RGB image, `render_scale` pixels per cell; None without a render mode."""
        return render_frame(self._frame(), LEVELS, self._render_scale) if self.render_mode else None

    def _frame(self) -> Frame:
        game = self._game
        codes = [self._encode(thing) for thing in game.grid.grid]
        frame = self._table[codes].reshape(game.height, game.width, -1).transpose(2, 0, 1)
        column, row = game.agent_pos
        names = [f"facing {DIRECTIONS[game.agent_dir]}", "agent"]
        if game.carrying is not None:
            names.append(f"carried {game.carrying.type}")
            if game.carrying.type in self._coloured:
                names.append(f"carried {game.carrying.color}")
        for name in names:
            frame[self._find_channel(name), row, column] = 1
        return np.ascontiguousarray(frame)

    def _encode(self, thing: Any) -> int:
        """The row of `_table` with the channels of a cell that holds a thing, or None."""
        key = ("", "", "") if thing is None else (thing.type, _state_of(thing), thing.color)
        code = self._codes.get(key)
        if code is None:
            kind, state, colour = key
            row = np.zeros((1, len(self.channels)), np.uint8)
            if kind not in ("", "floor"):
                row[0, self._find_channel(f"{kind} {state}".strip())] = 1
                if kind in self._coloured:
                    row[0, self._find_channel(colour)] = 1
            code = self._codes[key] = len(self._table)
            self._table = np.concatenate([self._table, row])
        return code

    def _find_channel(self, name: str) -> int:
        if name not in self._channel:
            raise UnsupportedGame(
                f"{self._env_id} shows {name!r}, for which it has no channel: it is in none of the {NUM_LAYOUTS} "
                "layouts that its channels were found by."
            )
        return self._channel[name]


def _state_of(thing: Any) -> str:
    if thing.type != "door":
        return ""
    return "open" if thing.is_open else "locked" if thing.is_locked else "closed"


def _make(env_id: str) -> Any:
    """The package's own environment, without wrappers and without its partial observations."""
    import_extra("minigrid", extra="minigrid")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of an id that has a newer version
        game: Any = gymnasium.make(env_id, disable_env_checker=True).unwrapped
    game.gen_obs = dict  # the partial observation is not used, and it takes most of the time of a step
    return game


@lru_cache
def find_contents(env_id: str) -> Contents:
    """Look at the game's layouts with seeds 0 to `NUM_LAYOUTS` - 1."""
    game = _make(env_id)
    colours: dict[str, set[str]] = defaultdict(set)
    coloured: set[str] = set()
    for seed in range(NUM_LAYOUTS):
        try:
            game.reset(seed=seed)
        except gymnasium.error.DependencyNotInstalled as error:
            raise ExtraMissing(f"{env_id} needs another package: {error}.") from error
        things = [each for thing in game.grid.grid if thing is not None for each in _unpack(thing)]
        by_kind: dict[str, set[str]] = defaultdict(set)
        for thing in things:
            by_kind[thing.type].add(thing.color)
        if len({thing.color for thing in things if _state_of(thing) == "locked"}) > 1:
            coloured |= {"key", "door"}
        for kind, shown in by_kind.items():
            colours[kind] |= shown
            if len(shown) > 1 and any(f"{colour} {kind}" in game.mission for colour in COLOURS):
                coloured.add(kind)
    kinds = tuple(kind for kind in KINDS if kind in colours)
    return Contents(
        kinds=kinds,
        coloured=frozenset(coloured),
        colours=tuple(colour for colour in COLOURS if any(colour in colours[kind] for kind in coloured)),
        actions=_find_actions(env_id, kinds, int(game.action_space.n)),
    )


def _unpack(thing: Any) -> list[Any]:
    """A thing, and what is in it if it is a box."""
    return [thing] if thing.contains is None else [thing, *_unpack(thing.contains)]


def _find_actions(env_id: str, kinds: tuple[str, ...], num_actions: int) -> tuple[int, ...]:
    names = {"left", "right", "forward"}
    if any(kind in CARRIABLE for kind in kinds):
        names |= {"pickup", "drop"}
    if "door" in kinds or "box" in kinds:
        names.add("toggle")
    if env_id.removeprefix("MiniGrid-").startswith(DONE_GAMES):
        names.add("done")
    return tuple(number for number, name in enumerate(ACTIONS[:num_actions]) if name in names)


def build_minigrid(game: Game, config: EnvConfig) -> Env:
    """Build a MiniGrid game; `minimal_actions` and sticky actions follow `config`."""
    return make_sticky(
        MiniGridGame(game.minigrid_id, minimal_actions=config.minimal_actions), config.sticky_probability
    )
