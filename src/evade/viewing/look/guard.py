"""Who may talk to the page: this machine's own browser, with the token, in small and not too many messages."""

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_MESSAGE = 64 * 1024
"""Bytes of one message from a page; the largest honest one has about 2,000."""

MESSAGES_PER_SECOND = 100
"""A page waits for each answer before it asks again, and stays far below this."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Sent with every file: the page can load nothing from elsewhere, and no other page can embed it."""


class Guard:
    """Lets a request through to the app if Host, Origin, method and token are right; otherwise says what is wrong.

    The token is the first part of the path, so that the links of the page need not repeat it. What the app sees begins
    after it.

    Args:
        app: what is guarded.
        port: of the server.
        token: the secret of this server.
    """

    def __init__(self, app: App, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or one WebSocket."""
        refusal = self._refuse(scope)
        if refusal is None:
            rest = "/" + scope["path"].split("/", 2)[2]
            await self._app({**scope, "path": rest, "raw_path": rest.encode()}, receive, send)
        elif scope["type"] == "websocket":
            # Before it is accepted, so that the browser gets 403.
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})
        else:
            await PlainTextResponse(refusal, status_code=403, headers=HEADERS)(scope, receive, send)

    def _refuse(self, scope: Scope) -> str | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get("origin")
        if headers.get("host") not in self._hosts:
            return "Refused: another host. Open the address that `evade look` printed."
        if (origin is not None or scope["type"] == "websocket") and origin not in {f"http://{h}" for h in self._hosts}:
            return "Refused: another origin. Open the address that `evade look` printed."
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            return "Refused: this server only answers GET."
        parts = scope["path"].split("/", 2)
        if len(parts) != 3 or not secrets.compare_digest(parts[1].encode(), self._token.encode()):
            return "Refused: no token, or a wrong one. Open the whole address that `evade look` printed."
        return None


class Allowance:
    """How many messages one page may still send: up to `per_second` at once, and as many again in each second."""

    def __init__(self, per_second: float = MESSAGES_PER_SECOND) -> None:
        self._per_second, self._left, self._at = per_second, per_second, time.monotonic()

    def take(self) -> bool:
        """Whether one more message is allowed now."""
        now = time.monotonic()
        self._left = min(self._per_second, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
