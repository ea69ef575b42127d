"""A file system to which programs that move network data write: collector `file_systems`."""

from __future__ import annotations

from operator import attrgetter
from shlex import quote
from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.text import few
from .. import Facts
from ..kind import Kind
from ..peers import writer

SHOWN: Final = 2  # programs that are named


@dataclass(frozen=True, slots=True)
class Volume:
    """One file system, known by a file that a program has open for writing."""

    id: str = label("a file there, as a shell reads it")
    filesystem: str = gauge("type of file system", default="")
    size: int = gauge("its size", "bytes", default=0)
    free: int = gauge("free, with what only root may use", "bytes", default=0)
    available: int = gauge("free for every user", "bytes", default=0)
    inodes_free: int | None = maybe("free inodes; None: made as they are needed", "files")
    writers: str = gauge("the programs that write there", default="")
    pid: int | None = maybe("the first of these")
    peers: tuple[str, ...] = gauge("these, as `facts.peers` names them", default=())


def build(frame: Frame, facts: Facts) -> tuple[Volume, ...]:  # noqa: ARG001
    """One fact for each file system."""
    rows = frame.rows("file_systems")
    names = {row.pid: row.name for row in frame.rows("socket_owners")} if rows else {}
    return tuple(
        Volume(
            quote(row.path), row.filesystem, row.size, row.free, row.available,
            row.inodes_free if row.inodes else None,
            few((f"{names.get(pid, 'process')}[{pid}]" for pid in row.writers), SHOWN),
            next(iter(row.writers), None), tuple(map(writer, row.writers)),
        )
        for row in rows if row.size
    )  # fmt: skip


KIND = Kind(
    Volume, "volumes", needs=("file_systems", "socket_owners"), build=build,
    parents={"process": attrgetter("pid"), "program": attrgetter("pid")},
    example={"id": "/srv/in/a", "pid": 3391},
)  # fmt: skip
