"""The report as a browser shows it."""

import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from PIL import Image

from chromium import load_page
from evade.evidence.report.verify import read_numbers

pytestmark = pytest.mark.browser


@pytest.fixture
def outside():
    """A proxy that records every request."""
    asked = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_CONNECT = do_GET  # noqa: N815

        def log_message(self, format, *arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, asked
        server.shutdown()
        thread.join()


def asked_by_page(asked):
    """The requests of a page, without those that the browser itself makes for time and updates."""
    return [address for address in asked if not re.search(r"\b(google|googleapis|gvt1)\.com\b", address)]


def test_the_page_shows_headline_curve_and_table_and_makes_no_requests(report, tmp_path, outside):
    port, asked = outside
    loaded = load_page(report / "index.html", tmp_path / "profile", f"--proxy-server=127.0.0.1:{port}")
    assert loaded.complaints == []
    assert asked_by_page(asked) == []
    numbers = read_numbers(loaded.dom)
    assert numbers["group-1/headline/mean"].text == "4.00"
    assert (numbers["run-4/score/mean"].text, numbers["run-4/score/standard-error"].text) == ("2.00", "0.00")
    assert re.search(r'<img src="figures/curves-1.svg"', loaded.dom)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in loaded.dom
    assert "<script" not in loaded.dom


def test_a_remote_file_would_be_noticed_and_is_forbidden(report, tmp_path, outside):
    port, asked = outside
    page = report / "index.html"
    page.write_text(page.read_text().replace("figures/curves-1.svg", "http://example.test/remote.svg"))
    (complaint,) = load_page(page, tmp_path / "one", f"--proxy-server=127.0.0.1:{port}").complaints
    assert "Content Security Policy" in complaint
    assert asked_by_page(asked) == []
    page.write_text(page.read_text().replace("Content-Security-Policy", "nothing"))
    load_page(page, tmp_path / "two", f"--proxy-server=127.0.0.1:{port}")
    assert asked_by_page(asked) == ["http://example.test/remote.svg"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_curve_is_painted_in_the_variants_colour(report, tmp_path, width):
    shot = tmp_path / "page.png"
    load_page(report / "index.html", tmp_path / "profile", f"--screenshot={shot}", f"--window-size={width},2200")
    with Image.open(shot) as picture:
        # Below the cards, whose edges have the same colour.
        below = picture.convert("RGB").crop((0, 560, picture.width, picture.height))
    counts = {colour: count for count, colour in below.getcolors(1 << 24)}
    assert counts.get((0xD5, 0x5E, 0x00), 0) > 100
