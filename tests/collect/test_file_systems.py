"""File systems that programs with network data write to, and the finding of a full one."""

from pathlib import Path
from typing import Any

from folded import folded

from nettop.collect import file_systems, socket_owners, threads
from nettop.collect._table import Memory, recall
from nettop.facts.kinds.volume import build
from nettop.frame.rates import Entry, Frame
from nettop.host.record import Record
from nettop.host.recording import Replay
from nettop.host.source import STATVFS, Live

ANSWER = "4096 16 0 0 100 9\n"  # of statvfs()
MOUNTS = """\
30 22 0:41 / /srv rw - tmpfs tmpfs rw
31 22 0:50 / /net rw - nfs4 server:/ rw
"""


def host(root: Path, flags: str = "0100001", mount: str = "30", path: str = "/srv/in") -> str:
    """The process 7 has a file open as descriptor 3, a socket as 4 and a pipe as 5."""
    process = root / f"{flags}{mount}{path.replace('/', '-')}" / "proc/7"
    for name in ("fd", "fdinfo"):
        (process / name).mkdir(parents=True, exist_ok=True)
    (process / "fd/3").unlink(missing_ok=True)
    (process / "fd/3").symlink_to(path)
    (process / "fdinfo/3").write_text(f"pos:\t0\nflags:\t{flags}\nmnt_id:\t{mount}\nino:\t4\n")
    (process / "mountinfo").write_text(MOUNTS)
    return str(process.parents[1])


def rows(root: str, answer: Any = ANSWER) -> list[file_systems.Row]:
    class Asked(Live):
        def text(self, path: str) -> str:
            if not path.startswith(STATVFS):
                return super().text(path)
            assert path == f"{STATVFS}/proc/7/fd/3"
            if isinstance(answer, OSError):
                raise answer
            return str(answer)

    source = Asked(root)
    memory: Memory = {}
    process = socket_owners._ProcessSockets()
    process.names, process.inodes, process.pipes = ("3", "4", "5"), {"4": 9}, {"5": 8}
    recall(memory, socket_owners.Known).held = {"7": process}
    recall(memory, threads.Moving).rounds = {7: 1, 8: 1}
    return list(file_systems.update(source, memory))


def test_a_file_that_is_written_leads_to_its_file_system(tmp_path: Path) -> None:
    (row,) = rows(host(tmp_path))
    assert (row.device, row.path, row.filesystem) == ("0:41", "/srv/in", "tmpfs")
    assert (row.size, row.free, row.available) == (65536, 0, 0)
    assert (row.inodes, row.inodes_free, row.writers) == (100, 9, (7,))


@folded(("more", "answer"), [
    ({"flags": "0100000"}, ANSWER),  # it is read only
    ({"mount": "31"}, ANSWER),  # a server has it
    ({"path": "socket:[9]"}, ANSWER),
    ({}, FileNotFoundError(2, "closed")),
    ({}, "4096 16"),
    ({}, "a b c d e f"),
])  # fmt: skip
def test_what_leads_to_none(tmp_path: Path, more: dict[str, str], answer: Any) -> None:
    assert rows(host(tmp_path, **more), answer) == []


def test_the_numbers_of_a_file_system_are_recorded(tmp_path: Path) -> None:
    source, name = Record(Live("/")), f"{STATVFS}{tmp_path}"
    source.now()
    told = source.text(name).split()
    assert len(told) == 6
    assert Replay(source.archive()).text(name).split() == told


def test_a_path_is_told_as_a_shell_reads_it() -> None:
    row = file_systems.Row("0:41", "/srv/a b", "btrfs", 4096, 0, 0, 0, 0, (7, 9))
    owner = socket_owners.Row(4, 7, "fetch")
    tables = {"file_systems": (Entry(row),), "socket_owners": (Entry(owner),)}
    (found,) = build(Frame(0.0, 0.0, tables), None)  # type: ignore[arg-type]
    assert (found.id, found.writers) == ("'/srv/a b'", "fetch[7], process[9]")
    assert (found.inodes_free, found.pid, found.peers) == (None, 7, ("writer 7", "writer 9"))
