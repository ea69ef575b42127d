"""The screen of one browser: a separate process between a web socket and two pipes.

The process ends with its web socket or with the server: end of file on its standard input acts as a
hangup (`tui.browser`). Output waits in the pipe until the browser reads it.
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

READY: Final = b"__GANGLION__\n"  # written by the screen before its first packet
TAKES: Final = 20.0  # seconds for a browser to read the output
ENDS: Final = 20.0  # seconds for a screen to end; it first completes a change in progress


def environment(width: int, height: int) -> Mapping[str, str]:
    """The environment of the screen: Textual draws into a pipe. It never contains the token."""
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
    """Run one screen until the user quits, the browser disconnects or the server closes.

    `size` is columns and rows. A new session isolates the screen from the server's terminal: from
    its Ctrl-C and from its cached sudo credentials. OSError if the process cannot be started.
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
        for task in until:
            task.cancel()
        await asyncio.gather(*until, return_exceptions=True)
        await _end(process)


async def _drawn(process: Process, socket: WebSocketResponse) -> None:
    """Send output of the screen; disconnect a browser that reads nothing for `TAKES` seconds."""
    out = process.stdout
    assert out is not None  # noqa: S101 - stdin and stdout are pipes
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
    """Pass input to the screen, no faster than the screen reads it."""
    into = process.stdin
    assert into is not None  # noqa: S101 - stdin and stdout are pipes
    with contextlib.suppress(ConnectionError):
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                into.write(received(message.data))
                await into.drain()


async def _end(process: Process) -> None:
    """Hang up; kill a screen and its children if they do not end in time."""
    assert process.stdin is not None  # noqa: S101 - stdin and stdout are pipes
    process.stdin.close()
    if not await _ended(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await _ended(process)


async def _ended(process: Process) -> bool:
    """Whether it ends in time; output is discarded, so a full pipe does not block it."""
    assert process.stdout is not None  # noqa: S101 - stdin and stdout are pipes
    try:
        async with asyncio.timeout(ENDS):
            while await process.stdout.read(1 << 16):
                pass
            await process.wait()
    except TimeoutError:
        return False
    return True
