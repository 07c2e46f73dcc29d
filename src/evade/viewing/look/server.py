"""The web layer: the page's files and one WebSocket for each tab, on this machine only."""

import asyncio
import mimetypes
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from evade.errors import EvadeError, LookError
from evade.viewing.look.guard import HEADERS, MAX_MESSAGE, Allowance, Guard
from evade.viewing.look.messages import answer
from evade.viewing.look.report import HEADERS as REPORT_HEADERS
from evade.viewing.look.report import MemoryReport
from evade.viewing.look.session import Session
from evade.viewing.look.source import RunSource

HOST = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
FRONT_PAGE = "index.html"

MAX_TABS = 8
"""Pages that may be open at once."""

T = TypeVar("T")


class LookServer:
    """Serves one run.

    Args:
        source: the run.
        port: to listen on; 0 for any free one.
    """

    def __init__(self, source: RunSource, port: int = 0) -> None:
        self._source = source
        self._socket = _listen(port)
        # The network and the games are used from one thread only.
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="look")
        # Read once: a path asked for is looked up here, and never leads to the disk.
        self._files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.is_file()}
        self._report = MemoryReport(source.folder.path)
        self._num_tabs = 0
        self._token = secrets.token_urlsafe(24)
        self._server = uvicorn.Server(
            uvicorn.Config(
                Guard(self._build_app(), self.port, self._token),
                ws="websockets-sansio",
                ws_max_size=MAX_MESSAGE,
                ws_per_message_deflate=False,
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address to open, with its token."""
        return f"http://{HOST}:{self.port}/{self._token}/"

    def serve(self) -> None:
        """Answer until a signal, or `stop` from another thread."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()
            self._worker.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """End `serve`."""
        self._server.should_exit = True

    def _build_app(self) -> Starlette:
        app = Starlette(
            routes=[
                Route("/", self._send_file),
                Route("/report/{name:path}", self._send_report),
                Route("/{name}", self._send_file),
                WebSocketRoute("/socket", self._talk),
            ]
        )
        app.router.redirect_slashes = False  # a wrong path is answered, and leads nowhere
        return app

    async def _send_file(self, request: Request) -> Response:
        name = request.path_params.get("name", FRONT_PAGE)
        if name not in self._files:
            return PlainTextResponse("There is no such file.", status_code=404, headers=HEADERS)
        return Response(self._files[name], media_type=mimetypes.guess_type(name)[0], headers=HEADERS)

    async def _send_report(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            data = await self._work(partial(self._report.get, name))
        except EvadeError as error:
            return PlainTextResponse(f"There is no report: {error}", status_code=409, headers=HEADERS)
        if data is None:
            return PlainTextResponse("There is no such file.", status_code=404, headers=HEADERS)
        return Response(data, media_type=mimetypes.guess_type(name)[0], headers=HEADERS | REPORT_HEADERS)

    async def _talk(self, websocket: WebSocket) -> None:
        await websocket.accept()
        if self._num_tabs == MAX_TABS:
            await websocket.close(1013, f"{MAX_TABS} pages are open already: close one of them.")
            return
        self._num_tabs += 1
        session = None
        try:
            session = await self._work(lambda: Session(self._source))
            await self._answer_all(websocket, session)
        except WebSocketDisconnect:
            pass  # the tab was closed
        finally:
            self._num_tabs -= 1
            if session is not None:
                await self._work(session.close)

    async def _answer_all(self, websocket: WebSocket, session: Session) -> None:
        allowance = Allowance()
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if not allowance.take():
                await websocket.close(1008, "Too many messages: reload the page.")
                return
            text = message.get("text")
            if text is None:
                await websocket.close(1003, "Messages must be text.")
                return
            await websocket.send_text(await self._work(partial(answer, session, text)))

    async def _work(self, task: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, task)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise LookError(f"Cannot listen on port {port} ({reason}): give another --port, or none.") from None
    return listener
