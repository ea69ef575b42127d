"""Listen on loopback until a signal, on both families: nobody else may answer for `localhost`."""

from __future__ import annotations

import asyncio
import errno
import secrets
import signal
from collections.abc import Callable, Sequence

from aiohttp import web

from .child import ENDS
from .door import Door
from .site import Site


class PortError(OSError):
    """The port cannot be listened on."""


def serve(words: Sequence[str], port: int, opened: Callable[[str], None]) -> None:
    """Serve screens of `words`; `opened` is told the address to open. Raises PortError."""
    asyncio.run(_serve(words, port, opened))


async def _serve(words: Sequence[str], port: int, opened: Callable[[str], None]) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    door = Door(secrets.token_urlsafe(32), port)
    site = Site(door, words)
    runner = web.ServerRunner(site.server(), shutdown_timeout=ENDS + 5)
    await runner.setup()
    try:
        await _listen(runner, port)
        opened(door.url)
        await ended.wait()
        site.closing.set()
    finally:
        await runner.cleanup()


async def _listen(runner: web.ServerRunner, port: int) -> None:
    """Take the port on 127.0.0.1, and on ::1 where there is IPv6.

    Were ::1 left free, another user could listen there and be told the token by a browser that
    tries ::1 first for `localhost`.
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
