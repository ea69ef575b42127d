"""The frame beside mpstat, ethtool, ip, tc, nstat, ss and psutil at the same time, on this kernel.

Where figures move, nettop reads between two runs of the tool and must lie between them: no test
here depends on how long anything took.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import veth

from nettop.frame.rates import Frame
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler
from nettop.terms.cpulist import parse

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]
HERE, _ = veth.spaces("beside")
READ = """
import json, sys
from dataclasses import asdict
from nettop.frame.fields import values
from nettop.sampling.sampler import Sampler
from nettop.host.source import Live
frame = Sampler(Live()).take(sys.argv[1:])
print(json.dumps({name: [values(row) for row in frame.rows(name)] for name in frame.tables}))
"""
# half of what is sent finds no room: a socket of the smallest buffer that nobody reads
LOSS = """
import socket, sys
full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
full.bind(("10.93.0.1", 7300))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
print("ready", flush=True)
sys.stdin.read()
"""
SEND = """
import socket
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(300):
    door.sendto(b"x" * 1000, ("10.93.0.1", 7300))
"""


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def inside(*words: str, where: str = HERE) -> str:
    return run("ip", "netns", "exec", where, *words)


def tables(*names: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(inside(sys.executable, "-c", READ, *names))
    return found


def frame(*names: str) -> Frame:
    """What this host shows now, in the first namespace."""
    return Sampler(Live()).take(names)


@pytest.fixture(scope="module", autouse=True)
def pair() -> Iterator[None]:
    """The near one's sending is throttled so that its qdisc drops."""
    with veth.pair("beside", queues=2) as place:
        run(
            "tc", "-n", HERE, *"qdisc add dev eth0 root tbf rate 64kbit burst 2kb limit 3kb".split()
        )
        flood = ["ping", "-q", "-c", "40", "-i", "0.002", "-s", "1200", "-W", "1", veth.FAR]
        subprocess.run([*place.near, *flood], capture_output=True, check=False)
        yield


def between(
    tool: Callable[[], dict[str, float]], mine: Callable[[], dict[str, float]], slack: float = 0.0
) -> dict[str, float]:
    """Each figure of ours lies between the tool's before and after; gives ours."""
    before, own, after = tool(), mine(), tool()
    assert own
    for name, value in own.items():
        low, high = sorted((before[name], after[name]))
        assert low - slack <= value <= high + slack, (name, before[name], value, after[name])
    return own


@pytest.mark.skipif(not shutil.which("mpstat"), reason="no mpstat (sysstat)")
def test_what_each_cpu_did_is_mpstats() -> None:
    """mpstat without an interval gives each CPU's shares since boot."""

    def told() -> dict[str, float]:
        found = json.loads(run("mpstat", "-P", "ALL", "-o", "JSON"))
        (moment,) = found["sysstat"]["hosts"][0]["statistics"]
        return {
            f"{one['cpu']} {share}": one[share]
            for one in moment["cpu-load"]
            if one["cpu"] != "all"
            for share in ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "idle")
        }

    def mine() -> dict[str, float]:
        out: dict[str, float] = {}
        for row in frame("cpu").rows("cpu"):
            shares = {
                "usr": row.user - row.guest, "nice": row.nice, "sys": row.system,
                "iowait": row.iowait, "irq": row.irq, "soft": row.softirq, "steal": row.steal,
                "idle": row.idle,
            }  # fmt: skip
            whole = sum(shares.values()) + row.guest
            out |= {f"{row.cpu} {name}": 100 * value / whole for name, value in shares.items()}
        return out

    assert len(between(told, mine, slack=0.02)) == 8 * (os.cpu_count() or 0)


def test_every_counter_of_an_interface_is_ips() -> None:
    """With -s -s ip shows each error by itself."""
    words = {
        "rx": "bytes packets errors dropped over_errors multicast length_errors crc_errors "
        "frame_errors fifo_errors missed_errors",
        "tx": "bytes packets errors dropped collisions aborted_errors fifo_errors window_errors "
        "heartbeat_errors",
    }  # fmt: skip
    told = json.loads(inside(*"ip -json -s -s link show dev eth0".split()))[0]["stats64"]
    (row,) = [r for r in tables("link_stats")["link_stats"] if r["interface"] == "eth0"]
    compared = 0
    for way, names in words.items():
        for name in names.split():
            ours = name if name in ("multicast", "collisions") else f"{way}_{name}"
            if name in told[way]:
                compared += 1
                assert row[ours] == told[way][name], ours
    assert compared >= 18
    assert row["tx_packets"] > 0


def test_a_drivers_own_statistics_are_ethtools() -> None:
    told = dict(re.findall(r"^ +(\S+): (\d+)$", inside("ethtool", "-S", "eth0"), re.MULTILINE))
    mine = {
        row["name"]: str(row["level"] if row["value"] is None else row["value"])
        for row in tables("nicstats_raw")["nicstats_raw"]
        if row["interface"] == "eth0"
    }
    assert len(mine) > 10
    assert mine == told


def test_a_qdisc_with_its_drops_is_tcs() -> None:
    (told,) = json.loads(inside("tc", "-j", "-s", "qdisc", "show", "dev", "eth0"))
    (mine,) = [row for row in tables("qdiscs")["qdiscs"] if row["interface"] == "eth0"]
    assert mine["drops"] > 0
    assert (mine["kind"], mine["handle"], mine["root"]) == ("tbf", told["handle"], True)
    for name in ("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"):
        assert mine[name] == told[name], name


def test_protocol_counters_are_nstats() -> None:
    told = json.loads(inside("nstat", "-asz", "--json"))["kernel"]
    (mine,) = tables("snmp")["snmp"]
    names = {
        "tcp_in": "TcpInSegs", "tcp_out": "TcpOutSegs", "tcp_retrans": "TcpRetransSegs",
        "tcp_errors": "TcpInErrs", "tcp_resets": "TcpOutRsts", "ip_in": "IpInReceives",
        "ip_discards": "IpInDiscards", "tcp_timeouts": "TcpExtTCPTimeouts",
        "listen_drops": "TcpExtListenDrops", "backlog_drops": "TcpExtTCPBacklogDrop",
        "rcvq_drops": "TcpExtTCPRcvQDrop",
    }  # fmt: skip
    known = {ours: theirs for ours, theirs in names.items() if theirs in told}
    assert len(known) >= 9
    theirs = {ours: told[name] for ours, name in known.items()}
    for ours, name in (("ip_in", "Ip6InReceives"), ("ip_discards", "Ip6InDiscards")):
        theirs[ours] += told[name]  # both protocols
    assert {ours: mine[ours] for ours in known} == theirs
    assert mine["udp_no_ports"] == told["UdpNoPorts"] + told["Udp6NoPorts"]
    assert mine["ip_in"] > 0


def test_what_a_full_socket_loses_is_what_ss_shows() -> None:
    words = ["ip", "netns", "exec", HERE, sys.executable, "-c", LOSS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as full:
        assert full.stdin is not None
        assert full.stdout is not None
        assert full.stdout.readline() == "ready\n"
        inside(sys.executable, "-c", SEND)
        told = inside("ss", "-uamneH", "sport = :7300")
        (mine,) = [r for r in tables("sockets_udp")["sockets_udp"] if r["local_port"] == 7300]
        full.stdin.close()
    drops, inode = (int(re.findall(word, told)[0]) for word in (r",d(\d+)\)", r"ino:(\d+)"))
    assert drops > 200
    assert (mine["drops"], mine["inode"]) == (drops, inode)
    assert (mine["recv_q"], mine["send_q"]) == tuple(int(n) for n in told.split()[1:3])


# prints what psutil says inside the namespace
PSUTIL = """
import json, psutil
moved = psutil.net_io_counters(pernic=True)["eth0"]._asdict()
link = psutil.net_if_stats()["eth0"]
held = [[e.family.name, e.address.partition("%")[0]] for e in psutil.net_if_addrs()["eth0"]]
sockets = [
    [c.laddr.port, c.pid] for c in psutil.net_connections("tcp") if c.status == "LISTEN"
]
print(json.dumps([moved, link.mtu, link.isup, held, sockets]))
"""


def test_an_interface_and_its_addresses_are_psutils() -> None:
    moved, mtu, up, held, _ = json.loads(inside(sys.executable, "-c", PSUTIL))
    seen = tables("netdev", "links", "addresses")
    (count,) = [row for row in seen["netdev"] if row["name"] == "eth0"]
    names = {
        "bytes_recv": "rx_bytes", "packets_recv": "rx_packets", "errin": "rx_errors",
        "dropin": "rx_drop", "bytes_sent": "tx_bytes", "packets_sent": "tx_packets",
        "errout": "tx_errors", "dropout": "tx_drop",
    }  # fmt: skip
    assert {theirs: count[ours] for theirs, ours in names.items()} == moved
    assert moved["packets_sent"] > 0
    (link,) = [row for row in seen["links"] if row["interface"] == "eth0"]
    assert (link["mtu"], link["running"]) == (mtu, up)
    mine = {(f"AF_INET{'6' * (row['family'] == 6)}", row["address"])
            for row in seen["addresses"] if row["interface"] == "eth0"}  # fmt: skip
    assert mine == {tuple(one) for one in held if one[0] != "AF_PACKET"}
    assert ("AF_INET", veth.NEAR) in mine


def test_the_owner_of_a_socket_is_psutils() -> None:
    listen = "import socket, sys; s = socket.create_server(('', 7301)); print(flush=True); input()"
    words = ["ip", "netns", "exec", HERE, sys.executable, "-c", listen]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        assert one.stdin is not None
        one.stdout.readline()
        *_, sockets = json.loads(inside(sys.executable, "-c", PSUTIL))
        seen = tables("sockets_tcp", "socket_owners")
        one.stdin.write("\n")
    (mine,) = [row for row in seen["sockets_tcp"] if row["local_port"] == 7301]
    owners = {row["inode"]: row["pid"] for row in seen["socket_owners"]}
    assert [7301, owners[mine["inode"]]] in sockets


def test_a_process_is_psutils() -> None:
    """Of our own: its name, parent's time and where it may run; the counts lie between."""
    own = psutil.Process()

    def told() -> dict[str, float]:
        times = own.cpu_times()
        return {"user": times.user, "system": times.system}

    def mine() -> dict[str, float]:
        rows = frame("processes").rows("processes")
        (row,) = [r for r in rows if r.pid == own.pid and not r.thread]
        assert (row.name, row.nice, row.kernel) == (own.name(), own.nice(), False)
        assert row.threads == own.num_threads()
        return {"user": row.user, "system": row.system}

    between(told, mine)


def test_the_names_of_processes_are_psutils() -> None:
    """psutil completes a name of 15 characters from the command line."""

    def told() -> dict[int, str]:
        return {one.pid: one.info["name"] for one in psutil.process_iter(["name"])}

    before = told()
    seen = {row.pid: row.name for row in frame("processes").rows("processes") if not row.thread}
    psutil.process_iter.cache_clear()  # names are kept there
    stayed = dict(before.items() & told().items())  # others ended or ran another program meanwhile
    both = seen.keys() & stayed.keys()
    assert os.getpid() in both
    assert [pid for pid in both if not stayed[pid].startswith(seen[pid])] == []


def _nics() -> list[str]:
    return [n for n in os.listdir("/sys/class/net") if Path(f"/sys/class/net/{n}/device").exists()]


def _shown(option: str, nic: str) -> str:
    done = subprocess.run(["ethtool", option, nic], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@pytest.mark.skipif(not _nics(), reason="no network device here")
@pytest.mark.parametrize("nic", _nics())
def test_a_real_devices_settings_are_ethtools(nic: str) -> None:
    """Only read: rings, channels, coalescing, driver, queues of RSS, interrupts."""
    seen = frame("rings", "channels", "coalesce", "drvinfo", "rss", "irqs")

    def row(table: str) -> Any:
        return next((r for r in seen.rows(table) if r.interface == nic), None)

    (driver,) = re.findall(r"^driver: (\S+)", _shown("-i", nic), re.MULTILINE)
    assert row("drvinfo").driver == driver
    for option, table, names in (
        ("-g", "rings", {"RX": "rx", "TX": "tx"}),
        ("-l", "channels", {"RX": "rx", "TX": "tx", "Combined": "combined"}),
    ):
        for title, name in names.items():
            told = re.findall(rf"^{title}:\s+(\d+)", _shown(option, nic), re.MULTILINE)
            if told:
                most, now = told
                mine = row(table)
                assert (getattr(mine, f"{name}_max"), getattr(mine, name)) == (int(most), int(now))
    for title, value in re.findall(
        r"^([rt]x-(?:usecs|frames)):\s+(\d+)", _shown("-c", nic), re.MULTILINE
    ):
        assert getattr(row("coalesce"), title.replace("-", "_")) == int(value)
    folder = Path(f"/sys/class/net/{nic}/device")
    for path in (folder / "msi_irqs", folder / ".." / "msi_irqs"):
        if path.is_dir():
            theirs = set(os.listdir(path))
            assert {r.irq for r in seen.rows("irqs") if nic in r.nics} == theirs
            break
    for one in seen.rows("irqs"):
        allowed = Path(f"/proc/irq/{one.irq}/smp_affinity_list").read_text().strip()
        assert one.allowed == parse(allowed)
