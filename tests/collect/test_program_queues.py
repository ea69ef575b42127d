"""NFQUEUE and netlink sockets: what waits, what was lost, and whose it is."""

from pathlib import Path

import pytest
from flow_tables import task
from nic_tables import Tables, frames

from nettop.collect import Memory, bql, program_queues, socket_owners
from nettop.collect.program_queues import Row
from nettop.facts.joined import Joiner
from nettop.host.source import Live

HEAD = "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
NFQUEUE = "    0   1873  1024 2 65535 18601     2   900000  1\n"
NETLINK = (
    "000000001 0   12         00000551 0        0        0     2        7        4711\n"
    "000000002 16  0          00000000 0        0        0     2        0        4712\n"
)


def host(folder: Path, files: dict[str, str]) -> Live:
    for name, text in files.items():
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Live(str(folder))


def test_queues_and_the_sockets_that_lost_messages(tmp_path: Path) -> None:
    files = {"/proc/net/netfilter/nfnetlink_queue": NFQUEUE, "/proc/net/netlink": HEAD + NETLINK}
    assert list(program_queues.read(host(tmp_path, files))) == [
        Row("nfqueue", 0, 1873, 18603, 1024, 900000),
        Row("route", 4711, 12, 7),
    ]


def test_without_the_module_netlink_is_left(tmp_path: Path) -> None:
    assert len(program_queues.read(host(tmp_path, {"/proc/net/netlink": HEAD + NETLINK}))) == 1
    with pytest.raises(OSError, match="No such file"):
        program_queues.read(host(tmp_path / "empty", {"/proc/net/x": ""}))
    short = host(tmp_path / "short", {"/proc/net/netfilter/nfnetlink_queue": "0 1 2\n"})
    with pytest.raises(ValueError, match="eight numbers"):
        program_queues.read(short)


def test_each_queue_that_loses_has_its_program() -> None:
    tables: Tables = {
        "processes": [task(12, "bird", 0, 0.0), task(99, "x", 0, 0.0)],
        "socket_owners": [socket_owners.Row(4711, 99, "x")],
    }  # fmt: skip
    first = [Row("nfqueue", 0, 12, 0, 5, 0), Row("route", 4711, 1, 0), Row("nfqueue", 1, 12, 0, 5)]
    then = [Row("nfqueue", 0, 12, 620, 1024, 9000), Row("route", 4711, 1, 7), first[2]]
    joiner = Joiner()
    *_, facts = [
        joiner.build(frame)
        for frame in frames({**tables, "program_queues": first}, {**tables, "program_queues": then})
    ]
    assert [(one.id, one.program, one.drops) for one in facts.more["handover"]] == [
        ("NFQUEUE 0", "bird[12]", 620), ("netlink route of x[99]", "x[99]", 7),
    ]  # fmt: skip


# Byte queue limits: of hardware only, where the driver uses them.


def queue(folder: Path, nic: str, name: str, limit: int, inflight: int, *, device: bool) -> None:
    nets = folder / "sys/class/net" / nic
    place = nets / "queues" / name / "byte_queue_limits"
    place.mkdir(parents=True)
    for file, value in (("limit", limit), ("inflight", inflight), ("limit_max", 1_879_048_192)):
        (place / file).write_text(f"{value}\n")
    if device and not (nets / "device").is_symlink():
        (nets / "device").symlink_to("../../../devices/pci0000:00/0000:00:03.0")


def test_queues_of_hardware_with_a_limit(tmp_path: Path) -> None:
    queue(tmp_path, "eth0", "tx-0", 66_000, 1500, device=True)
    queue(tmp_path, "eth0", "tx-1", 0, 0, device=True)
    queue(tmp_path, "veth0", "tx-0", 100, 0, device=False)
    (tmp_path / "sys/class/net/eth0/queues/rx-0").mkdir()
    memory: Memory = {}
    rows = bql.update(Live(str(tmp_path)), memory)
    assert rows == [bql.Row("eth0", "tx-0", 1500, 66_000, 1_879_048_192)]


def test_the_list_of_queues_is_looked_up_now_and_then(tmp_path: Path) -> None:
    queue(tmp_path, "eth0", "tx-0", 66_000, 1500, device=True)
    memory: Memory = {}
    source = Live(str(tmp_path))
    assert len(bql.update(source, memory)) == 1
    queue(tmp_path, "eth1", "tx-0", 66_000, 1500, device=True)
    counts = [len(bql.update(source, memory)) for _ in range(30)]
    assert (counts[0], counts[-1]) == (1, 2)
