"""JSON in, JSON out: every request, and everything that is not one."""

import base64
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.viewing.look.messages import HANDLERS, MAX_EDITS, answer
from evade.viewing.look.session import Session


def ask(session, do, **more):
    reply = json.loads(answer(session, json.dumps({"id": 4, "do": do, **more})))
    assert reply["id"] == 4
    return reply


def done(session, do, **more):
    reply = ask(session, do, **more)
    assert "error" not in reply, reply
    return reply["done"]


def pixels(picture):
    return np.frombuffer(base64.b64decode(picture["rgb"]), np.uint8).reshape(picture["h"], picture["w"], 3)


def floats(maps):
    return np.frombuffer(base64.b64decode(maps["f32"]), "<f4").reshape(maps["n"], maps["h"], maps["w"])


def test_hello_names_everything_the_page_shows(session):
    hello = done(session, "hello")
    assert hello["title"] == "Breakout"
    assert hello["actions"] == ["no-op", "left", "right"]
    assert [channel["name"] for channel in hello["channels"]] == ["paddle", "ball", "trail", "brick"]
    assert hello["channels"][0]["colour"] == [86, 180, 233]
    assert "event_prior" in hello["layers"]
    assert hello["has_draws"]


def test_the_requests_of_play_are_the_sessions_own(session):
    view = done(session, "begin", seed=5)
    assert view["step"] == 0
    view = done(session, "step", action=1)
    assert np.array_equal(pixels(view["game"]["picture"]), session.view().game.picture)
    assert done(session, "step", action="agent")["last"] == 2
    assert done(session, "seek", step=1)["step"] == 1
    view = done(session, "pair", draws=["8", "own"])
    assert [dream["name"] for dream in view["dreams"]] == ["mean", "8", "own"]
    assert done(session, "start", chunk=0, frame=3)["num_recorded"] > 0


def test_rewards_come_with_the_edited_picture(session):
    session.begin(0)
    reply = done(session, "rewards", count=4, edits=[[1, 0, 3]])
    strip = session.rewards(4, [(1, 0, 3)])
    assert np.allclose(reply["draws"], strip.draws)
    assert [1, 0, 3] in reply["objects"]
    assert pixels(reply["picture"])[0, 3].tolist() == [240, 228, 66]


def test_maps_and_sigmas_travel_without_loss(session):
    layer = "local_heads.events.local1.weighting"
    reply, maps = done(session, "maps", layer=layer, draw="3", action=1), session.maps(layer, "3", 1)
    for name in ("before", "mean", "draw"):
        assert torch.equal(torch.from_numpy(floats(reply[name]).copy()), getattr(maps, name))
    assert reply["channels"] == list(maps.channels)
    heat = floats(done(session, "sigma", layer="event_prior")["sigma"])
    assert np.isnan(heat).sum() == heat.size - 2500


def test_the_filmstrip_shows_episodes_and_their_frames(session, source):
    episodes = done(session, "episodes", chunk=0)["episodes"]
    begin, count, _ = episodes[1]
    film = done(session, "film", chunk=0, begin=begin, count=5)
    assert film["positions"][: min(5, count)] == list(range(min(5, count)))
    assert pixels(film["pictures"][0]).shape == (10, 10, 3)
    assert len(done(session, "film", chunk=0, begin=len(source.film.chunk(0).position) - 2, count=60)["pictures"]) == 2


def test_the_run_is_read_anew(session):
    run = done(session, "run")
    assert run["status"] == "finished"
    assert run["scores"]["points"]
    assert {series["name"] for series in run["series"]} >= {"posterior/disagreement", "faithfulness/divergence_step"}
    assert run["checkpoint"] == session.source.checkpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[1, 2]",
        '"step"',
        "[" * 50_000,
        '{"do": "step"}',
        '{"do": "step", "action": null}',
        '{"do": "step", "action": true}',
        '{"do": "step", "action": 1e400}',
        '{"do": "step", "action": 123456789012345678901234567890}',
        '{"do": "step", "action": -1}',
        '{"do": "step", "action": "agentagentagentagentagentagent"}',
        '{"do": "erase"}',
        '{"do": {"a": 1}}',
        '{"do": "__class__"}',
        '{"do": "begin", "seed": "1"}',
        '{"do": "seek", "step": 1.5}',
        '{"do": "pair", "draws": "1"}',
        '{"do": "pair", "draws": [1]}',
        '{"do": "pair", "draws": ["../1"]}',
        '{"do": "rewards", "count": 0}',
        '{"do": "rewards", "count": 100000}',
        '{"do": "rewards", "count": 16, "edits": [[0, 0]]}',
        '{"do": "rewards", "count": 16, "edits": [[0, 0, -1]]}',
        '{"do": "rewards", "count": 16, "edits": {"a": 1}}',
        json.dumps({"do": "rewards", "count": 16, "edits": [[0, 0, 0]] * (MAX_EDITS + 1)}),
        '{"do": "maps", "layer": 3, "draw": "1", "action": 0}',
        '{"do": "maps", "layer": "local_heads.events.local1.weighting", "draw": "1", "action": 9}',
        '{"do": "sigma", "layer": "../../config.json"}',
        '{"do": "film", "chunk": 77, "begin": 0, "count": 5}',
        '{"do": "film", "chunk": 0, "begin": 0, "count": 9999}',
        '{"do": "start", "chunk": 0, "frame": 99999999}',
    ],
)
def test_what_is_not_a_request_is_refused_and_the_session_goes_on(session, text):
    reply = json.loads(answer(session, text))
    assert reply["error"]
    assert "done" not in reply
    assert len(reply["error"]) < 400
    assert done(session, "step", action=0)["step"] == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("action", "seed", "step", "draws", "count", "edits", "layer", "draw", "chunk", "begin", "frame")


@settings(max_examples=60)
@given(st.sampled_from(sorted(HANDLERS)), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5))
def test_any_values_are_answered(source, do, fields):
    session = Session(source)
    reply = json.loads(answer(session, json.dumps({"id": 1, "do": do, **fields})))
    assert reply["id"] == 1
    assert ("done" in reply) != ("error" in reply)
    session.close()
