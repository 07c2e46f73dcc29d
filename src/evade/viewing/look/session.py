"""What one person sees: the game and its dreams side by side, step by step, with a way back.

No server and no browser here. A session plays one game at a time (`begin`, `start_at`), steps it (`step`), shows any
earlier step (`seek`), and answers questions about the frame on screen (`rewards`, `maps`). The same actions go to the
game and to every dream.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evade.envs.pictures import render_frame
from evade.errors import LookError
from evade.policies.acting import act
from evade.seeding import derive_seed
from evade.viewing.look.draws import MEAN, Strip, StripBuilder
from evade.viewing.look.film import Origin
from evade.viewing.look.games import LiveGame, RealGame, bring_to
from evade.viewing.look.maps import LayerMaps, compute_maps
from evade.viewing.look.source import RunSource
from evade.viewing.look.tracks import DreamTrack, GameTrack, Track, dream_on, has_parted
from evade.viewing.panels import Picture, difference

AGENT, RECORDED = "agent", "recorded"
"""Who chooses an action, instead of a number."""

MAX_STEPS = 2000
"""Steps that are remembered; then a new game must be begun."""

TRACE = 120
"""Newest steps whose rewards are shown as a line."""

CATCH_UP_CELLS = 60_000
"""A new pair of draws dreams again from the start if its steps have at most this many cells: some seconds."""

Edit = tuple[int, int, int]
"""Channel, row and column of an object to add, or to remove if it is there."""


@dataclass(frozen=True)
class Panel:
    """One picture with what belongs to it."""

    name: str
    picture: Picture
    reward: float
    total: float
    is_over: bool
    begin: int
    """The step at which it starts."""
    trace: tuple[float, ...]
    """The rewards of the newest steps, `View.trace_begin` first."""


@dataclass(frozen=True)
class View:
    """Everything shown of one step."""

    step: int
    last: int
    """The newest step there is."""
    action: int | None
    """That led here; None at the start."""
    score: float
    """Sum of the game's raw rewards."""
    game: Panel
    dreams: tuple[Panel, ...]
    """The mean's first, then those of the chosen draws; a dream that starts later is left out."""
    difference: Picture
    value: float
    """The policy's, of the game's observation."""
    probabilities: tuple[float, ...]
    """Of the policy's actions there."""
    parted: int | None
    """The first step at which the mean's dream differs from the game."""
    num_recorded: int
    """Recorded actions that can be played from here."""
    is_live: bool
    """Whether actions other than the recorded ones can be played."""
    trace_begin: int
    checkpoint: str


class Session:
    """One game with its dreams. Not thread-safe: call it from one thread.

    Args:
        source: the run; may be shared by several sessions, if they are called from the same thread.
    """

    def __init__(self, source: RunSource) -> None:
        self.source = source
        self.pair: tuple[str, ...] = ()
        """The chosen draws."""
        self._game: RealGame | None = None
        self._recorded: tuple[int, ...] = ()
        self._track: GameTrack
        self._dreams: list[DreamTrack] = []
        self._actions: list[int] = []
        self._cursor = 0
        self._live_at = 0  # the step at which the game itself is
        self._parted: int | None = None
        self._serial = object()  # of the game, so that questions about two games are not confused
        self._builder: tuple[object, StripBuilder] | None = None
        self.begin(0)

    def begin(self, seed: int) -> View:
        """Begin game number `seed`; the same number is the same game."""
        game = LiveGame(self.source.run.config, Origin(derive_seed(seed, "look", 0) % 2**31, 0))
        return self._open(game, torch.from_numpy(game.start), ())

    def start_at(self, chunk: int, frame: int) -> View:
        """Begin at a recorded frame."""
        start = self.source.film.start(chunk, frame)
        return self._open(bring_to(self.source.run.config, start), start.observation, start.actions)

    def step(self, action: int | str) -> View:
        """Play an action, the agent's, or the recorded one, from the step on screen; later steps are forgotten."""
        if self._track.is_over(self._cursor):
            raise LookError("The game is over: go back, or start again.")
        if self._cursor == MAX_STEPS:
            raise LookError(f"{MAX_STEPS} steps are remembered, and no more: start again.")
        assert self._game is not None
        chosen = self._choose(action)
        if self._live_at != self._cursor:
            self._game.rewind(self._actions[: self._cursor])
            self._live_at = self._cursor
        played = self._game.step(chosen)
        self._forget_later()
        self._live_at += 1
        self._actions.append(chosen)
        self._track.add(played)
        dream_on(self._dreams, self.source.posterior, chosen)
        self._cursor += 1
        if self._parted is None and has_parted(self._track, self._dreams[0], self._cursor):
            self._parted = self._cursor
        return self.view()

    def seek(self, step: int) -> View:
        """Show an earlier or later step; nothing is forgotten until the next action is played."""
        self._cursor = min(max(step, 0), self._track.last)
        return self.view()

    def choose_pair(self, names: Sequence[str]) -> View:
        """Dream under these draws too (two at most), from the start and with the actions played so far.

        If that would take long, they start from the game's frame on screen instead.
        """
        if len(names) > 2:
            raise LookError(f"Invalid number of draws {len(names)}: must be at most 2.")
        for name in names:
            self.source.posterior.find(name)
        self.pair = tuple(names)
        self._dream_again()
        return self.view()

    def observation(self, edits: Sequence[Edit] = ()) -> Tensor:
        """The game's observation on screen, uint8 `[K, C, H, W]`, with objects added to its last frame or removed."""
        observation = self._track.observation(self._cursor)
        if not edits:
            return observation
        game, edited = self.source.run.game, observation.clone()
        if game.levels != 2:
            raise LookError("This game shows pictures: objects can be added on grids only.")
        for channel, row, column in edits:
            if not (0 <= channel < game.channels and 0 <= row < game.height and 0 <= column < game.width):
                raise LookError(
                    f"Invalid cell {[channel, row, column]}: must be channel, row and column of a grid of "
                    f"{game.channels} x {game.height} x {game.width}."
                )
            edited[-1, channel, row, column] ^= 1
        return edited

    def picture(self, edits: Sequence[Edit] = ()) -> Picture:
        """The frame that `observation` ends with, as an image."""
        return self._render(self.observation(edits)[-1].numpy())

    def rewards(self, count: int, edits: Sequence[Edit] = ()) -> Strip:
        """Expected rewards of all actions under the mean and under `count` draws; call again until it is complete."""
        key = (self._serial, self._cursor, self.source.checkpoint, tuple(map(tuple, edits)))
        if self._builder is None or self._builder[0] != key:
            actions = self.source.run.game.num_actions
            self._builder = key, StripBuilder(self.source.posterior, self.observation(edits), actions)
        return self._builder[1].extend(count)

    def maps(self, layer: str, draw: str, action: int, edits: Sequence[Edit] = ()) -> LayerMaps:
        """Maps of one layer for the frame on screen and an action."""
        return compute_maps(self.source.posterior, self.observation(edits), self._check(action), layer, draw)

    def close(self) -> None:
        """Free the emulator."""
        if self._game is not None:
            self._game.close()

    @torch.no_grad()
    def view(self) -> View:
        """What is on screen."""
        at, game = self._cursor, self._track
        output = self.source.run.policy(game.observation(at).unsqueeze(0))
        trace_begin = max(0, at - TRACE)
        dreams = [dream for dream in self._dreams if dream.begin <= at]
        return View(
            step=at,
            last=game.last,
            action=self._actions[at - 1] if at else None,
            score=game.score(at),
            game=self._panel("game", game, trace_begin),
            dreams=tuple(self._panel(dream.draw, dream, trace_begin) for dream in dreams),
            difference=difference(self._render(game.frame(at)), self._render(self._dreams[0].frame(at))),
            value=output.value.item(),
            probabilities=tuple(torch.softmax(output.logits[0].float(), -1).tolist()),
            parted=self._parted if self._parted is not None and self._parted <= at else None,
            num_recorded=len(self._left_to_show()),
            is_live=self._game is not None and self._game.is_live,
            trace_begin=trace_begin,
            checkpoint=self.source.checkpoint,
        )

    def _open(self, game: RealGame, start: Tensor, recorded: tuple[int, ...]) -> View:
        self.close()
        self._game, self._recorded = game, recorded
        self._track, self._actions = GameTrack(start), []
        self._cursor = self._live_at = 0
        self._parted, self._serial = None, object()
        self._dreams = [DreamTrack(start, 0, name) for name in (MEAN, *self.pair)]
        return self.view()

    def _choose(self, action: int | str) -> int:
        if action == RECORDED:
            left = self._left_to_show()
            if not left:
                raise LookError("The recording has ended: go back, or choose another frame.")
            return left[0]
        if action == AGENT:
            run = self.source.run
            generator = torch.Generator().manual_seed(derive_seed(0, "look", self._cursor))
            observation = self._track.observation(self._cursor).unsqueeze(0)
            with torch.no_grad():
                return int(act(run.policy, observation, run.config.evaluation.temperature, generator).action.item())
        if not isinstance(action, int):
            raise LookError(f"Unknown action {action[:20]!r}: give a number, {AGENT!r} or {RECORDED!r}.")
        return self._check(action)

    def _check(self, action: int) -> int:
        count = self.source.run.game.num_actions
        if not 0 <= action < count:
            raise LookError(f"Invalid action {action}: must be 0 to {count - 1} in this game.")
        return action

    def _left_to_show(self) -> tuple[int, ...]:
        """The recorded actions from here on; none once another action was played."""
        at = self._cursor
        return self._recorded[at:] if tuple(self._actions[:at]) == self._recorded[:at] else ()

    def _forget_later(self) -> None:
        del self._actions[self._cursor :]
        for track in (self._track, *self._dreams):
            track.cut(self._cursor)
        self._dreams = [dream for dream in self._dreams if dream.begin <= self._cursor]
        if len(self._dreams) <= len(self.pair):
            self._dream_again()
        if self._parted is not None and self._parted > self._cursor:
            self._parted = None

    def _dream_again(self) -> None:
        """Give every chosen draw its dream, up to the newest step."""
        game, last = self.source.run.game, self._track.last
        is_short = last * game.height * game.width * len(self.pair) <= CATCH_UP_CELLS
        begin = 0 if is_short else self._cursor
        self._dreams = self._dreams[:1]
        added = [DreamTrack(self._track.observation(begin), begin, name) for name in self.pair]
        for action in self._actions[begin:]:
            dream_on(added, self.source.posterior, action)
        self._dreams += added

    def _panel(self, name: str, track: Track, trace_begin: int) -> Panel:
        at = self._cursor
        return Panel(
            name=name,
            picture=self._render(track.frame(at)),
            reward=track.reward(at),
            total=track.total(at),
            is_over=track.is_over(at),
            begin=track.begin,
            trace=tuple(track.reward(step) for step in range(max(trace_begin, track.begin), at + 1)),
        )

    def _render(self, frame: np.typing.NDArray[np.uint8]) -> Picture:
        return render_frame(frame, self.source.run.game.levels)
