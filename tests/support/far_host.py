"""A reader that answers from a recording, and another host that is reached without a process."""

import os
from collections.abc import Mapping

from nettop.host.distant import Distant, _message
from nettop.host.far.reader import Reader
from nettop.host.netlink.codec import Request
from nettop.host.source import Source


class Recorded:
    """The host of a reader: a recording. Requests are found by the names that they have here."""

    def __init__(
        self, replay: Source, names: Mapping[bytes, Request | tuple[str, bytes, str]]
    ) -> None:
        self.replay = replay
        self.names = names

    def file(self, path: bytes) -> bytes:
        return self.replay.data(os.fsdecode(path))

    def folder(self, path: bytes) -> bytes:
        return b"".join(
            os.fsencode(name) + b"\n" for name in self.replay.listing(os.fsdecode(path))
        )

    def link(self, path: bytes) -> bytes:
        return os.fsencode(self.replay.link(os.fsdecode(path)))

    def netlink(self, payload: bytes) -> bytes:
        request = self.names[payload]
        assert isinstance(request, Request)
        return self.replay.netlink(request)

    def ioctl(self, payload: bytes) -> bytes:
        command = self.names[payload]
        assert isinstance(command, tuple)
        return self.replay.statistics(*command)

    def monotonic(self) -> float:
        return self.replay.now()

    def wall(self) -> float:
        return self.replay.wall()


class Wire:
    """A connection to a reader of this process; counts round trips."""

    name, root, idle = "recorded", True, False

    def __init__(self, host: Recorded, first: bytes) -> None:
        self.reader = Reader(host)  # type: ignore[arg-type]
        self.waiting = [first]
        self.exchanges = 1

    def answer(self) -> bytes:
        return self.reader.answer(self.waiting.pop(0))

    def exchange(self, *batches: bytes) -> bytes:
        self.exchanges += 1
        assert not self.waiting
        self.waiting += batches
        return self.answer()

    def close(self) -> None:
        self.reader = None  # type: ignore[assignment]


class Far(Distant):
    """Another host whose answers are those of a recording."""

    def __init__(self, replay: Source) -> None:
        self.names: dict[bytes, Request | tuple[str, bytes, str]] = {}
        self.wires: list[Wire] = []
        self.replay = replay
        recorded = Recorded(replay, self.names)

        def connect(asks: bytes, first: bool) -> Wire:
            self.wires.append(Wire(recorded, asks))
            return self.wires[-1]

        from nettop.host.netlink import route

        self.names[_message(route.LINKS)[1]] = route.LINKS
        super().__init__(connect)  # type: ignore[arg-type]

    def now(self) -> float:
        return self.replay.now()

    def netlink(self, request: Request) -> bytes:
        self.names[_message(request)[1]] = request
        return super().netlink(request)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        payload = b"%s\0%d\0%s" % (os.fsencode(interface), len(request), request.rstrip(b"\0"))
        self.names[payload] = interface, request, name
        return super().statistics(interface, request, name)
