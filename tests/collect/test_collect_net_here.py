"""The same collectors on this machine and on damaged input."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from hang import until
from hypothesis import given
from hypothesis import strategies as st
from net_files import SNMP, SOCKSTAT, UDP

from nettop.collect import (
    conntrack,
    meself,
    netdev,
    packet_sockets,
    pci,
    snmp,
    socket_owners,
    sockets_udp,
    sysctl_files,
    vmstat,
)
from nettop.collect._lines import sections, singles
from nettop.collect._table import Memory
from nettop.host.recording import Record, Replay
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

MINE = (
    "conntrack", "cpufreq", "cpuidle", "iommu", "meself", "packet_sockets", "pci", "rdma",
    "services", "snmp", "socket_owners", "sockets_udp", "sysctl_files", "vmstat", "xdp_sockets",
)  # fmt: skip


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """This machine, its netlink socket closed at the end."""
    source = Live()
    yield source
    kernel: Any = source._kernel
    if kernel is not None:
        kernel.close()


def test_sockets_of_this_machine_are_seen_with_owner_and_drops() -> None:
    """A small UDP socket that is not read, flooded over loopback."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taker,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as giver,
    ):
        taker.bind(("127.0.0.1", 0))
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        for _ in range(50):
            giver.sendto(b"x" * 500, taker.getsockname())
        inode = os.fstat(taker.fileno()).st_ino

        def dropped() -> list[sockets_udp.Row]:
            return [r for r in sockets_udp.update(Live(), {}) if r.inode == inode and r.drops]

        (row,) = until(dropped)
        assert (row.local, row.local_port) == taker.getsockname()
        assert row.recv_q > 0
        memory: Memory = {}  # of many processes some are read at each look

        def owned() -> list[socket_owners.Row]:
            return [r for r in socket_owners.update(Live(), memory) if r.inode == inode]

        (owner,) = until(owned)
        assert owner.pid == os.getpid()


def test_a_plain_capture_tells_its_drops(live: Live) -> None:
    try:
        capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    except PermissionError:
        pytest.skip("packet sockets need CAP_NET_RAW")
    with capture, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as giver:
        capture.bind(("lo", 0))
        capture.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        for _ in range(50):
            giver.sendto(b"x" * 500, ("127.0.0.1", 9))
        inode = os.fstat(capture.fileno()).st_ino

        def seen() -> list[packet_sockets.Row]:
            rows = [r for r in packet_sockets.read(live) if r.inode == inode]
            return [row for row in rows if row.rcvbuf is None or row.drops]  # by packet_diag

        (row,) = until(seen)
        assert (row.index, row.type) == (socket.if_nametoindex("lo"), "raw")


ASKED = frozenset({"Tcp.InSegs", "Udp.InDatagrams", "6.Udp6InDatagrams"})
PARSERS: list[tuple[Callable[[str], object], str]] = [
    (partial(sections, asked=ASKED), SNMP),
    (snmp.sockets, SOCKSTAT),
    (partial(singles, asked=ASKED), "Udp6InDatagrams   10\n"),
    (sockets_udp.parse, UDP),
    (packet_sockets.parse, "sk\n0 3 3 0003 2 1 640 0 75831\n"),
    (conntrack.totals, "entries drop\n0a 1\n"),
    (vmstat.parse, "cpu 1\nintr 99 1\n"),
    (pci.rate, "8.0 GT/s PCIe"),
    (pci.total, "RxErr 0\nTOTAL_ERR_COR 1"),
    (lambda text: sysctl_files.parse(text, "f"), "a.b = 1\n"),
]


@given(st.sampled_from(PARSERS), st.data())
def test_damaged_text_is_a_value_error_or_a_result(
    parser: tuple[Callable[[str], object], str], data: st.DataObject
) -> None:
    parse, good = parser
    place = data.draw(st.integers(0, len(good)))
    text = data.draw(
        st.sampled_from([good[:place], good[place:], good * 300])
        | st.text(max_size=60).map(lambda middle: good[:place] + middle + good[place:])
        | st.text(max_size=200)
    )
    try:
        parse(text)
    except ValueError:
        return


@folded("name", MINE)
def test_a_recording_of_this_machine_gives_the_same_rows(name: str, live: Live) -> None:
    record: Any = Record(live)
    seen = Sampler(record).take([name])
    record.text("/proc/loadavg")  # so that a recording of nothing but absence has an entry
    replayed = Sampler(Replay(record.archive())).take([name])
    assert replayed.rows(name) == seen.rows(name)
    assert (name in seen.missing) == (name in replayed.missing)


@pytest.mark.parametrize("name", MINE)
def test_an_empty_root_is_an_os_error(name: str, tmp_path: Path) -> None:
    frame = Sampler(Live(str(tmp_path))).take([name])
    assert name in frame.missing
    assert "Error" not in frame.missing[name]


def test_loopback_counts_as_ip_shows_them() -> None:
    """Others may use loopback meanwhile: what `ip` shows lies between two readings."""
    try:
        ask = ["ip", "-j", "-s", "link", "show", "lo"]
        before = {row.name: row for row in netdev.read(Live())}["lo"]
        shown = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no ip")
    after = {row.name: row for row in netdev.read(Live())}["lo"]
    told = json.loads(shown)[0]["stats64"]
    for way, name in (("rx", "bytes"), ("rx", "packets"), ("tx", "bytes"), ("tx", "packets")):
        field = f"{way}_{name}"
        assert getattr(before, field) <= told[way][name] <= getattr(after, field)


def test_own_cost() -> None:
    (row,) = meself.read(Live())
    assert row.pid == os.getpid()
    assert row.user + row.system > 0
    assert row.threads is not None
