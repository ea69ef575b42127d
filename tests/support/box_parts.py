"""Parts of a black box for tests: a folder, moments, findings."""

from __future__ import annotations

from pathlib import Path

from nettop.advice.rules.rule import Finding
from nettop.box.folder import Folder
from nettop.box.incident import BOOT
from nettop.box.ring import Ring
from nettop.host.archive import RecordedMoment, written

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
        why="", held=0.0, evidence=(), sources=(), competing=(), encodes=(), wanted=(), advice=(),
        expected="",
    )  # fmt: skip
