"""The screen of one browser: a separate process between a web socket and two pipes.

The process ends with its web socket or with the server: end of file on its standard input acts as a
hangup (`tui.browser`). Output waits in the pipe until the browser reads it.

The browser sends keys, mouse, size and focus as JSON arrays (textual-serve's textual.js); all else
is dropped. The screen reads packets from its standard input: a type, four bytes of length (big
endian), a payload (textual.drivers.web_driver).
"""

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from aiohttp import ClientConnectionResetError, WSMsgType
from aiohttp.web import WebSocketResponse

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


WIDEST: Final = 1000  # columns and rows of a terminal; limited because the screen is kept in memory
HEAD: Final = 5  # bytes before the payload
LONGEST: Final = 1 << 16  # bytes of one message from a browser


def packet(kind: bytes, payload: bytes) -> bytes:
    """One packet for the screen: `D` is keyboard input, `M` a JSON object about the terminal."""
    return kind + len(payload).to_bytes(4, "big") + payload


def taken(data: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Take every whole packet from the front of `data`: kind and payload."""
    while len(data) >= HEAD:
        end = HEAD + int.from_bytes(data[1:HEAD], "big")
        if len(data) < end:
            return
        kind, payload = bytes(data[:1]), bytes(data[HEAD:end])
        del data[:end]
        yield kind, payload


def cells(value: object) -> int:
    """Columns or rows within bounds; 1 if it is not a number."""
    return max(1, min(WIDEST, value)) if isinstance(value, int) else 1


def received(text: str) -> bytes:
    """The packet for a message of the browser; empty for an unknown message."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return b""
    match message:
        case ["stdin", str(typed)]:
            return packet(b"D", typed.encode("utf-8", "ignore"))
        case ["resize", {"width": width, "height": height}]:
            size = {"type": "resize", "width": cells(width), "height": cells(height)}
            return packet(b"M", json.dumps(size).encode())
        case ["focus" | "blur" as event]:
            return packet(b"M", json.dumps({"type": event}).encode())
    return b""
