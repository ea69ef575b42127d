"""Messages of a browser to its screen: keys, mouse, size, focus. All others are dropped.

The browser sends JSON arrays (textual-serve's textual.js). The screen reads packets from its
standard input: a type, four bytes of length (big endian), a payload (textual.drivers.web_driver).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

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
