"""Replies of the kernel built by hand, for tests of the netlink decoders, and a source for them."""

import struct
from collections.abc import Collection, Mapping

from nettop.host.netlink.codec import HEADER, NESTED, Request, attribute
from nettop.host.source import NONE

u8 = struct.Struct("=B").pack
u32 = struct.Struct("=I").pack
u64 = struct.Struct("=Q").pack


def message(kind: int, body: bytes) -> bytes:
    raw = HEADER.pack(HEADER.size + len(body), kind, 2, 1, 1) + body
    return raw + bytes(-len(raw) & 3)


def nest(number: int, *inner: bytes) -> bytes:
    return attribute(number | NESTED, b"".join(inner))


def text(number: int, value: str) -> bytes:
    return attribute(number, value.encode() + b"\0")


def number(which: int, value: int) -> bytes:
    return attribute(which, u32(value))


def device(name: str, *attributes: bytes) -> bytes:
    """An ethtool message about one device."""
    return message(30, struct.pack("=BBH", 1, 1, 0) + nest(1, text(2, name)) + b"".join(attributes))


def bitset(which: int, value: int, mask: int | None, size: int = 64) -> bytes:
    words = -(-size // 32) * 4
    parts = [number(2, size), attribute(4, value.to_bytes(words, "little"))]
    if mask is not None:
        parts.append(attribute(5, mask.to_bytes(words, "little")))
    return nest(which, *parts)


def string_set(which: int, names: list[str]) -> bytes:
    strings = [nest(1, number(1, i), text(2, name)) for i, name in enumerate(names)]
    one = nest(1, number(1, which), number(2, len(names)), nest(3, *strings))
    return message(30, struct.pack("=BBH", 1, 1, 0) + nest(2, one))


def link(index: int, name: str, *attributes: bytes, flags: int = 0x11043, kind: int = 1) -> bytes:
    head = struct.pack("=BxHiII", 0, kind, index, flags, 0)
    return message(16, head + text(3, name) + b"".join(attributes))


def counters(index: int, *values: int, words: int = 25) -> bytes:
    filled = [*values, *[0] * (words - len(values))]
    return message(
        92, struct.pack("=BxHII", 0, 0, index, 1) + attribute(1, struct.pack(f"={words}Q", *filled))
    )


class Fake:
    """A source with given replies by name; a number is an errno."""

    live = False
    ends = False
    opening = False
    batches = None
    ages = NONE
    host = "fake"

    def __init__(
        self,
        netlink: Mapping[str, bytes | int] | None = None,
        ioctl: Mapping[str, bytes | int] | None = None,
    ) -> None:
        self.netlinks = dict(netlink or {})
        self.ioctls = dict(ioctl or {})
        self.at = 0.0
        self.asked: list[str] = []

    def now(self) -> float:
        return self.at

    def wall(self) -> float:
        return self.at

    def wait(self, seconds: float) -> bool:
        self.at += seconds
        return True

    def data(self, path: str) -> bytes:
        raise FileNotFoundError(2, "No such file or directory", path)

    def text(self, path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    def listing(self, path: str) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory", path)

    def link(self, path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    def netlink(self, request: Request) -> bytes:
        return self._answer(self.netlinks, request.name)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        return self._answer(self.ioctls, name)

    def counted(self, what: str) -> str:
        raise PermissionError(1, "Operation not permitted")

    def end_counting(self, what: str) -> None:
        """Nothing counts."""

    def keep_open(self, paths: Collection[str]) -> None:
        """There is no file."""

    def keep_ages(self, ages: Mapping[str, float]) -> None:
        """Nothing is recorded."""

    def _answer(self, answers: Mapping[str, bytes | int], name: str) -> bytes:
        self.asked.append(name)
        found = answers.get(name, 95)
        if isinstance(found, int):
            raise OSError(found, "as given")
        return found
