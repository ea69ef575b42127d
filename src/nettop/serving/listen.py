"""Listen on loopback, IPv4 and IPv6, until a signal; nobody else can answer for `localhost`."""

from __future__ import annotations

import asyncio
import errno
import secrets
import signal
from collections.abc import Callable, Sequence

from aiohttp import web

from .access import Access
from .child import ENDS
from .site import Site


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
