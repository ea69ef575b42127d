"""One browser's screen: a process of its own between a web socket and two pipes.

The process ends with its web socket, and with the server however that ends: the end of its standard
input is a hangup to it (`tui.browser`). What it draws waits in the pipe until the browser takes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import ClientConnectionResetError, WSMsgType
from aiohttp.web import WebSocketResponse

from .packets import HEAD, received

READY: Final = b"__GANGLION__\n"  # what the screen writes before its first packet
TAKES: Final = 20.0  # seconds in which a browser must take what was drawn
ENDS: Final = 20.0  # seconds in which a screen ends: a change that was begun is finished first


def environment(width: int, height: int) -> Mapping[str, str]:
    """Ours, with what makes Textual draw into a pipe. It never holds the token."""
    return {
        **os.environ,
        "TEXTUAL_DRIVER": "nettop.tui.browser:Browser",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLUMNS": str(width),
        "ROWS": str(height),
    }


async def run(
    words: Sequence[str], socket: WebSocketResponse, size: tuple[int, int], closing: asyncio.Event
) -> None:
    """Run one screen until its user quits, the browser leaves or the server is closing.

    `size` is columns and rows. A session of its own keeps the screen apart from the server's
    terminal: from its Ctrl-C, and from what sudo remembers of it. Raises OSError when no process
    can be started.
    """
    process = await asyncio.create_subprocess_exec(
        *words, stdin=PIPE, stdout=PIPE, env=environment(*size), start_new_session=True
    )
    until = {
        asyncio.create_task(_drawn(process, socket)),
        asyncio.create_task(_typed(socket, process)),
        asyncio.create_task(closing.wait()),
    }
    try:
        await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in until:
            one.cancel()
        await asyncio.gather(*until, return_exceptions=True)
        await _end(process)


async def _drawn(process: Process, socket: WebSocketResponse) -> None:
    """Send what the screen draws; a browser that takes nothing for `TAKES` seconds has left."""
    out = process.stdout
    assert out is not None  # noqa: S101 - PIPE was asked for
    with contextlib.suppress(
        asyncio.IncompleteReadError, ClientConnectionResetError, TimeoutError, ConnectionError
    ):
        await out.readuntil(READY)
        while True:
            head = await out.readexactly(HEAD)
            payload = await out.readexactly(int.from_bytes(head[1:], "big"))
            if head[:1] == b"D":
                async with asyncio.timeout(TAKES):
                    await socket.send_bytes(payload)
            elif head[:1] == b"M" and json.loads(payload).get("type") == "exit":
                return


async def _typed(socket: WebSocketResponse, process: Process) -> None:
    """Hand on what was typed; no more is taken than the screen has read."""
    into = process.stdin
    assert into is not None  # noqa: S101 - PIPE was asked for
    with contextlib.suppress(ConnectionError):
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                into.write(received(message.data))
                await into.drain()


async def _end(process: Process) -> None:
    """Hang up; kill a screen, and what it started, that does not end in order."""
    assert process.stdin is not None  # noqa: S101 - PIPE was asked for
    process.stdin.close()
    if not await _ended(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await _ended(process)


async def _ended(process: Process) -> bool:
    """Whether it ends in time; what it draws is thrown away, so that no full pipe keeps it."""
    assert process.stdout is not None  # noqa: S101 - PIPE was asked for
    try:
        async with asyncio.timeout(ENDS):
            while await process.stdout.read(1 << 16):
                pass
            await process.wait()
    except TimeoutError:
        return False
    return True
