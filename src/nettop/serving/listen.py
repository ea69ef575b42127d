"""The web server: one page, its files and its web socket, below the token.

It listens on loopback, IPv4 and IPv6, until a signal; nobody else can answer for `localhost`.

All other requests are refused. Every file comes from this package or from textual-serve, so the
page refers to no other host. The access log is off, because request paths contain the token.

A token in the path stops other users of this host. The check of the Host header stops DNS rebinding
to 127.0.0.1. Origin (RFC 6454) and Sec-Fetch-Site (W3C Fetch Metadata) stop a foreign page that
knows the token. Browsers set these three headers; a page cannot.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import logging
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Final

from aiohttp import WSCloseCode, web

from ..terms.dataclass import dataclass
from . import child
from .child import ENDS, LONGEST, WIDEST

SESSIONS: Final = 4  # concurrent sessions
ROOM: Final = 5.0  # seconds to wait for a free session, for example after a reload
BEAT: Final = 15.0  # seconds between pings of a browser
FULL: Final = f"{SESSIONS} sessions are already open: close one, then reload this page"
LEAVE: Final = 2.0  # seconds for a browser to read the closing message
HERE: Final = files(__package__)
THERE: Final = files("textual_serve") / "static"
FILES: Final = {
    "page.css": (HERE / "page.css", "text/css"),
    "xterm.css": (THERE / "css/xterm.css", "text/css"),
    "textual.js": (THERE / "js/textual.js", "text/javascript"),
    "mono.ttf": (THERE / "fonts/RobotoMono-VariableFont_wght.ttf", "font/ttf"),
    "mono-italic.ttf": (THERE / "fonts/RobotoMono-Italic-VariableFont_wght.ttf", "font/ttf"),
}
# xterm.js writes <style> elements; its scripts need nothing inline
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src data:; connect-src ws://{host}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "nettop",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Site:
    """Answers requests; each web socket gets one process with the command line `words`."""

    def __init__(self, access: Access, words: Sequence[str]) -> None:
        """`words` is the command line of a screen process."""
        self.access = access
        self.words = words
        self.room = asyncio.Semaphore(SESSIONS)
        self.closing = asyncio.Event()

    def server(self) -> web.Server:
        """The HTTP server, without a log."""
        logger = logging.getLogger(__name__)
        logger.disabled = True
        return web.Server(self.answer, access_log=None, logger=logger, keepalive_timeout=15.0)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request: 403 without content unless `Access` admits it."""
        name = self.access.admits(request.rel_url.raw_path, request.headers)
        if name is None or request.method != "GET":
            return _plain(403)
        if name == "ws":
            return await self.session(request)
        if name == "":
            return self.page(request)
        if name not in FILES:
            return _plain(404)
        path, kind = FILES[name]
        return _plain(200, path.read_bytes(), kind)

    def page(self, request: web.BaseRequest) -> web.Response:
        """The page, with the host name that the browser used."""
        host = request.headers["Host"].lower()
        text = Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
            token=self.access.token, host=host, size=_number(request, "fontsize", 16)
        )
        return _plain(
            200, text.encode(), "text/html", {"Content-Security-Policy": POLICY.format(host=host)}
        )

    async def session(self, request: web.BaseRequest) -> web.WebSocketResponse:
        """One screen for one web socket, if a session is free."""
        socket = web.WebSocketResponse(heartbeat=BEAT, compress=False, max_msg_size=LONGEST)
        socket.headers.update(HEADERS)
        await socket.prepare(request)
        error, code = await self._screen(request, socket), WSCloseCode.OK
        try:
            async with asyncio.timeout(LEAVE):
                if error:
                    code = WSCloseCode.TRY_AGAIN_LATER
                    await socket.send_bytes(f"nettop: {error}\r\n".encode())
                await socket.close(code=code)
        except (TimeoutError, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
        return socket

    async def _screen(self, request: web.BaseRequest, socket: web.WebSocketResponse) -> str:
        """Run a screen to its end; returns a sentence if it could not start."""
        try:
            async with asyncio.timeout(ROOM):
                await self.room.acquire()
        except TimeoutError:
            return FULL
        try:
            size = _number(request, "width", 80), _number(request, "height", 24)
            await child.run(self.words, socket, size, self.closing)
        except OSError as error:
            return f"cannot start a process: {error.strerror}"
        finally:
            self.room.release()
        return ""


def _number(request: web.BaseRequest, name: str, default: int) -> int:
    given = request.rel_url.query.get(name, "")
    return max(1, min(WIDEST, int(given))) if given.isdecimal() and len(given) < 5 else default


def _plain(
    status: int, body: bytes = b"", kind: str = "text/plain", more: dict[str, str] | None = None
) -> web.Response:
    return web.Response(
        status=status, body=body, content_type=kind, headers={**HEADERS, **(more or {})},
        charset="utf-8" if kind.startswith("text/") else None,
    )  # fmt: skip


class PortError(OSError):
    """The port cannot be used."""


def serve(words: Sequence[str], port: int, opened: Callable[[str], None]) -> None:
    """Serve screens with the command line `words`; calls `opened` with the address. PortError."""
    asyncio.run(_serve(words, port, opened))


async def _serve(words: Sequence[str], port: int, opened: Callable[[str], None]) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    access = Access(secrets.token_urlsafe(32), port)
    site = Site(access, words)
    runner = web.ServerRunner(site.server(), shutdown_timeout=ENDS + 5)
    await runner.setup()
    try:
        await _listen(runner, port)
        opened(access.url)
        await ended.wait()
        site.closing.set()
    finally:
        await runner.cleanup()


async def _listen(runner: web.ServerRunner, port: int) -> None:
    """Bind the port on 127.0.0.1, and on ::1 if IPv6 is available.

    Otherwise another user could listen on ::1 and receive the token from a browser that tries ::1
    first for `localhost`.
    """
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError as error:
        raise PortError(error.errno, f"127.0.0.1: {error.strerror}") from None
    try:
        await web.TCPSite(runner, "::1", port).start()
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise PortError(error.errno, f"::1: {error.strerror}") from None


NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
HTTP: Final = 80  # the default port, which browsers omit from Host
OWN: Final = ("same-origin", "none")  # Sec-Fetch-Site: our page, or a typed address


@dataclass(frozen=True, slots=True)
class Access:
    """Accepts requests for `/TOKEN/NAME` to a loopback name and this port."""

    token: str
    port: int

    @property
    def url(self) -> str:
        """The address for the user."""
        return f"http://{NAMES[0]}:{self.port}/{self.token}/"

    def knows(self, path: str) -> bool:
        """Whether the first path segment is the token; compared in constant time."""
        given = path.split("/", 2)[1:2]
        return hmac.compare_digest("".join(given).encode("utf-8", "replace"), self.token.encode())

    def local(self, host: str) -> bool:
        """Whether the Host header is a loopback name with this port."""
        names = {f"{name}:{self.port}" for name in NAMES}
        if self.port == HTTP:
            names |= set(NAMES)
        return host.lower() in names

    def own(self, headers: Mapping[str, str], name: str) -> bool:
        """Whether the request for NAME comes from our own page or from the user.

        A link on another site may open the page in a tab; embedding, fetching and posting from
        other origins are refused. A web socket must have an Origin header (RFC 6455, 10.2).
        """
        origin = headers.get("Origin")
        if origin is None:
            if name == "ws":
                return False
        elif origin.lower() != f"http://{headers.get('Host', '').lower()}":
            return False
        if headers.get("Sec-Fetch-Site", OWN[0]) in OWN:
            return True
        return name == "" and headers.get("Sec-Fetch-Dest") == "document"

    def admits(self, path: str, headers: Mapping[str, str]) -> str | None:
        """The requested NAME; None if the request is refused."""
        known = self.knows(path)
        local = self.local(headers.get("Host", ""))
        name = "".join(path.split("/", 2)[2:])
        return name if known and local and self.own(headers, name) else None
