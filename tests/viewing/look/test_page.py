"""The page in a real browser, driven by keys and clicks."""

import base64
import json
import shutil
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from devtools import open_browser, open_page, wait_until
from evade.envs.pictures import render_frame
from evade.layers import hold, use_mean
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.files import write_json
from evade.runs.folder import RunFolder
from evade.viewing.look.server import LookServer
from evade.viewing.look.session import Session
from evade.viewing.look.source import DEMO, RunSource

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("look")]

PADDLE = (86, 180, 233)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as port:
        yield port


@contextmanager
def serving(path):
    # A run of its own: its thread holds draws in the networks while the test asks those of `source`.
    server = LookServer(RunSource(path))
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server():
    with serving(DEMO) as running:
        yield running


@pytest.fixture
def page(browser, server):
    """The page at its first frame, which is game 0's; afterwards nothing may have gone wrong in it."""
    with open_page(browser, server.url) as page:
        ready(page)
        yield page
        assert page.complaints() == []
        own = (server.url, server.url.replace("http", "ws"), "data:")
        assert [address for address in page.requests() if not address.startswith(own)] == []


def ready(page):
    page.wait("document.body?.dataset.ready == 'yes' && document.getElementById('strip').dataset.draws > 0")


def pixels(page, canvas):
    """A canvas as an array `[H, W, 3]`."""
    width, height, data = page.evaluate(
        f"""(() => {{ const canvas = document.getElementById({canvas!r});
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
        copy.drawImage(canvas, 0, 0);
        const {{data}} = copy.getImageData(0, 0, canvas.width, canvas.height);
        return [canvas.width, canvas.height, btoa(String.fromCharCode(...data))]; }})()"""
    )
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[..., :3]


def column_of_paddle(page, canvas):
    (column,) = np.flatnonzero((pixels(page, canvas)[9] == PADDLE).all(-1))
    return int(column)


def step_to(page, number):
    page.wait(f"document.getElementById('game').dataset.step == {number}")


def text(page, name):
    return page.evaluate(f"document.getElementById({name!r}).textContent")


def strip_of(page, edits):
    """The rewards shown for some changes of the frame, once they are complete."""
    page.wait(f"document.getElementById('strip').dataset.edits == {json.dumps(edits, separators=(',', ':'))!r}")
    return json.loads(page.evaluate("document.getElementById('strip').dataset.rewards"))


def test_keys_move_the_player_in_the_game_and_in_the_dream(page):
    begin = column_of_paddle(page, "game")
    for number, (key, moved) in enumerate([("ArrowLeft", -1), ("ArrowRight", 0), ("ArrowRight", 1), (" ", 1)], start=1):
        page.press(key)
        step_to(page, number)
        assert column_of_paddle(page, "game") == begin + moved == column_of_paddle(page, "dream")
    assert text(page, "step") == "step 4 of 4"
    assert not pixels(page, "difference").any()


def test_going_back_and_playing_again_shows_the_same_bytes(page):
    shown = [[pixels(page, name).tobytes() for name in ("game", "dream")]]
    for number, key in enumerate(["ArrowLeft", "ArrowRight", "ArrowLeft"], start=1):
        page.press(key)
        step_to(page, number)
        shown.append([pixels(page, name).tobytes() for name in ("game", "dream")])
    for number in (2, 1):
        page.press(",")
        step_to(page, number)
        assert [pixels(page, name).tobytes() for name in ("game", "dream")] == shown[number]
    for number, key in ((2, "ArrowRight"), (3, "ArrowLeft")):
        page.press(key)
        step_to(page, number)
        assert [pixels(page, name).tobytes() for name in ("game", "dream")] == shown[number]


def test_the_agent_and_a_recording_play_by_themselves_until_they_are_paused(page):
    page.click_on("input[value=agent] + span")
    page.press("p")
    page.wait("document.getElementById('game').dataset.step >= 4")
    page.press("p")
    page.wait("document.getElementById('toggle').textContent == 'Play'")
    page.click_on("input[value=recorded] + span")
    step_to(page, 0)
    page.wait("document.getElementById('film').children.length > 3")
    page.evaluate("document.querySelector('#film button:nth-child(3)').click()")
    step_to(page, 0)
    page.press(".")
    step_to(page, 1)
    assert page.evaluate("document.querySelector('input[name=driver]:checked').value") == "recorded"


def test_a_click_on_a_cell_changes_the_rewards_and_a_second_one_changes_them_back(page, source):
    before = strip_of(page, [])
    page.click_on("#grid", across=0.35, down=0.05)
    after = strip_of(page, [[1, 0, 3]])
    session = Session(source)
    expected = session.rewards(16, [(1, 0, 3)])
    session.close()
    assert np.allclose(after["draws"], expected.draws, atol=1e-6)
    assert np.std(after["draws"]) > 5 * np.std(before["draws"])
    assert "Before the change" in text(page, "strip-text")
    page.click_on("#grid", across=0.35, down=0.05)
    assert strip_of(page, []) == before


def test_an_object_is_moved_by_dragging_it(page, source):
    session = Session(source)
    (ball,) = session.observation()[-1, 1].nonzero().tolist()
    session.close()
    x, y, width, height = page.box("#grid")
    place = lambda row, column: (x + (column + 0.5) / 10 * width, y + (row + 0.5) / 10 * height)  # noqa: E731
    page.move(*place(*ball))
    page.mouse("mousePressed", *place(*ball))
    page.move(*place(7, 7))
    page.mouse("mouseReleased", *place(7, 7))
    strip_of(page, [[1, *ball], [1, 7, 7]])


def test_two_draws_pay_what_their_tensors_say(page, source):
    page.evaluate("document.getElementById('draw-a').focus(); document.getElementById('draw-a').select()")
    for letter in "41":
        page.press(letter)
    page.press("Enter")
    page.wait("document.getElementById('reward-a').textContent == 'starts here'")
    page.evaluate("document.activeElement.blur()")
    session = Session(source)
    observation, model = session.observation().unsqueeze(0), source.run.world_model
    session.close()
    page.press("ArrowRight")
    step_to(page, 1)
    rewards = []
    for key, name in (("a", "41"), ("b", "2")):
        assert page.evaluate(f"document.getElementById('draw-{key}').value") == name
        with hold(model, source.posterior.find(name)):
            predicted = model.predict(observation, torch.tensor([2]))
        rewards.append(predicted.reward.item())
        # The page's draws are dreamt in one forward, which may round differently.
        shown = float(page.evaluate(f"document.getElementById('dream-{key}').dataset.reward"))
        assert shown == pytest.approx(rewards[-1], abs=1e-7)
        assert np.array_equal(pixels(page, f"dream-{key}"), render_frame(predicted.frame[0].numpy(), 2))
    assert rewards[0] != rewards[1]


def test_layer_maps_are_the_models_tensors_and_the_pointer_reads_them(page, source):
    page.evaluate("document.getElementById('layers').scrollIntoView({behavior: 'instant'})")
    layer = "local_heads.events.local1.interaction"
    page.evaluate(
        f"""(() => {{ const box = document.getElementById("layer"); box.value = {layer!r};
        box.dispatchEvent(new Event("change")); }})()"""
    )
    page.wait(f"document.getElementById('maps').dataset.layer == {layer!r}")
    session = Session(source)
    inputs, model = (session.observation().unsqueeze(0), torch.tensor([0])), source.run.world_model
    session.close()
    with use_mean(model):
        mean = model.feature_maps(*inputs)[f"{layer}.after"][0]
    with hold(model, source.posterior.find("1")):
        drawn = model.feature_maps(*inputs)[f"{layer}.after"][0]
    shown = page.evaluate(
        "[...document.querySelectorAll('#maps canvas')].map(map => [map.dataset.map, map.dataset.values])"
    )
    assert len(shown) == 4 * 6
    for name, values in shown:
        kind, channel = name.split()
        expected = {"mean": mean, "draw": drawn, "difference": drawn - mean}.get(kind)
        if expected is not None:
            assert np.allclose(json.loads(values), expected[int(channel)].flatten(), rtol=1e-6, atol=1e-6)
    x, y, width, height = page.box("#maps canvas[data-map^=draw]")
    page.move(x + width * 0.05, y + height * 0.05)
    first = json.loads(next(values for name, values in shown if name.startswith("draw")))[0]
    assert text(page, "tip").startswith("row 0, column 0: ")
    assert float(text(page, "tip").split(": ")[1]) == pytest.approx(first, rel=1e-3)


def test_the_curves_of_the_run_are_drawn(page):
    page.wait("document.querySelector('#charts canvas').dataset.points > 0")
    assert text(page, "run-status").startswith("finished")


def test_the_page_of_a_run_that_trains_follows_it(browser, tmp_path):
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(DEMO, folder.path)
    write_json(folder.status, {"status": "running"})
    with serving(folder.path) as server, open_page(browser, server.url) as page:
        ready(page)
        page.wait("document.querySelector('#charts canvas').dataset.points > 0")
        before = int(page.evaluate("document.querySelector('#charts canvas').dataset.points"))
        rewards = strip_of(page, [])
        assert text(page, "run-status").startswith("still training")
        with folder.scores.open("a") as scores:
            last = json.loads(folder.scores.read_text().splitlines()[-1])
            scores.write(json.dumps(last | {"real_steps": 99_000, "score": 7.0}) + "\n")
        saved = load_checkpoint(folder.checkpoints, pytest.fail)
        saved.tensors["world_model"]["event_prior.sigma"] *= 9
        save_checkpoint(folder.checkpoints, saved.number + 1, saved.tensors, saved.state)
        page.wait(f"document.querySelector('#charts canvas').dataset.points == {before + 1}")
        page.wait(f"document.getElementById('run-status').textContent.endsWith('checkpoint {saved.number + 1}')")
        page.wait(f"document.getElementById('strip').dataset.rewards != {json.dumps(rewards, separators=(',', ':'))!r}")
        assert page.complaints() == []


def test_the_keyboard_alone_is_enough(page):
    """Every control is reached by Tab and worked by keys: play, choose an object, change a cell, compare draws."""
    reached = []
    for _ in range(60):
        page.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        if reached[-1] == "grid":
            break
    assert {"restart", "toggle", "forward", "time", "grid"} <= set(reached)
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.press(key)
    strip_of(page, [[1, 1, 1]])
    page.press("Tab")
    page.press("Enter")
    strip_of(page, [[1, 1, 1]])
    page.evaluate("document.activeElement.blur()")
    page.press("d")
    wait_until(lambda: page.evaluate("document.getElementById('draw-a').value") != "1" or page.press("d"))
    page.press("r")
    step_to(page, 0)


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_sticks_out_of_a_narrow_or_a_wide_window(page, width):
    page.resize(width, 900)
    page.evaluate("document.getElementById('film-box').open = true")
    page.wait("document.getElementById('film').children.length > 3")
    page.wait(f"document.documentElement.scrollWidth <= {width}")
    for name in ("game", "dream", "difference", "grid", "strip", "trace"):
        left, _, size, _ = page.box(f"#{name}")
        assert left >= 0
        assert left + size <= width
        assert size >= 90
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 14


def test_a_closed_tab_leaves_nothing_behind_and_a_lost_server_is_said(browser):
    with serving(DEMO) as server:
        with open_page(browser, server.url) as page:
            ready(page)
            assert server._num_tabs == 1
        wait_until(lambda: server._num_tabs == 0)
        with open_page(browser, server.url) as page:
            ready(page)
            server.stop()
            page.wait("document.body.dataset.ready == 'lost'")
            assert "start `evade look` again" in text(page, "notice")
