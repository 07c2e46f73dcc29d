"""A page in Chromium, driven as a person drives it: by the DevTools protocol over a WebSocket."""

import base64
import json
import subprocess
import time
from contextlib import contextmanager
from urllib.request import urlopen

from websockets.sync.client import connect

from chromium import CHROMIUM, OPTIONS

KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32, "Enter": 13, "Tab": 9}


@contextmanager
def open_browser(profile):
    """One Chromium for several pages."""
    options = [option for option in OPTIONS if option != "--enable-logging=stderr"]
    words = [CHROMIUM, *options, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port_file = profile / "DevToolsActivePort"
        wait_until(lambda: port_file.exists() and "\n" in port_file.read_text(), seconds=60)
        yield int(port_file.read_text().split()[0])
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def open_page(port, url, width=1440, height=1000):
    """A new tab; closed at the end."""
    with urlopen(f"http://127.0.0.1:{port}/json/version") as answer:
        root = json.load(answer)["webSocketDebuggerUrl"]
    with connect(root, max_size=None) as browser:
        page = Page(browser, url, width, height)
        try:
            yield page
        finally:
            page.close()


def wait_until(condition, seconds=20.0):
    """Wait for a condition and return what it gave."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class Page:
    """One tab."""

    def __init__(self, browser, url, width, height):
        self._socket, self._number = browser, 0
        self.events = []
        context = self._send("Target.createBrowserContext")["browserContextId"]
        self._target = self._send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._session = None
        self._session = self._send("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._send(f"{domain}.enable")
        self.resize(width, height)
        self._send("Page.navigate", url=url)

    def _send(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def close(self):
        session, self._session = self._session, None
        if session:
            self._send("Target.closeTarget", targetId=self._target)

    def resize(self, width, height):
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def evaluate(self, code):
        """The value of an expression in the page; promises are awaited."""
        result = self._send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, code, seconds=20.0):
        """Wait until an expression is true in the page, and return its value."""
        return wait_until(lambda: self.evaluate(code), seconds)

    def press(self, key, *, is_repeated=False):
        """Press and release a key."""
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code, "autoRepeat": is_repeated}
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        self._send("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self._send("Input.dispatchKeyEvent", type="keyUp", **event)

    def move(self, x, y):
        self._send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def mouse(self, kind, x, y):
        self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, buttons=1)

    def click(self, x, y):
        self.move(x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def box(self, selector):
        """Left, top, width and height of an element in the window, once it is scrolled to."""
        return self.evaluate(
            f"""(() => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; }})()"""
        )

    def click_on(self, selector, across=0.5, down=0.5):
        x, y, width, height = self.box(selector)
        self.click(x + across * width, y + down * height)

    def screenshot(self, path, *, whole=False):
        if whole:
            size = self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
            self.resize(*size)
        path.write_bytes(base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """Everything that went wrong in the page: exceptions, errors on the console, failed requests."""
        self.evaluate("1")
        wrong = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                wrong.append(parameters["exceptionDetails"].get("exception", {}).get("description"))
            if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                wrong.append(str(parameters["args"]))
            if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                wrong.append(parameters["entry"]["text"])
        return wrong

    def requests(self):
        """The addresses of everything the page asked for, WebSockets too."""
        self.evaluate("1")
        found = []
        for event in self.events:
            if event.get("method") == "Network.requestWillBeSent":
                found.append(event["params"]["request"]["url"])
            if event.get("method") == "Network.webSocketCreated":
                found.append(event["params"]["url"])
        return found
