"""A far end that is hostile: it takes the job of a reader, then answers as it likes.

    python hostile_far.py MODE SEED

It answers each batch by `MODES[MODE]`; `mixed` draws another mode for each answer. It needs nothing
of nettop: whoever controls the other host writes such a program.
"""

import base64
import json
import math
import os
import random
import struct
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

HEAD, CHANGE, LENGTH = struct.Struct("<IddI"), struct.Struct("<IBII"), struct.Struct("<I")
GONE, WHOLE, XOR, LINES, CUT = range(5)
FORGOTTEN = (1 << 32) - 1
MIB: Final = 1 << 20
LISTS: Final = {
    b"/proc": b"1\n2\n", b"/sys/class/net": b"lo\nx0\n", b"/sys/devices/system/cpu": b"cpu0\n",
    b"/proc/sys/kernel/hostname": b"evil\n",
}  # fmt: skip


@dataclass
class Batch:
    """What was asked, and the answer that an honest reader would begin with."""

    number: int
    asks: list[tuple[bytes, bytes]]
    draw: random.Random
    far: float = field(default_factory=time.monotonic)
    wall: float = field(default_factory=time.time)
    pids: bytes = struct.pack("<I", 0)

    def ref(self, sign: bytes, other: int = 0) -> int:
        """The first request whose path has the sign."""
        return next((ref for ref, ask in enumerate(self.asks) if sign in ask[1]), other)

    def head(self) -> bytes:
        return HEAD.pack(self.number, self.far, self.wall, 0)[:-4] + self.pids

    def plain(self) -> bytes:
        """An answer to each request that is no pattern: a few lists, else an empty file."""
        return b"".join(
            change(ref, WHOLE, b"", b"+" + LISTS.get(path, b""))
            for ref, (_, path) in enumerate(self.asks)
            if b"#" not in path and b"!" not in path
        )


def change(ref: int, form: int, name: bytes = b"", body: bytes = b"") -> bytes:
    return CHANGE.pack(ref, form, len(name), len(body)) + name + body


def clock(far: Callable[[float], float], wall: Callable[[float], float] = float) -> object:
    """Clocks made of the true ones."""

    def mode(batch: Batch) -> bytes:
        batch.far, batch.wall = far(batch.far), wall(batch.wall)
        return batch.head() + batch.plain()

    return mode


def body(text: Callable[[], bytes], sign: bytes = b"", form: int = WHOLE) -> object:
    """One answer with this text, after the honest ones."""

    def mode(batch: Batch) -> bytes:
        return batch.head() + batch.plain() + change(batch.ref(sign), form, b"", b"+" + text())

    return mode


def only(text: Callable[[], bytes], sign: bytes) -> object:
    """Instead of the honest answer, where the request is asked."""

    def mode(batch: Batch) -> bytes:
        at = batch.ref(sign, -1)
        rest = Batch(batch.number, list(batch.asks), batch.draw)
        if at < 0:
            return batch.head() + batch.plain()
        rest.asks[at] = (b"", b"#")
        return batch.head() + rest.plain() + change(at, WHOLE, b"", b"+" + text())

    return mode


def numbers(count: int, said: int | None = None) -> object:
    def mode(batch: Batch) -> bytes:
        batch.pids = struct.pack("<I", count if said is None else said) + bytes(4 * count)
        return batch.head() + batch.plain()

    return mode


def matches(count: int, form: int = WHOLE, size: int = 0) -> object:
    """Matches of the pattern of all processes, other ones in each answer."""

    def mode(batch: Batch) -> bytes:
        ref, first = batch.ref(b"/#", -1), batch.number * count
        if ref < 0:
            return batch.head() + batch.plain()
        text = b"+" + bytes(size) if form == WHOLE else b""
        return batch.head() + batch.plain() + b"".join(
            change(ref, form, b"/proc/%d/stat" % (first + one), text) for one in range(count)
        )  # fmt: skip

    return mode


def forgotten(batch: Batch) -> bytes:
    return batch.head() + batch.plain() + change(FORGOTTEN, GONE, b"t/proc/stat") * 100_000


def noise(batch: Batch) -> bytes:
    return batch.draw.randbytes(batch.draw.randrange(5000))


def flipped(batch: Batch) -> bytes:
    """An honest answer with some bytes changed."""
    data = bytearray(batch.head() + batch.plain())
    for _ in range(batch.draw.randrange(1, 9)):
        data[batch.draw.randrange(len(data))] = batch.draw.randrange(256)
    return bytes(data)


def cut(batch: Batch) -> bytes:
    data = batch.head() + batch.plain()
    return data[: batch.draw.randrange(len(data))]


MODES: Final = {
    "honest": clock(float),
    "clock stands": clock(lambda _: 7.0),
    "clock of zeros": clock(lambda _: 0.0),
    "clock crawls": clock(lambda far: 100.0 + far / 1e6),
    "clock goes back": clock(lambda far: 1e6 - far),
    "clock runs": clock(lambda far: far * 1e3),
    "clock is NaN": clock(lambda _: math.nan),
    "clock is infinite": clock(lambda _: math.inf),
    "clock is negative": clock(lambda far: far - 1e9),
    "clock is huge": clock(lambda far: 1e300 + far),
    "wall is NaN": clock(float, lambda _: math.nan),
    "wall is huge": clock(float, lambda _: 1e300),
    "wall is negative": clock(float, lambda wall: -wall),
    "65 numbers": numbers(65),
    "millions of numbers": numbers(4 * MIB),
    "numbers that are not there": numbers(0, FORGOTTEN),
    "too many matches": matches(200_000),
    "many matches in each answer": matches(16_000, size=200),
    "many matches, kept": matches(16_000, size=1200),
    "too many ends": matches(200_000, GONE),
    "many forgotten": forgotten,
    "a file of empty lines": only(lambda: b"\n" * (24 * MIB), b"hostname"),
    "changed empty lines": only(lambda: b"\n" * (24 * MIB), b"hostname"),
    "a long line": only(lambda: b"x" * (12 * MIB), b"hostname"),
    "millions of names": only(lambda: b"\n" * (24 * MIB), b"/sys/class/net"),
    "millions of messages": only(
        lambda: struct.pack("=IHHII", 16, 16, 0, 0, 0) * (2 * MIB), b"route\0"
    ),
    "a change of what was never sent": body(lambda: b"x", b"hostname", 7),
    "answers twice": body(lambda: b"x", b"hostname"),
    "another batch": lambda batch: HEAD.pack(99, batch.far, batch.wall, 0),
    "noise": noise,
    "flipped bytes": flipped,
    "cut off": cut,
    "empty": lambda _: b"",
}  # fmt: skip


def asks_of(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(data):
        kind, size = struct.unpack_from("<cI", data, at)
        found.append((kind, data[at + 5 : at + 5 + size]))
        at += 5 + size
    return found


def take(size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            raise SystemExit
        data += piece
    return data


def main(name: str, seed: int) -> None:
    """Until the input ends."""
    draw = random.Random(seed)
    line = b""
    while not line.endswith(b"\n"):
        line += take(1)
    options = json.loads(line)["options"]
    out = sys.stdout.buffer
    out.write(f"\nnettop {options['token']} {sys.byteorder} 0\n".encode())
    packs, unpacks = zlib.compressobj(3, zlib.DEFLATED, -15, 8), zlib.decompressobj(-15)
    asks, number = asks_of(base64.b64decode(options["first"])), 1
    while True:
        drawn = draw.choice([*MODES]) if name == "mixed" else name
        if name == "mixed" and draw.random() < 0.5:
            drawn = "honest"
        answer = MODES[drawn](Batch(number, asks, draw))  # type: ignore[operator]
        packed = packs.compress(answer) + packs.flush(zlib.Z_SYNC_FLUSH)
        out.write(LENGTH.pack(len(packed)) + packed)
        out.flush()
        asks = asks_of(unpacks.decompress(take(LENGTH.unpack(take(4))[0])))
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
