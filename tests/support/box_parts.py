"""Parts of a black box for tests: a folder, moments, findings."""

import os
from pathlib import Path

from small_host import Small

from nettop.advice.rules.rule import Finding
from nettop.box.blackbox import COMMENT, BlackBox, Trigger, expressions
from nettop.box.folder import Folder
from nettop.box.incident import BOOT
from nettop.box.ring import Ring
from nettop.host.archive import RecordedMoment, written
from nettop.host.recording import Record
from nettop.views.observer import Observer

WALL = 1_800_000_000.0
SIZE = 4 << 20


def opened(path: Path, size: int = SIZE) -> Folder:
    folder = Folder(path / "box", size)
    folder.open()
    return folder


def moment(at: float, *, boot: str = "one", wall: float = WALL, **files: bytes) -> RecordedMoment:
    """A moment `at` seconds after the boot; `files` are entries below /proc."""
    entries: dict[str, bytes | None] = {f"/proc/{name}": body for name, body in files.items()}
    return RecordedMoment(at, wall + at, {BOOT: f"{boot}\n".encode(), **entries})


def fill(ring: Ring, begin: int, end: int, *, boot: str = "one", every: int = 10) -> None:
    """One moment a second; a segment begins after each `every` of them."""
    for at in range(begin, end):
        one = moment(at, boot=boot, stat=f"{at}\n".encode())
        ring.add(at, written(one), new=(at - begin) % every == 0)


def finding(rule: str, target: str = "eth0", severity: str = "critical") -> Finding:
    return Finding(
        id=f"{rule}@{target}", rule=rule, target=target, severity=severity, title=f"{rule} holds",
        why="", held=0.0, evidence=(), sources=(), competing=(), wanted=(), advice=(),
        expected="",
    )  # fmt: skip


class Recorded(Small):
    """A small host with this host's name; eth0 receives 1000 bytes/s more in each second."""

    def __init__(self, wall: float, *, boot: str = "one", name: str = "") -> None:
        super().__init__()
        self.begin, self.boot, self.name = wall, boot, name or os.uname().nodename

    def wall(self) -> float:
        return self.begin + self.second

    def wait(self, seconds: float) -> bool:
        self.second += 1
        return True

    def data(self, path: str) -> bytes:
        if path == "/proc/sys/kernel/hostname":
            return f"{self.name}\n".encode()
        if path == BOOT:
            return f"{self.boot}\n".encode()
        if path == "/proc/sys/kernel/osrelease":
            return b"6.1.0\n"
        if path == "/proc/net/dev":
            received = 500 * self.second * (self.second + 1)
            head = b" | receive | transmit\n" * 2
            return head + b"  eth0: %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" % received
        return super().data(path)


class Reports:
    """What a box has reported."""

    def __init__(self) -> None:
        self.incidents: list[str] = []
        self.troubles: list[str] = []

    def incident(self, incident: object, name: str) -> None:
        self.incidents.append(name)

    def trouble(self, message: str) -> None:
        self.troubles.append(message)


def recorder(
    folder: Folder, host: Recorded, reports: Reports | None = None, *,
    on: str = "critical", after: float = 3,
) -> BlackBox:  # fmt: skip
    """The black box of `nettop watch --box` on that host; 5 s before and `after` s are kept."""
    record = Record(host, comment=COMMENT, began=0.0)
    observer = Observer(record, extra=expressions([on]))
    trigger = Trigger((on,), observer.judge.rules)
    return BlackBox(folder, observer, record, trigger, 5, after, reports or Reports())


def record(path: Path, host: Recorded, seconds: int) -> Path:
    """The folder of a box that has watched the host for so long."""
    folder = opened(path)
    box = recorder(folder, host)
    for _ in range(seconds):
        box.step()
        host.wait(1)
    box.end()
    return folder.path
