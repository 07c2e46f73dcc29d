"""The web layer under attack: each attempt is refused in words, and the server goes on."""

import http.client
import json
import re
import shutil
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from evade.errors import LookError
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.lock import RunLock
from evade.viewing.look.guard import Allowance
from evade.viewing.look.server import MAX_TABS, LookServer
from evade.viewing.look.source import DEMO, RunSource


@contextmanager
def serving(source):
    server = LookServer(source)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server(source):
    with serving(source) as running:
        yield running


def get(server, path=None, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    sent = {"Host": f"127.0.0.1:{server.port}", **{name.title(): value for name, value in headers.items()}}
    connection.putrequest(method, path or "/" + server.url.split("/", 3)[3], skip_host=True)
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer, text


def root(server):
    return "/" + server.url.split("/", 3)[3]


@contextmanager
def talking(server, **options):
    address = server.url.replace("http", "ws") + "socket"
    origin = options.pop("origin", f"http://127.0.0.1:{server.port}")
    with connect(address, origin=origin, max_size=None, compression=None, **options) as socket_:
        yield socket_


def ask(websocket, do, **more):
    websocket.send(json.dumps({"id": 1, "do": do, **more}))
    return json.loads(websocket.recv(timeout=20))


def works(server):
    with talking(server) as websocket:
        return ask(websocket, "step", action=0)["done"]["step"] == 1


def test_the_page_and_its_files_are_served_with_strict_headers(server):
    for name, kind in (("", "text/html"), ("main.js", "javascript"), ("style.css", "text/css")):
        answer, text = get(server, root(server) + name)
        assert answer.status == 200
        assert kind in answer.getheader("content-type")
        assert "default-src 'none'" in answer.getheader("content-security-policy")
        assert answer.getheader("cache-control") == "no-store"
        assert answer.getheader("server") is None
        assert text
    assert works(server)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost.evil.example:{port}", "127.0.0.1:{port}.evil", ""]
)
def test_another_host_is_refused(server, host):
    answer, text = get(server, host=host.format(port=server.port))
    assert answer.status in (400, 403)
    assert b"<html" not in text
    with pytest.raises(InvalidStatus) as refusal, talking(server, additional_headers={"Host": "evil.example"}):
        pass
    assert refusal.value.response.status_code in (400, 403)
    assert works(server)


def test_the_other_name_of_this_machine_is_accepted(server):
    assert get(server, host=f"localhost:{server.port}")[0].status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", None]
)
def test_another_origin_is_refused(server, origin):
    origin = origin and origin.format(port=server.port)
    if origin is not None:
        answer, text = get(server, origin=origin)
        assert answer.status == 403
        assert b"another origin" in text
    with pytest.raises(InvalidStatus) as refusal, talking(server, origin=origin):
        pass
    assert refusal.value.response.status_code == 403
    assert works(server)


@pytest.mark.parametrize(
    "path", ["/", "/main.js", "/wrong/", "/wrong/main.js", "/wrong/socket", "/socket", "//", "/%00/"]
)
def test_no_token_or_a_wrong_one_is_refused(server, path):
    answer, text = get(server, path)
    assert answer.status == 403
    assert b"no token, or a wrong one" in text


def test_a_socket_without_the_token_is_refused(server):
    address = f"ws://127.0.0.1:{server.port}/wrong/socket"
    with pytest.raises(InvalidStatus), connect(address, origin=f"http://127.0.0.1:{server.port}"):
        pass
    assert server.url.split("/")[3] not in get(server)[1].decode()


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/server.py",
        "....//server.py",
        "/etc/passwd",
        "..\\server.py",
        "demo/config.json",
        "static/main.js",
        "main.js/",
        "%00",
        "index.html%00.js",
    ],
)
def test_no_path_leads_out_of_the_pages_own_files(server, path):
    answer, text = get(server, root(server) + path)
    assert answer.status == 404
    assert text in (b"There is no such file.", b"Not Found")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(server, method):
    answer, text = get(server, method=method)
    assert (answer.status, text) == (403, b"Refused: this server only answers GET.")


def drain(websocket):
    while True:
        websocket.recv(timeout=20)


def send_all(websocket, messages):
    for message in messages:
        websocket.send(message)
    drain(websocket)


@pytest.mark.parametrize("size", [100_000, 10_000_000])
def test_a_message_that_is_too_large_closes_its_page_only(server, size):
    with talking(server) as websocket:
        with pytest.raises(ConnectionClosed) as closed:
            send_all(websocket, ["x" * size])
        # The rest of ten megabytes is not even read, which may cut the connection before its reason has arrived.
        assert (closed.value.rcvd.code if closed.value.rcvd else size) in (1009, 10_000_000)
    assert works(server)


def test_a_thousand_messages_a_second_close_their_page_only(server):
    with talking(server) as websocket:
        with pytest.raises(ConnectionClosed) as closed:
            send_all(websocket, ['{"do": "nothing"}'] * 1000)
        assert closed.value.rcvd.code == 1008
        assert "Too many messages" in closed.value.rcvd.reason
    assert works(server)


def test_an_allowance_refills_with_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    allowance = Allowance(per_second=5)
    assert [allowance.take() for _ in range(7)] == [True] * 5 + [False] * 2
    now[0] += 0.4
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    now[0] += 100
    assert sum(allowance.take() for _ in range(20)) == 5


@pytest.mark.parametrize("message", ["{", "\ud7ff", b"\x00\xff", "[]", "{}"])
def test_malformed_messages_are_answered_in_words(server, message):
    with talking(server) as websocket:
        websocket.send(message)
        if isinstance(message, bytes):
            with pytest.raises(ConnectionClosed) as closed:
                websocket.recv(timeout=20)
            assert closed.value.rcvd.reason == "Messages must be text."
        else:
            assert json.loads(websocket.recv(timeout=20))["error"]
            assert ask(websocket, "step", action=0)["done"]
    assert works(server)


def test_broken_http_and_connections_that_say_nothing_do_no_harm(server):
    with (
        socket.create_connection(("127.0.0.1", server.port)) as silent,
        socket.create_connection(("127.0.0.1", server.port)) as broken,
    ):
        broken.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert b"400" in broken.recv(1000)
        assert works(server)
        silent.sendall(b"GET ")
    assert works(server)


def test_only_so_many_pages_are_open_at_once_and_a_closed_one_makes_room(server):
    with connect_many(server, MAX_TABS), talking(server) as one_more:
        with pytest.raises(ConnectionClosed) as closed:
            one_more.recv(timeout=20)
        assert "close one of them" in closed.value.rcvd.reason
    assert works(server)


@contextmanager
def connect_many(server, count):
    with ExitStack() as opened:
        for _ in range(count):
            assert ask(opened.enter_context(talking(server)), "seek", step=0)["done"]
        yield


def test_a_run_whose_files_vanish_is_said_and_stays_playable(tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(DEMO, folder)
    with serving(RunSource(folder)) as server, talking(server) as websocket:
        assert ask(websocket, "run")["done"]["status"] == "finished"
        assert ask(websocket, "film", chunk=0, begin=0, count=2)["done"]
        shutil.rmtree(folder / "replay")
        assert "cannot be read" in ask(websocket, "start", chunk=1, frame=0)["error"]
        shutil.rmtree(folder / "checkpoints")
        assert ask(websocket, "run")["done"]["checkpoint"]
        (folder / "metrics.jsonl").write_text("not a record\n")
        assert "metrics.jsonl does not fit the checkpoint" in ask(websocket, "run")["error"]
        shutil.rmtree(folder)
        assert "cannot be read any more" in ask(websocket, "run")["error"]
        answer, text = get(server, root(server) + "report/index.html")
        assert (answer.status, b"There is no report: " in text) == (409, True)
        assert ask(websocket, "step", action="agent")["done"]["step"] == 1
        assert ask(websocket, "rewards", count=16)["done"]["draws"]


def test_a_new_checkpoint_is_loaded_and_a_damaged_one_is_not(tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(DEMO, folder)
    checkpoints = folder / "checkpoints"
    saved = load_checkpoint(checkpoints, pytest.fail)
    with serving(RunSource(folder)) as server, talking(server) as websocket:
        before = ask(websocket, "rewards", count=4)["done"]["draws"]
        shutil.copytree(saved.path, checkpoints / f"{saved.number + 1:08d}")
        # Its manifest names another number.
        assert int(ask(websocket, "run")["done"]["checkpoint"]) == saved.number
        assert ask(websocket, "rewards", count=4)["done"]["draws"] == before
        saved.tensors["world_model"]["event_prior.sigma"] *= 2
        save_checkpoint(checkpoints, saved.number + 2, saved.tensors, saved.state)
        assert int(ask(websocket, "run")["done"]["checkpoint"]) == saved.number + 2
        assert ask(websocket, "rewards", count=4)["done"]["draws"] != before


def test_nothing_is_written_into_the_run_and_no_lock_is_taken(tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(DEMO, folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with serving(RunSource(folder)) as server, talking(server) as websocket:
        for words in ({"do": "run"}, {"do": "step", "action": 0}, {"do": "start", "chunk": 0, "frame": 9}):
            assert "done" in ask(websocket, **words)
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
        with RunLock(folder / "lock"):
            assert "done" in ask(websocket, "step", action="agent")


def test_the_report_of_the_run_is_made_in_memory(server):
    answer, text = get(server, root(server) + "report/index.html")
    assert answer.status == 200
    assert b"EVaDE report" in text
    figures = re.findall(rb'<img src="(figures/[^"]+)"', text)
    assert figures
    answer, figure = get(server, root(server) + "report/" + figures[0].decode())
    assert answer.getheader("content-type") == "image/svg+xml"
    assert b"<svg" in figure
    for path in ("report/", "report/../main.js", "report/..%2f..%2fserver.py", "report/figures/none.svg"):
        assert get(server, root(server) + path)[0].status == 404


def test_a_taken_port_is_said(server, source):
    with pytest.raises(LookError, match=f"Cannot listen on port {server.port} .*: give another --port, or none"):
        LookServer(source, server.port)
    with pytest.raises(LookError, match="Cannot listen on port 99999"):
        LookServer(source, 99999)


def test_it_listens_on_this_machine_only(server):
    assert server._socket.getsockname()[0] == "127.0.0.1"
