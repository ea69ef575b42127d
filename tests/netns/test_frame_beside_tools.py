"""The frame beside ethtool, ip, tc, nstat, ss and psutil at the same time, on this kernel.

Where figures move, nettop reads between two runs of the tool and must lie between them: no test
here depends on how long anything took.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import veth
from changes_netns import python, run, tables

from nettop.frame.rates import Frame
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler
from nettop.terms.cpulist import parse

pytestmark = [pytest.mark.netns, pytest.mark.needs("ethtool", "ping", "nstat", "ss", "tc")]
HERE, _ = veth.spaces("beside")
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


def inside(*words: str) -> str:
    return run("ip", "netns", "exec", HERE, *words)


def frame(*names: str) -> Frame:
    """What this host shows now, in the first namespace."""
    return Sampler(Live()).take(names)


@pytest.fixture(scope="module", autouse=True)
def pair() -> Iterator[None]:
    """The near one's sending is throttled so that its qdisc drops."""
    with veth.pair("beside", queues=2) as place:
        run(
            "tc",
            "-n",
            HERE,
            *"qdisc add dev eth0 root handle 5: tbf rate 64kbit burst 2kb limit 3kb".split(),
        )
        flood = ["ping", "-q", "-c", "40", "-i", "0.002", "-s", "1200", "-W", "1", veth.FAR]
        subprocess.run([*place.near, *flood], capture_output=True, check=False)
        yield


def between(
    tool: Callable[[], Mapping[str, float]], mine: Callable[[], Mapping[str, float]]
) -> Mapping[str, float]:
    """Each figure of ours lies between the tool's before and after; gives ours."""
    before, own, after = tool(), mine(), tool()
    assert own.keys() == before.keys()
    for name, value in own.items():
        low, high = sorted((before[name], after[name]))
        assert low <= value <= high, (name, before[name], value, after[name])
    return own


def row(table: str, **wanted: object) -> dict[str, Any]:
    """The one row of a table in the namespace with these labels."""
    (found,) = (r for r in tables(HERE, table)[table] if wanted.items() <= r.items())
    return found


def test_what_each_cpu_did_is_psutils() -> None:
    """Without idle and iowait, which may go back: the kernel moves it between the two."""
    names = ("user", "nice", "system", "irq", "softirq", "steal", "guest")

    def told() -> dict[str, float]:
        cpus = enumerate(psutil.cpu_times(percpu=True))
        return {f"{cpu} {name}": getattr(one, name) for cpu, one in cpus for name in names}

    def mine() -> dict[str, float]:
        rows = frame("cpu").rows("cpu")
        return {f"{one.cpu} {name}": getattr(one, name) for one in rows for name in names}

    between(told, mine)


def test_every_counter_of_an_interface_is_ips() -> None:
    """With -s -s ip shows each error by itself."""
    words = {
        "rx": "bytes packets errors dropped over_errors multicast length_errors crc_errors "
        "frame_errors fifo_errors missed_errors",
        "tx": "bytes packets errors dropped collisions aborted_errors fifo_errors window_errors "
        "heartbeat_errors",
    }  # fmt: skip
    names = {
        name if name in ("multicast", "collisions") else f"{way}_{name}": (way, name)
        for way in words
        for name in words[way].split()
    }

    def told() -> dict[str, float]:
        said = json.loads(inside(*"ip -json -s -s link show dev eth0".split()))[0]["stats64"]
        return {ours: said[way][name] for ours, (way, name) in names.items() if name in said[way]}

    def mine() -> dict[str, float]:
        seen = row("link_stats", interface="eth0")
        return {ours: seen[ours] for ours in told()}

    compared = between(told, mine)
    assert len(compared) >= 18
    assert compared["tx_packets"] > 0


def test_a_drivers_own_statistics_are_ethtools() -> None:
    def told() -> dict[str, float]:
        said = inside("ethtool", "-S", "eth0")
        return {name: int(n) for name, n in re.findall(r"(?m)^ +(\S+): (\d+)$", said)}

    def mine() -> dict[str, float]:
        rows = tables(HERE, "nicstats_raw")["nicstats_raw"]
        return {
            one["name"]: one["level"] if one["value"] is None else one["value"]
            for one in rows
            if one["interface"] == "eth0"
        }

    assert len(between(told, mine)) > 10


def test_a_qdisc_with_its_drops_is_tcs() -> None:
    names = ("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen")

    def told() -> dict[str, Any]:
        (said,) = json.loads(inside("tc", "-j", "-s", "qdisc", "show", "dev", "eth0"))
        return {name: said[name] for name in names}

    def mine() -> dict[str, Any]:
        seen = row("qdiscs", interface="eth0")
        assert (seen["kind"], seen["handle"], seen["root"]) == ("tbf", "5:", True)
        return {name: seen[name] for name in names}

    assert between(told, mine)["drops"] > 0


def test_protocol_counters_are_nstats() -> None:
    names = {
        "tcp_in": "TcpInSegs", "tcp_out": "TcpOutSegs", "tcp_retrans": "TcpRetransSegs",
        "tcp_errors": "TcpInErrs", "tcp_resets": "TcpOutRsts",
        "tcp_timeouts": "TcpExtTCPTimeouts", "listen_drops": "TcpExtListenDrops",
        "socket_backlog_drops": "TcpExtTCPBacklogDrop", "rcvq_drops": "TcpExtTCPRcvQDrop",
        "ip_in": "IpInReceives Ip6InReceives", "ip_discards": "IpInDiscards Ip6InDiscards",
        "udp_no_ports": "UdpNoPorts Udp6NoPorts",
    }  # fmt: skip

    def told() -> dict[str, float]:
        said = json.loads(inside("nstat", "-asz", "--json"))["kernel"]
        return {
            ours: sum(said[name] for name in theirs.split())
            for ours, theirs in names.items()
            if said.keys() >= set(theirs.split())
        }

    def mine() -> dict[str, float]:
        (seen,) = tables(HERE, "snmp")["snmp"]
        return {name: seen[name] for name in told()}

    compared = between(told, mine)
    assert len(compared) >= 10
    assert compared["ip_in"] > 0


def test_what_a_full_socket_loses_is_what_ss_shows() -> None:
    words = ["ip", "netns", "exec", HERE, sys.executable, "-c", LOSS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as full:
        assert full.stdin is not None
        assert full.stdout is not None
        assert full.stdout.readline() == "ready\n"
        python(HERE, SEND)
        told = inside("ss", "-uamneH", "sport = :7300")
        mine = row("sockets_udp", local_port=7300)
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
    names = {
        "bytes_recv": "rx_bytes", "packets_recv": "rx_packets", "errin": "rx_errors",
        "dropin": "rx_drop", "bytes_sent": "tx_bytes", "packets_sent": "tx_packets",
        "errout": "tx_errors", "dropout": "tx_drop",
    }  # fmt: skip

    def mine() -> dict[str, float]:
        seen = row("netdev", name="eth0")
        return {theirs: seen[ours] for theirs, ours in names.items()}

    assert between(lambda: json.loads(python(HERE, PSUTIL))[0], mine)["packets_sent"] > 0
    _, mtu, up, held, _ = json.loads(python(HERE, PSUTIL))
    link = row("links", interface="eth0")
    assert (link["mtu"], link["running"]) == (mtu, up)
    shown = {
        (f"AF_INET{'6' * (one['family'] == 6)}", one["address"])
        for one in tables(HERE, "addresses")["addresses"]
        if one["interface"] == "eth0"
    }
    assert shown == {tuple(one) for one in held if one[0] != "AF_PACKET"}
    assert ("AF_INET", veth.NEAR) in shown


def test_the_owner_of_a_socket_is_psutils() -> None:
    listen = "import socket, sys; s = socket.create_server(('', 7301)); print(flush=True); input()"
    words = ["ip", "netns", "exec", HERE, sys.executable, "-c", listen]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        assert one.stdin is not None
        one.stdout.readline()
        *_, sockets = json.loads(python(HERE, PSUTIL))
        seen = tables(HERE, "sockets_tcp", "socket_owners")
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


@pytest.mark.parametrize("name", ["a", "a) S 1 (b", "fifteen letters", "more-than-fifteen-letters"])
def test_the_name_of_a_process_is_psutils(name: str, tmp_path: Path) -> None:
    """psutil completes a name of 15 characters from the command line."""
    program = tmp_path / name
    program.symlink_to(shutil.which("cat") or "")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as one:
        (seen,) = [r for r in frame("processes").rows("processes") if r.pid == one.pid]
        assert (seen.name, psutil.Process(one.pid).name()) == (name[:15], name)


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

    def mine(table: str) -> Any:
        return next((r for r in seen.rows(table) if r.interface == nic), None)

    (driver,) = re.findall(r"^driver: (\S+)", _shown("-i", nic), re.MULTILINE)
    assert mine("drvinfo").driver == driver
    for option, table, names in (
        ("-g", "rings", {"RX": "rx", "TX": "tx"}),
        ("-l", "channels", {"RX": "rx", "TX": "tx", "Combined": "combined"}),
    ):
        for title, name in names.items():
            told = re.findall(rf"^{title}:\s+(\d+)", _shown(option, nic), re.MULTILINE)
            if told:
                most, now = told
                shown = mine(table)
                assert (getattr(shown, f"{name}_max"), getattr(shown, name)) == (
                    int(most),
                    int(now),
                )
    for title, value in re.findall(
        r"^([rt]x-(?:usecs|frames)):\s+(\d+)", _shown("-c", nic), re.MULTILINE
    ):
        assert getattr(mine("coalesce"), title.replace("-", "_")) == int(value)
    folder = Path(f"/sys/class/net/{nic}/device")
    for path in (folder / "msi_irqs", folder / ".." / "msi_irqs"):
        if path.is_dir():
            theirs = set(os.listdir(path))
            assert {r.irq for r in seen.rows("irqs") if nic in r.nics} == theirs
            break
    for one in seen.rows("irqs"):
        allowed = Path(f"/proc/irq/{one.irq}/smp_affinity_list").read_text().strip()
        assert one.allowed == parse(allowed)
