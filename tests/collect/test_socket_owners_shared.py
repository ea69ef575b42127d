"""Owners of ten thousand sockets: texts and numbers that are equal are one object."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nettop.collect import socket_owners
from nettop.collect._table import Memory, recall
from nettop.collect.socket_owners import Known
from nettop.facts.single import socket_owners as owners_of
from nettop.host.recording import Replay


class Fresh(Replay):
    """A recording whose every listing is of new texts, as those of the kernel are."""

    def listing(self, path: str) -> list[str]:
        return ["".join(list(name)) for name in super().listing(path)]


def _recording() -> str:
    """Three processes with 80 sockets and another file each."""
    lines = ["c"]
    for pid in (3000, 3001, 3002):
        lines += [f"-- /proc/{pid}/comm --", f"p{pid}", f"-- /proc/{pid}/fd/99@ --", "/dev/null"]
        for fd in range(80):
            lines += [f"-- /proc/{pid}/fd/{fd}@ --", f"socket:[{pid * 1000 + fd}]"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def read() -> tuple[Memory, Sequence[socket_owners.Row]]:
    source, memory = Fresh(_recording()), Memory()
    for _ in range(4):
        rows = socket_owners.update(source, memory)
    return memory, rows


def test_a_list_of_descriptors_is_kept_once(
    read: tuple[Memory, Sequence[socket_owners.Row]],
) -> None:
    for process in recall(read[0], Known).held.values():
        assert len(process.names) == 81
        texts = {id(name) for name in (*process.names, *process.inodes)}
        assert len(texts) == 81


def test_sockets_of_a_process_share_its_number_and_its_owner(
    read: tuple[Memory, Sequence[socket_owners.Row]],
) -> None:
    rows = read[1]
    assert len(rows) == 240
    assert len({id(row.pid) for row in rows}) == 3
    # each row as after a new reading: equal numbers, other objects
    fresh = [socket_owners.Row(row.inode, int(str(row.pid)), row.name) for row in rows]
    owners = owners_of(fresh)
    assert owners[3001000] == (3001, "p3001")
    assert len(owners) == 240
    assert len({id(owner) for owner in owners.values()}) == 3
