"""Tables of one host: a socket, its process, its interface and interrupts; frames of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from nettop.collect import (
    addresses,
    interrupts,
    links,
    netclass,
    processes,
    queues,
    routes,
    rss,
    socket_owners,
    sockets_tcp,
    sysctls,
    topology,
)
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

Tables = Mapping[str, Sequence[Any]]
KEY = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
).hex(":")


def frames(*moments: Tables) -> list[Frame]:
    out: list[Frame] = []
    for second, tables in enumerate(moments):
        past = out[-1].tables if out else {}
        made = {name: entries(rows, past.get(name, ()), 1.0) for name, rows in tables.items()}
        out.append(Frame(float(second), 0.0, made))
    return out


def joined(*moments: Tables) -> Facts:
    joiner = Joiner()
    return [joiner.build(frame) for frame in frames(*moments)][-1]


def socket(cookie: int = 1, **more: Any) -> Any:
    plain: dict[str, Any] = {
        "cookie": cookie, "family": 4, "local": "10.0.0.1", "local_port": 5001,
        "remote": "10.0.0.2", "remote_port": 40000 + cookie, "interface": None,
        "state": "established", "recv_q": 0, "send_q": 0, "uid": 0, "inode": 100 + cookie,
    }  # fmt: skip
    unknown = dict.fromkeys(sockets_tcp.Row.__dataclass_fields__)
    return sockets_tcp.Row(**{**unknown, **plain, **more})


def task(pid: int, name: str, on: int, spent: float, **more: Any) -> processes.Row:
    plain: dict[str, Any] = {"tid": pid, "started": 7, "thread": False, "state": "R", "system": 0.0}
    return processes.Row(pid=pid, name=name, cpu=on, user=spent, **{**plain, **more})


def link(name: str, index: int, **more: Any) -> links.Row:
    plain: dict[str, Any] = {
        "type": 1, "kind": "", "loopback": False, "up": True, "running": True, "promisc": False,
    }  # fmt: skip
    return links.Row(interface=name, index=index, **{**plain, **more})


HOST: Tables = {
    "topology": [
        topology.Row(n, True, n // 2, n, n // 2, (n // 2 * 2, n // 2 * 2 + 1), (n,),
                     (n // 2 * 2, n // 2 * 2 + 1))
        for n in range(4)
    ],
    "links": [link("lo", 1, loopback=True, type=772), link("eth0", 2, parent="p", mtu=1500)],
    "netclass": [netclass.Row("eth0", device="p", speed=10e9, node=1, irqs=("50", "51"))],
    "queues": [queues.Row("eth0", "rx-0", ()), queues.Row("eth0", "rx-1", ())],
    "addresses": [addresses.Row("eth0", "10.0.0.1", 24, 4, "global")],
    "routes": [routes.Row("10.0.0.0/24", "eth0", 0, 254)],
    "sysctls": [sysctls.Row("net.ipv4.tcp_rmem", "4096 131072 6291456"),
                sysctls.Row("net.ipv4.tcp_wmem", "4096 16384 4194304"),
                sysctls.Row("net.core.netdev_max_backlog", "1000")],
}  # fmt: skip


def lines(first: int, second: int) -> list[interrupts.Row]:
    return [
        interrupts.Row("50", "eth0-TxRx-0", "PCI-MSI 1-edge", {2: first}, first),
        interrupts.Row("51", "eth0-TxRx-1", "PCI-MSI 2-edge", {3: second}, second),
    ]


def table_of(number: int) -> rss.Row:
    return rss.Row("eth0", KEY, tuple(n % number for n in range(128)), "toeplitz", False,
                   hash_tcp4="sdfn")  # fmt: skip


def moving(**more: Any) -> tuple[Tables, Tables]:
    """Two moments: a flow sends 100 MB in the second between, its process on CPU 0."""
    still = {
        **HOST,
        "rss": [table_of(2)],
        "socket_owners": [socket_owners.Row(101, 7, "iperf3"), socket_owners.Row(0, None, "", 3)],
    }
    plain: dict[str, Any] = {
        "rtt": 400, "min_rtt": 200, "rttvar": 50, "mss": 1448, "cwnd": 40,
        "delivery_rate": 125_000_000,
    }  # fmt: skip
    start = {"bytes_acked": 0, "bytes_received": 0, "segs_out": 0, "total_retrans": 0,
             "busy_time": 0, "rwnd_limited": 0, "sndbuf_limited": 0}  # fmt: skip
    end = {"bytes_acked": 100_000_000, "bytes_received": 1000, "segs_out": 70_000,
           "total_retrans": 70, "busy_time": 1_000_000, "rwnd_limited": 500_000,
           "sndbuf_limited": 50_000}  # fmt: skip
    return (
        {**still, "sockets_tcp": [socket(**plain, **start)], "interrupts": lines(0, 0),
         "processes": [task(7, "iperf3", 0, 0.0)]},
        {**still, "sockets_tcp": [socket(**{**plain, **end, **more})], "interrupts": lines(50, 50),
         "processes": [task(7, "iperf3", 0, 0.6)]},
    )  # fmt: skip
