"""Software interfaces of a host with many are read when they change, the others in turn. Counts."""

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from netlink_bytes import Fake, message, nest, text

from nettop.collect import Memory, channels, links
from nettop.collect._turns import PART, by_turns
from nettop.host.netlink import ethtool, route
from nettop.host.netlink.codec import attribute, decode


def veth(index: int, mtu: int = 1500, kind: str = "veth") -> bytes:
    head = struct.pack("=BxHiII", 0, 1, index, 0x1003, 0)
    info = nest(18, text(1, kind)) if kind else b""
    return message(16, head + text(3, f"v{index}") + attribute(4, struct.pack("=I", mtu)) + info)


class Host:
    """`count` veth interfaces and one NIC, eth0; `read` counts by interface."""

    def __init__(self, count: int) -> None:
        self.messages = {f"v{n}": veth(n) for n in range(1, count + 1)}
        self.memory: Memory = {}
        self.reads: list[str] = []

    def read(self, name: str) -> object:
        self.reads.append(name)
        return name, len(self.reads)

    def look(self) -> list[str]:
        """The interfaces that are read now."""
        self.reads.clear()
        nic = veth(9999, kind="").replace(b"v9999", b"eth0\0")
        source = Fake({"route/links": b"".join(self.messages.values()) + nic})
        by_turns(source, self.memory, [*self.messages, "eth0"], self.read)
        return list(self.reads)


def test_of_many_hardware_and_a_part_are_read_each_time_and_all_after_some_time() -> None:
    host = Host(160)
    assert len(host.look()) == 161
    looks = [host.look() for _ in range(PART)]
    assert all(len(names) == 160 // PART + 1 and "eth0" in names for names in looks)
    assert {name for names in looks for name in names} == {*host.messages, "eth0"}


def test_an_interface_that_changes_is_read_at_once_and_one_that_is_gone_is_forgotten() -> None:
    host = Host(160)
    host.look()
    host.look()
    host.messages["v150"] = veth(150, mtu=9000)
    host.messages["v161"] = veth(161)
    del host.messages["v3"]
    names = host.look()
    assert {"v150", "v161"} <= set(names)
    assert "v3" not in names
    assert len(names) < 20


def test_a_host_without_links_reads_all_each_time() -> None:
    reads: list[str] = []
    for _ in range(2):
        by_turns(Fake({}), {}, [f"v{n}" for n in range(100)], reads.append)
    assert len(reads) == 200


def test_a_link_whose_message_is_the_same_keeps_its_row() -> None:
    messages = [veth(n) for n in range(1, 6)]
    source, memory = Fake({"route/links": b"".join(messages)}), Memory()
    before = links.update(source, memory)
    messages[2] = veth(3, mtu=9000)
    source.netlinks["route/links"] = b"".join(messages)
    now = links.update(source, memory)
    assert [a is b for a, b in zip(before, now, strict=True)] == [True, True, False, True, True]
    assert now[2].mtu == 9000


def test_a_renamed_link_renews_the_rows_that_name_it() -> None:
    def vlan(below: str) -> bytes:
        head = struct.pack("=BxHiII", 0, 1, 8, 0x1003, 0)
        upper = message(16, head + text(3, "up0") + attribute(5, struct.pack("=I", 2)))
        return veth(2).replace(b"v2\0", below.encode() + b"\0") + upper

    source, memory = Fake({"route/links": vlan("v2")}), Memory()
    assert links.update(source, memory)[1].link == "v2"
    source.netlinks["route/links"] = vlan("w2")
    assert [(row.interface, row.link) for row in links.update(source, memory)] == [
        ("w2", None), ("up0", "w2"),
    ]  # fmt: skip


def test_devices_that_are_alike_are_decoded_once() -> None:
    def rings(index: int, rx: int) -> bytes:
        header = nest(1, attribute(1, struct.pack("=I", index)), text(2, f"eth{index}"))
        return message(20, b"\x10\x01\0\0" + header + attribute(6, struct.pack("=I", rx)))

    reply = rings(1, 256) + rings(2, 256) + rings(3, 512)
    found = dict(ethtool._answers(reply, ethtool.MESSAGES["rings"]))
    assert {name: values["rx"] for name, values in found.items()} == {
        "eth1": 256, "eth2": 256, "eth3": 512,
    }  # fmt: skip
    assert found["eth1"] is found["eth2"]


def test_an_answer_that_did_not_change_is_not_decoded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[bytes] = []

    def counted(data: bytes, *where: Any) -> Any:
        decoded.append(data)
        return decode(data, *where)

    monkeypatch.setattr(ethtool, "decode", counted)
    header = nest(1, attribute(1, struct.pack("=I", 9)), text(2, "eth9"))

    def update(combined: int, memory: Memory) -> Sequence[channels.Row]:
        reply = message(20, b"\x12\x01\0\0" + header + attribute(9, struct.pack("=I", combined)))
        return channels.update(Fake({"ethtool/channels": reply}), memory)

    memory: Memory = {}
    first = update(4, memory)
    assert update(4, memory) is first
    assert len(decoded) == 1
    assert [row.combined for row in update(8, memory)] == [8]
    assert len(decoded) == 2


def test_without_links_there_are_no_names() -> None:
    assert route.names_in(b"") == {}
