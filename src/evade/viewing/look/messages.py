"""The messages between page and session: JSON in, JSON out. A message that makes no sense is answered with an error.

A request is `{"id": 7, "do": "step", "action": 2}`; the answer is `{"id": 7, "done": {...}}` or `{"id": 7, "error":
"..."}`. Pictures and maps travel as base64 of their bytes.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from torch import Tensor

from evade.envs.pictures import COLOURS, render_frame
from evade.errors import EvadeError, LookError
from evade.layers import LayerError
from evade.viewing.look.curves import read_progress
from evade.viewing.look.draws import LARGEST_NUMBER, MAX_DRAWS, MEAN, OWN
from evade.viewing.look.maps import list_layers, sigma_heat
from evade.viewing.look.session import MAX_STEPS, Edit, Session, View
from evade.viewing.panels import Picture

MAX_FILM = 60
"""Frames of the filmstrip in one answer."""

THUMBNAIL = 60
"""Rows above which a frame of the filmstrip shows every second, third, ... pixel."""

MAX_EDITS = 64

Message = dict[str, Any]
Handler = Callable[[Session, Message], Any]


def answer(session: Session, text: str) -> str:
    """Answer one message; a mistake in it becomes an error in the answer, and the session goes on."""
    number: Any = None
    try:
        message = _parse(text)
        number = message.get("id") if isinstance(message.get("id"), int) else None
        handler = HANDLERS.get(str(message.get("do")))
        if handler is None:
            raise LookError(f"Unknown request {str(message.get('do'))[:40]!r}: must be one of {', '.join(HANDLERS)}.")
        result = {"id": number, "done": handler(session, message)}
    except (EvadeError, LayerError) as error:
        result = {"id": number, "error": str(error)}
    return json.dumps(result, allow_nan=False)


def _parse(text: str) -> Message:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise LookError("Invalid message: must be JSON.") from None
    if not isinstance(message, dict):
        raise LookError("Invalid message: must be a JSON object.")
    return message


def _hello(session: Session, message: Message) -> Message:
    source = session.source
    run, posterior = source.run, source.posterior
    channels = source.names.channels or tuple(f"channel {index}" for index in range(run.game.channels))
    is_grid = run.game.levels == 2
    return {
        "title": source.title,
        "game": run.config.game,
        "variant": run.config.variant,
        "preset": run.config.preset,
        "seed": run.config.seed,
        "folder": str(source.folder.path),
        "rows": run.game.height,
        "columns": run.game.width,
        "is_grid": is_grid,
        "lowest_reward": run.game.lowest_reward,
        "highest_reward": run.game.highest_reward,
        "channels": [
            {"name": name, "colour": COLOURS[index % len(COLOURS)]} for index, name in enumerate(channels) if is_grid
        ],
        "actions": source.names.actions,
        "has_draws": posterior.exists,
        "own_draw": OWN if posterior.has_own else None,
        "layers": list_layers(posterior),
        "chunks": [source.film.iteration(number) for number in range(source.film.num_chunks)],
        "iterations": run.config.schedule.iterations,
        "max_steps": MAX_STEPS,
        "max_draws": MAX_DRAWS,
        "view": _view(session.view()),
    }


def _begin(session: Session, message: Message) -> Message:
    return _view(session.begin(_integer(message, "seed", LARGEST_NUMBER)))


def _start(session: Session, message: Message) -> Message:
    return _view(
        session.start_at(_integer(message, "chunk", LARGEST_NUMBER), _integer(message, "frame", LARGEST_NUMBER))
    )


def _step(session: Session, message: Message) -> Message:
    action = message.get("action")
    return _view(session.step(action if isinstance(action, str) else _integer(message, "action", LARGEST_NUMBER)))


def _seek(session: Session, message: Message) -> Message:
    return _view(session.seek(_integer(message, "step", MAX_STEPS)))


def _pair(session: Session, message: Message) -> Message:
    names = message.get("draws")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LookError('Invalid draws: must be a list of names, such as ["3", "9"].')
    return _view(session.choose_pair(names))


def _rewards(session: Session, message: Message) -> Message:
    edits = _edits(message)
    strip = session.rewards(_integer(message, "count", MAX_DRAWS, least=1), edits)
    return {
        "mean": strip.mean.tolist(),
        "draws": strip.draws.tolist(),
        "wanted": strip.wanted,
        "spread": strip.spread.tolist(),
        "total": strip.total,
        "beyond_scale": strip.beyond_scale,
        "picture": _picture(session.picture(edits)),
        "objects": [] if session.source.run.game.levels != 2 else session.observation(edits)[-1].nonzero().tolist(),
    }


def _maps(session: Session, message: Message) -> Message:
    maps = session.maps(
        _string(message, "layer"),
        _string(message, "draw"),
        _integer(message, "action", LARGEST_NUMBER),
        _edits(message),
    )
    fields = {name: _floats(getattr(maps, name)) for name in ("before", "mean", "draw")}
    return {"layer": maps.layer, "channels": maps.channels, "of": maps.num_channels, "changes": maps.changes, **fields}


def _sigma(session: Session, message: Message) -> Message:
    layer = _string(message, "layer")
    return {"layer": layer, "sigma": _floats(sigma_heat(session.source.posterior, layer).unsqueeze(0))}


def _film(session: Session, message: Message) -> Message:
    number, begin = _integer(message, "chunk", LARGEST_NUMBER), _integer(message, "begin", LARGEST_NUMBER)
    film, levels = session.source.film, session.source.run.game.levels
    chunk = film.chunk(number)
    shown = slice(begin, begin + min(_integer(message, "count", MAX_FILM), MAX_FILM))
    every = max(1, -(-session.source.run.game.height // THUMBNAIL))
    return {
        "chunk": number,
        "begin": begin,
        "length": len(chunk.position),
        "pictures": [
            _picture(np.ascontiguousarray(render_frame(frame.numpy(), levels)[::every, ::every]))
            for frame in chunk.frame[shown]
        ],
        "positions": chunk.position[shown].tolist(),
        "rewards": chunk.raw_reward[shown].tolist(),
        "ends": chunk.terminated[shown].tolist(),
    }


def _episodes(session: Session, message: Message) -> Message:
    number = _integer(message, "chunk", LARGEST_NUMBER)
    found = session.source.film.episodes(number)
    return {"chunk": number, "episodes": [[each.begin, each.num_frames, each.score] for each in found]}


def _run(session: Session, message: Message) -> Message:
    """Where the run stands; loads its newest checkpoint."""
    session.source.check()
    progress = read_progress(session.source.folder.path)
    session.source.refresh()
    film = session.source.film
    return {
        **asdict(progress),
        "checkpoint": session.source.checkpoint,
        "chunks": [film.iteration(number) for number in range(film.num_chunks)],
    }


HANDLERS: dict[str, Handler] = {
    "hello": _hello,
    "begin": _begin,
    "start": _start,
    "step": _step,
    "seek": _seek,
    "pair": _pair,
    "rewards": _rewards,
    "maps": _maps,
    "sigma": _sigma,
    "film": _film,
    "episodes": _episodes,
    "run": _run,
}
"""What a page can ask for."""


def _view(view: View) -> Message:
    values = {name: getattr(view, name) for name in View.__dataclass_fields__}
    panels = [
        {name: getattr(panel, name) for name in panel.__dataclass_fields__} | {"picture": _picture(panel.picture)}
        for panel in (view.game, *view.dreams)
    ]
    return values | {"game": panels[0], "dreams": panels[1:], "difference": _picture(view.difference)}


def _picture(picture: Picture) -> Message:
    height, width, _ = picture.shape
    return {"w": width, "h": height, "rgb": base64.b64encode(picture.tobytes()).decode()}


def _floats(maps: Tensor) -> Message:
    """`[n, H, W]` as little-endian float32."""
    count, height, width = maps.shape
    data = maps.contiguous().numpy().astype("<f4").tobytes()
    return {"n": count, "h": height, "w": width, "f32": base64.b64encode(data).decode()}


def _integer(message: Message, name: str, most: int, *, least: int = 0) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise LookError(f"Invalid {name} = {str(value)[:20]}: must be a whole number from {least} to {most}.")
    return value


def _string(message: Message, name: str) -> str:
    value = message.get(name, MEAN if name == "draw" else None)
    if not isinstance(value, str):
        raise LookError(f"Invalid {name} = {str(value)[:20]}: must be a string.")
    return value


def _edits(message: Message) -> tuple[Edit, ...]:
    edits = message.get("edits", [])
    is_list = isinstance(edits, list) and len(edits) <= MAX_EDITS
    if not is_list or not all(isinstance(edit, list) and len(edit) == 3 for edit in edits):
        raise LookError(f"Invalid edits: must be at most {MAX_EDITS} lists of channel, row and column.")
    if not all(isinstance(number, int) and not isinstance(number, bool) for edit in edits for number in edit):
        raise LookError("Invalid edits: channel, row and column must be whole numbers.")
    return tuple((edit[0], edit[1], edit[2]) for edit in edits)
