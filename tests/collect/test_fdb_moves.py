"""Forwarding entries that move between the ports of a bridge: what is told, and the rows."""

import errno
import socket
import struct
from typing import Any

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import message

from nettop.collect import fdb_moves
from nettop.host.bpf import moves
from nettop.host.netlink.codec import attribute

MAC = "52:54:00:ab:12:34"
NAMES = {2: "br0", 3: "vnet0", 4: "vnet1"}
NEW, DELETED, BRIDGE = 28, 29, 7


def told(port: int, kind: int = NEW, family: int = BRIDGE, master: int = 2, vlan: int = 0) -> bytes:
    body = struct.pack("=BxxxiHBB", family, port, 0x02, 0, 0)
    body += attribute(2, bytes.fromhex(MAC.replace(":", "")))
    body += attribute(5, struct.pack("=H", vlan)) if vlan else b""
    return message(kind, body + (attribute(9, struct.pack("=I", master)) if master else b""))


class Door:
    """A socket with what is told there; an error is raised."""

    def __init__(self, *found: Any) -> None:
        self.found = list(found)

    def bind(self, _: object) -> None:
        pass

    def send(self, request: bytes) -> None:
        assert struct.unpack("=IHHII", request[:16]) == (len(request), 30, 0x301, 1, 0)

    def recv(self, _: int) -> Any:
        one = self.found.pop(0) if self.found else BlockingIOError()
        if isinstance(one, OSError):
            raise one
        return one

    def close(self) -> None:
        self.found = []


def rows(monkeypatch: pytest.MonkeyPatch, *found: Any) -> list[fdb_moves.Row]:
    monkeypatch.setattr(socket, "socket", lambda *_: Door(*found))
    monkeypatch.setattr(socket, "if_indextoname", NAMES.__getitem__)
    return list(fdb_moves.parse(moves.Counter().text()))


@folded(("found", "known"), [
    ((told(3), told(4), told(3), told(4)), [(0, ("vnet0", "vnet1"), 3)]),
    ((told(3) + told(4),), [(0, ("vnet0", "vnet1"), 1)]),
    ((told(3), OSError(errno.ENOBUFS, "lost"), told(4)), [(0, ("vnet0", "vnet1"), 1)]),
    ((told(3, vlan=7), told(4, vlan=7), told(3)), [(7, ("vnet0", "vnet1"), 1)]),
    ((told(3), told(3)), []),  # learnt anew
    ((told(3), told(3, DELETED), told(4)), []),  # a port that was taken away, and a new one
    ((told(3, family=2), told(4, family=2)), []),  # a neighbour
    ((told(3, master=0), told(4, master=0)), []),  # of a VXLAN
    ((told(2), told(3)), []),  # of the bridge itself
    ((message(NEW, b"\x07"), message(16, bytes(40))), []),
])  # fmt: skip
def test_an_entry_at_another_port_than_before_has_moved(
    found: Any, known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = rows(monkeypatch, *found)
    assert all((one.bridge, one.hardware) == ("br0", MAC) for one in seen)
    assert [(one.vlan, one.ports, one.moves) for one in seen] == known


def test_another_error_of_the_socket_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="gone"):
        rows(monkeypatch, OSError(errno.EIO, "gone"))


@given(st.text())
def test_any_text_gives_rows_or_one_error(text: str) -> None:
    try:
        found = fdb_moves.parse(text)
    except ValueError:
        return
    assert all(row.moves >= 0 for row in found)
