"""Collectors of sockets, protocol sums, slots, clocks, services, and what is written in files."""

import base64
import json
import os
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import (
    conntrack,
    cpufreq,
    cpuidle,
    iommu,
    meself,
    netdev,
    packet_sockets,
    pci,
    rdma,
    services,
    snmp,
    socket_owners,
    sockets_udp,
    sysctl_files,
    vmstat,
    xdp_sockets,
)
from nettop.host.recording import Record, Replay
from nettop.host.scrub import scrub
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

MINE = (
    "conntrack", "cpufreq", "cpuidle", "iommu", "meself", "packet_sockets", "pci", "rdma",
    "services", "snmp", "socket_owners", "sockets_udp", "sysctl_files", "vmstat", "xdp_sockets",
)  # fmt: skip


def host(files: dict[str, str]) -> Replay:
    entries = (f"-- {name} --\n{body.removesuffix(chr(10))}\n" for name, body in files.items())
    return Replay("c\n" + "".join(entries))


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """This machine, its netlink socket closed at the end."""
    source = Live()
    yield source
    kernel: Any = source._kernel
    if kernel is not None:
        kernel.close()


# --- protocol sums ----------------------------------------------------------------------------

SNMP = (
    "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 100 200 3\n"
    "Udp: InDatagrams RcvbufErrors\nUdp: 7 2\n"
)
NETSTAT = "TcpExt: ListenDrops TCPRcvQDrop NewInLinux99\nTcpExt: 5 6 1\n"
SOCKSTAT = "sockets: used 16\nTCP: inuse 1 orphan 0 tw 44 alloc 2 mem 9\nUDP: inuse 3 mem 141\n"


def test_figures_are_found_by_name_and_both_families_added() -> None:
    files = {
        "/proc/net/snmp": SNMP,
        "/proc/net/netstat": NETSTAT,
        "/proc/net/sockstat": SOCKSTAT,
        "/proc/net/sockstat6": "TCP6: inuse 4\nUDP6: inuse 0",
        "/proc/net/snmp6": "Udp6InDatagrams   10\nUdp6RcvbufErrors  1\nIp6InReceives 9",
    }
    (row,) = snmp.update(host(files), {})
    assert (row.tcp_in, row.tcp_out, row.tcp_retrans) == (100, 200, 3)
    assert (row.udp_in, row.udp_rcvbuf_errors) == (17, 3)
    assert (row.listen_drops, row.rcvq_drops) == (5, 6)
    assert (row.tcp_inuse, row.time_wait, row.tcp_mem_pages, row.udp_inuse) == (5, 44, 9, 3)
    assert (row.backlog_drops, row.udp_sndbuf_errors) == (None, None)


def test_only_snmp_itself_is_needed() -> None:
    (row,) = snmp.update(host({"/proc/net/snmp": SNMP}), {})
    assert (row.udp_in, row.listen_drops, row.time_wait) == (7, None, None)
    with pytest.raises(ValueError, match="names without figures"):
        snmp.update(host({"/proc/net/snmp": "Tcp: InSegs\nUdp: 3\n"}), {})


def test_what_did_not_change_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT, "/proc/net/udp": UDP}
    memory: dict[str, dict[str, Any]] = {"snmp": {}, "udp": {}}

    def rows() -> list[Any]:
        source = host(files)
        sums = snmp.update(source, memory["snmp"])
        return [*sums, *sockets_udp.update(source, memory["udp"])]

    before = rows()
    parsed: list[str] = []

    def told(what: str, told: Any) -> Any:
        parsed.append(what)
        return told

    monkeypatch.setattr(snmp, "row", lambda figures: told("row", dict(figures)))
    monkeypatch.setattr(sockets_udp, "parse", lambda text: told("udp", [text]))
    assert all(new is old for new, old in zip(rows(), before, strict=True))
    assert parsed == []
    files["/proc/net/snmp"] = SNMP.replace(" 100 ", " 101 ")
    assert rows()[0]["Tcp.InSegs"] == 101
    assert parsed == ["row"]


# --- sockets ----------------------------------------------------------------------------------

UDP = (
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout"
    " inode ref pointer drops\n"
    " 1054: 0100007F:0035 00000000:0000 07 00000000:00000D00 00:00000000 00000000   101        0"
    " 26519 2 0000000000000000 297\n"
)


def test_udp_sockets() -> None:
    (row,) = sockets_udp.parse(UDP)
    assert (row.local, row.local_port, row.remote_port) == ("127.0.0.1", 53, 0)
    assert (row.recv_q, row.uid, row.inode, row.drops, row.ipv6) == (3328, 101, 26519, 297, False)
    assert sockets_udp.end("000080FE00000000FF005450FE000ABC:1F90")[1] == 8080
    assert sockets_udp.end("00000000000000000000000001000000:0000") == ("::1", 0)
    mapped = "0000000000000000FFFF00000202 4D0A:DDD0".replace(" ", "")
    assert sockets_udp.end(mapped) == ("10.77.2.2", 0xDDD0)
    assert [row.local for row in sockets_udp.update(host({"/proc/net/udp": UDP}), {})] == [
        "127.0.0.1"
    ]


def attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(payload), kind) + payload + b"\0" * (-len(payload) % 4)


def message(body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


def packet(inode: int, *parts: bytes) -> bytes:
    return message(struct.pack("=BBHIII", 17, 3, 3, inode, 0, 0) + b"".join(parts))


PLAIN = packet(
    11, attribute(0, struct.pack("=6I", 2, 0, 0, 0, 0, 0)),
    attribute(6, struct.pack("=9I", 512, 4096, 0, 0, 0, 0, 0, 0, 7)),
)  # fmt: skip
RING = packet(
    12, attribute(0, struct.pack("=6I", 0, 2, 0, 0, 0, 0)),
    attribute(2, struct.pack("=7I", 4096, 100, 2048, 200, 60, 0, 0)),
    attribute(4, struct.pack("=I", 1 << 16 | 77)),
    attribute(6, struct.pack("=9I", 0, 4096, 0, 0, 0, 0, 0, 0, 0)),
)  # fmt: skip


def test_packet_sockets_by_diag() -> None:
    plain, ring = packet_sockets.decode(PLAIN + RING)
    assert (plain.inode, plain.index, plain.type, plain.protocol) == (11, 2, "raw", 3)
    assert (plain.drops, plain.queued, plain.rcvbuf, plain.ring_version) == (7, 512, 4096, None)
    assert (ring.index, ring.ring_version, ring.ring_bytes) == (None, 3, 409600)
    assert (ring.fanout, ring.fanout_type) == (77, "lb")
    assert ring.drops is None  # only the owner of a ring is told its losses


def test_packet_sockets_from_proc_where_netlink_refuses() -> None:
    text = (
        "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
        "00000000deadbeef 3      3    0003   2     1 640    0      75831\n"
    )
    (row,) = packet_sockets.read(host({"/proc/net/packet": text}))
    assert (row.inode, row.index, row.type, row.protocol, row.queued, row.drops) == (
        75831, 2, "raw", 3, 640, None,
    )  # fmt: skip
    answer = base64.b64encode(PLAIN).decode()
    assert packet_sockets.read(host({"netlink/sock_diag/packet": answer}))[0].inode == 11


def test_xdp_sockets() -> None:
    body = struct.pack("=BBHIII", 44, 3, 0, 99, 0, 0)
    body += attribute(1, struct.pack("=II", 4, 7)) + attribute(9, struct.pack("=6Q", *range(1, 7)))
    (row,) = xdp_sockets.decode(message(body))
    assert (row.inode, row.index, row.queue) == (99, 4, 7)
    assert (row.drops, row.ring_full, row.fill_empty) == (1, 3, 4)
    (bare,) = xdp_sockets.decode(message(struct.pack("=BBHIII", 44, 3, 0, 99, 0, 0)))
    assert (bare.index, bare.drops) == (None, None)


@given(st.sampled_from([PLAIN + RING, PLAIN]), st.data())
def test_damaged_answers_are_value_errors(good: bytes, data: st.DataObject) -> None:
    raw = bytearray(good[: data.draw(st.integers(0, len(good)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    for decode in (packet_sockets.decode, xdp_sockets.decode):
        try:
            decode(bytes(raw))
        except ValueError:
            continue


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
        (row,) = [r for r in sockets_udp.update(Live(), {}) if r.inode == inode]
        assert (row.local, row.local_port) == taker.getsockname()
        assert row.drops > 0
        assert row.recv_q > 0
        owners = {r.inode: r for r in socket_owners.update(Live(), {})}
        assert owners[inode].pid == os.getpid()


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
        (row,) = [r for r in packet_sockets.read(live) if r.inode == inode]
        assert (row.index, row.type) == (socket.if_nametoindex("lo"), "raw")
        if row.rcvbuf is not None:  # by packet_diag
            assert row.drops is not None
            assert row.drops > 0


# --- owners of sockets ------------------------------------------------------------------------


class Asked(Replay):
    """A recording that counts links followed and directories listed."""

    links = lists = 0

    def link(self, path: str) -> str:
        self.links += 1
        return super().link(path)

    def listing(self, path: str) -> list[str]:
        self.lists += 1
        return super().listing(path)


def holders(processes: int, sockets: int) -> str:
    lines = ["c"]
    for pid in range(100, 100 + processes):
        lines += [f"-- /proc/{pid}/comm --", f"p{pid}"]
        for fd in range(sockets):
            lines += [f"-- /proc/{pid}/fd/{fd}@ --", f"socket:[{pid * 1000 + fd}]"]
        lines += [f"-- /proc/{pid}/fd/99@ --", "/dev/null"]
    return "\n".join(lines) + "\n"


def test_owners_are_found_and_unchanged_lists_trusted() -> None:
    source, memory = Asked(holders(3, 2)), dict[str, Any]()
    rows = socket_owners.update(source, memory)
    assert {(row.inode, row.pid, row.name) for row in rows} == {
        (pid * 1000 + fd, pid, f"p{pid}") for pid in (100, 101, 102) for fd in (0, 1)
    }
    before = source.links
    assert socket_owners.update(source, memory) == rows
    assert source.links == before


def test_of_a_list_that_grew_only_what_is_new_is_followed() -> None:
    memory = dict[str, Any]()
    socket_owners.update(Asked(holders(2, 3)), memory)
    grown, links = Asked(holders(2, 4)), []
    for _ in range(7):
        before = grown.links
        rows = socket_owners.update(grown, memory)
        links.append(grown.links - before)
    assert {row.inode for row in rows} == {pid * 1000 + fd for pid in (100, 101) for fd in range(4)}
    assert links == [2, 0, 0, 0, 0, 0, 10]  # all of them when they were trusted for six readings
    fewer = socket_owners.update(Asked(holders(2, 1)), memory)
    assert [row.inode for row in fewer] == [100000, 101000]


def test_many_processes_are_looked_into_in_turn() -> None:
    source, memory = Asked(holders(1000, 1)), dict[str, Any]()
    sizes = []
    for _ in range(4):
        before = source.lists
        sizes.append(len(socket_owners.update(source, memory)))
        assert source.lists - before <= socket_owners.LISTS + 1001
    assert sizes[0] == socket_owners.LISTS
    assert sizes[-1] == 1000


def test_processes_without_sockets_are_looked_into_less_often() -> None:
    memory = dict[str, Any]()
    quiet, busy = holders(8, 0), holders(8, 1)
    lists = []
    for _ in range(22):
        source = Asked(quiet)
        assert socket_owners.update(source, memory) == []
        lists.append(source.lists - 1)  # that of /proc itself
    assert lists[:3] == [8, 8, 8]  # what is new is looked into at once
    assert sum(lists) == 7 * 8
    found = [len(socket_owners.update(Asked(busy), memory)) for _ in range(6)]
    assert found[-1] == 8  # six readings later at most
    source = Asked(busy)
    socket_owners.update(source, memory)
    assert source.lists - 1 == 8  # those with sockets in each


def test_a_shown_recording_does_not_tell_which_files_are_open() -> None:
    text = scrub("c\n-- /proc/7/fd/3@ --\n/home/ann/secret\n-- /proc/7/fd/4@ --\nsocket:[55]\n")
    assert "ann" not in text
    assert [row.inode for row in socket_owners.update(Replay(text), {})] == [55]


def test_closed_processes_are_counted() -> None:
    files = {"/proc/7/fd/": "!13 Permission denied", "/proc/7/comm": "root's"}
    files["/proc/8/fd/3@"] = "socket:[55]"
    rows = socket_owners.update(host(files), {})
    assert [(row.inode, row.pid, row.closed) for row in rows] == [(0, None, 1), (55, 8, 0)]


# --- slots, clocks, sleep ---------------------------------------------------------------------

NET = "/sys/class/net/eth0/device"


def test_a_slot_that_came_up_narrow() -> None:
    files = {
        f"{NET}@": "../../../0000:41:00.0",
        f"{NET}/current_link_speed": "8.0 GT/s PCIe",
        f"{NET}/current_link_width": "4",
        f"{NET}/max_link_speed": "16.0 GT/s PCIe",
        f"{NET}/max_link_width": "16",
        f"{NET}/aer_dev_correctable": "RxErr 3\nBadTLP 2\nTOTAL_ERR_COR 5",
        f"{NET}/aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0",
        f"{NET}/aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 1",
        f"{NET}/iommu_group@": "../../../../kernel/iommu_groups/17",
        f"{NET}/iommu_group/type": "DMA-FQ",
        "/sys/class/net/lo/mtu": "65536",
    }
    (row,) = pci.read(host(files))
    assert (row.speed, row.width, row.max_speed, row.max_width) == (8.0, 4, 16.0, 16)
    assert (row.aer_correctable, row.aer_fatal) == (5, 1)
    assert iommu.read(host(files)) == [iommu.Row("eth0", 17, "DMA-FQ")]


def test_unknown_speed_is_unknown_and_virtio_stands_in_its_parents_slot() -> None:
    files = {
        f"{NET}@": "../../../virtio2",
        f"{NET}/../current_link_speed": "Unknown",
        f"{NET}/../current_link_width": "255",
    }
    assert pci.read(host(files)) == [pci.Row("eth0")]
    assert iommu.read(host(files)) == [iommu.Row("eth0")]
    assert pci.rate("2.5 GT/s PCIe") == 2.5


def test_clocks_of_a_policy_with_two_cpus() -> None:
    p = "/sys/devices/system/cpu/cpufreq/policy0"
    rows = cpufreq.read(
        host(
            {
                f"{p}/affected_cpus": "0 32",
                f"{p}/scaling_governor": "powersave",
                f"{p}/cpuinfo_max_freq": "3500000",
                f"{p}/scaling_cur_freq": "800000",
            }
        )
    )
    assert [(r.cpu, r.governor, r.frequency, r.max_frequency, r.epp) for r in rows] == [
        (0, "powersave", 8e8, 3.5e9, None),
        (32, "powersave", 8e8, 3.5e9, None),
    ]


def test_time_in_deep_states() -> None:
    c = "/sys/devices/system/cpu/cpu0/cpuidle"
    files = {"/sys/devices/system/cpu/online": "0"}
    for number, (name, wake, spent, off) in enumerate(
        [("POLL", 0, 5, 0), ("C1", 2, 7, 0), ("C1E", 10, 9, 0), ("C6", 133, 4000000, 0),
         ("C10", 890, 1000000, 1)]
    ):  # fmt: skip
        files |= {
            f"{c}/state{number}/name": name,
            f"{c}/state{number}/latency": str(wake),
            f"{c}/state{number}/time": str(spent),
            f"{c}/state{number}/disable": str(off),
        }
    memory: dict[str, Any] = {}
    (row,) = cpuidle.update(host(files), memory)
    assert (row.deep, row.deepest, row.latency) == (5.0, "C6", 133e-6)
    assert cpuidle.update(host(files), memory) == [row]


# --- conntrack, RDMA, services, sums ----------------------------------------------------------


def test_conntrack_sums_its_cpus_in_hexadecimal() -> None:
    base = "/proc/sys/net/netfilter/nf_conntrack_"
    stat = "entries  drop early_drop insert_failed\n0000000a 00000010 1 0\n0000000a 1 0 0\n"
    (row,) = conntrack.read(
        host({base + "count": "10", base + "max": "100", "/proc/net/stat/nf_conntrack": stat})
    )
    assert (row.count, row.most, row.buckets) == (10, 100, None)
    assert (row.drops, row.early_drops, row.failures) == (17, 1, 0)
    with pytest.raises(ValueError, match="no number"):
        conntrack.read(host({base + "count": "x"}))


def test_rdma_counts_words_of_four_bytes() -> None:
    d = "/sys/class/infiniband/mlx5_0"
    files = {
        f"{d}/ports/1/counters/port_rcv_data": "25",
        f"{d}/ports/1/state": "4: ACTIVE",
        f"{d}/ports/1/gid_attrs/ndevs/0": "eth0",
    }
    (row,) = rdma.read(host(files))
    assert (row.device, row.port, row.nic, row.state, row.rx_bytes, row.tx_bytes) == (
        "mlx5_0", 1, "eth0", "ACTIVE", 100, None,
    )  # fmt: skip
    assert rdma.read(host({"/sys/class/net/lo/mtu": "1"})) == []


def test_services_by_command_name_and_files() -> None:
    files = {
        "/proc/2/comm": "kthreadd",
        "/proc/50/comm": "irqbalance",
        "/proc/50/cmdline": "/usr/sbin/irqbalance\0--banirq=33\0",
        "/etc/default/irqbalance": "#x\nIRQBALANCE_BANNED_CPULIST=0-3",
        "/proc/51/comm": "systemd-network",
        "/etc/tuned/active_profile": "network-latency",
    }
    rows = {row.name: row for row in services.read(host(files))}
    assert rows["irqbalance"].detail == "--banirq=33 IRQBALANCE_BANNED_CPULIST=0-3"
    assert (rows["networkd"].running, rows["networkd"].pid) == (True, 51)
    assert (rows["tuned"].running, rows["tuned"].detail) == (False, "network-latency")
    del files["/proc/2/comm"]
    inside = {row.name: row.running for row in services.read(host(files))}
    assert (inside["irqbalance"], inside["tuned"]) == (True, None)


def test_host_sums() -> None:
    row = vmstat.parse("cpu 1 2\ncpu0 1\nintr 99 1 2\nctxt 7\nprocs_running 3\n", "numa_miss 4\n")
    assert (row.interrupts, row.switches, row.running, row.numa_miss) == (99, 7, 3, 4)
    assert (row.softirqs, row.numa_hit) == (None, None)


# --- what is written in files -----------------------------------------------------------------


def test_sysctl_files_in_order_masked_and_overridden() -> None:
    files = {
        "/etc/": "sysctl.conf\nsysctl.d",
        "/usr/lib/sysctl.d/50-a.conf": "net.ipv4.tcp_sack = 1\nnet.core.somaxconn=1",
        "/etc/sysctl.d/50-a.conf": "\n\n# x\n-net/ipv4/tcp_sack =  0\n",
        "/usr/lib/sysctl.d/10-b.conf": "net/ipv4/conf/eth0.5/mtu = 1\n;net.x=1\nnovalue\n",
        "/etc/sysctl.d/readme": "a=1",
        "/etc/sysctl.conf": "net.ipv4.tcp_rmem = 4096\t131072   6291456\nnet.ipv4.tcp_sack=1\n",
    }
    rows = sysctl_files.read(host(files))
    assert [(row.file, row.line, row.key, row.value, row.wins) for row in rows] == [
        ("/usr/lib/sysctl.d/10-b.conf", 1, "net.ipv4.conf.eth0/5.mtu", "1", True),
        ("/etc/sysctl.d/50-a.conf", 4, "net.ipv4.tcp_sack", "0", False),
        ("/etc/sysctl.conf", 1, "net.ipv4.tcp_rmem", "4096 131072 6291456", True),
        ("/etc/sysctl.conf", 2, "net.ipv4.tcp_sack", "1", True),
    ]


def test_sysctl_conf_by_a_link_is_read_once() -> None:
    files = {
        "/etc/": "sysctl.conf\nsysctl.d",
        "/etc/sysctl.d/99-sysctl.conf": "a.b = 1",
        "/etc/sysctl.d/99-sysctl.conf@": "../sysctl.conf",
        "/etc/sysctl.conf": "a.b = 1",
    }
    assert [row.file for row in sysctl_files.read(host(files))] == ["/etc/sysctl.d/99-sysctl.conf"]


# --- damaged input and this machine -----------------------------------------------------------

PARSERS: list[tuple[Callable[[str], object], str]] = [
    (snmp.sections, SNMP),
    (snmp.sockets, SOCKSTAT),
    (snmp.singles, "Udp6InDatagrams   10\n"),
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


@pytest.mark.parametrize("name", MINE)
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
