"""Kinds of facts with a `build` of their own, from the rows of their tables."""

from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import HOST, Tables, joined, lines, socket
from nic_tables import link, stats

from nettop.collect import (
    addresses,
    bonds,
    classes,
    filters,
    isolation,
    linkmodes,
    links,
    neighbours,
    nftables,
    pci,
    qdiscs,
    socket_memory,
    sysctls,
    threads,
    time_wait,
)
from nettop.facts.kinds import quota
from nettop.facts.kinds.flow import Flow
from nettop.frame.rates import Entry, Frame


def test_a_memory_cgroup_has_the_processes_of_that_controller() -> None:
    def at(step: int) -> Tables:
        run = threads.Row(70, 70, 5, "curl", "R", cgroup="cpu:/other", memory_cgroup="memory:/box")
        new = threads.Row(80, 80, 5, "nginx", "R", cgroup="/pod", memory_cgroup="/pod")
        return {
            **HOST,
            "socket_memory": [
                socket_memory.Row("memory:/box", None, 299008, 299008),
                socket_memory.Row(
                    "/pod", 30 * step, killed=step, most=9, processes=("web[8]", "nginx[80]")
                ),
            ],
            "threads": [run, new],
        }

    box, pod = joined(at(0), at(1)).more["memcg"]
    assert (box.cgroup, box.refused, box.peak, box.limit) == ("/box", None, 299008, 299008)
    assert (box.processes, box.pids) == (("curl[70]",), (70,))
    assert (pod.cgroup, pod.refused, pod.limit, pod.killed) == ("/pod", 30, None, 1)
    assert (pod.most, pod.processes) == (9, ("nginx[80]", "web[8]"))


@pytest.mark.parametrize(
    ("refused", "peak", "limit", "lost", "short"),
    [
        (2, None, None, 0, True), (0, None, None, 9, False), (None, 99, 100, 9, True),
        (None, 99, 100, 0, False), (None, 50, 100, 9, False),
    ],
)  # fmt: skip
def test_a_memory_cgroup_is_short_where_segments_find_no_memory(
    refused: int | None, peak: int | None, limit: int | None, lost: int, *, short: bool
) -> None:
    row = socket_memory.Row("/box", 0, peak, limit)
    rates = socket_memory.Row("/box", refused, peak, limit)
    at = {
        "socket_memory": [Entry(row, rates)],
        "threads": [Entry(threads.Row(70, 70, 5, "curl", "R", memory_cgroup="/box"))],
    }
    flows = Flow("a", "tcp", pid=70, local_port=443), Flow("b", "tcp", pid=71, local_port=80)
    facts = SimpleNamespace(flows=flows, sysctls={}, host=SimpleNamespace(rcvq_drops=lost))
    (one,) = quota.memcgs(Frame(1.0, 1.0, at), facts)  # type: ignore[arg-type]
    assert (one.short, one.ports) == (short, (443,))


def test_a_memory_cgroup_is_squeezed_where_the_kernel_made_a_send_buffer_small() -> None:
    def sender(**now: Any) -> Flow:
        values = {"pid": 70, "sndbuf": 60_000, "sndbuf_full": True, **now}
        return Flow("a", "tcp", **values)

    def squeezed(flow: Flow, most: str = "4096 16384 4194304") -> bool:
        at = {
            "socket_memory": [Entry(socket_memory.Row("memory:/box", None, 9, 9))],
            "threads": [Entry(threads.Row(70, 70, 5, "curl", "R", memory_cgroup="memory:/box"))],
        }
        facts = SimpleNamespace(
            flows=(flow,), sysctls={"net.ipv4.tcp_wmem": most}, host=SimpleNamespace(rcvq_drops=0)
        )
        (one,) = quota.memcgs(Frame(1.0, 1.0, at), facts)  # type: ignore[arg-type]
        return one.squeezed

    assert squeezed(sender())
    assert squeezed(sender(sndbuf_full=None, sndbuf_limited=0.6))
    assert not squeezed(sender(sndbuf_full=False, sndbuf_limited=0.4))
    assert not squeezed(sender(pid=71))
    assert not squeezed(sender(sndbuf=2_100_000))
    assert not squeezed(sender(), "not readable")


def test_qdiscs_with_a_rate_or_on_ingress_are_facts_and_others_are_not() -> None:
    def at(step: int) -> Tables:
        row = qdiscs.Row
        return {
            **HOST,
            "qdiscs": [
                row("eth0", "root", "1:", "htb", root=True, bytes=500 * step, drops=9 * step),
                row("eth1", "root", "2:", "tbf", root=True, backlog=90, bytes=500 * step,
                    drops=3 * step, rate=8000.0),
                row("eth1", "ingress", "ffff:", "ingress", root=False, drops=7 * step),
                row("eth2", "root", "0:", "noqueue", root=True),
            ],
            "classes": [
                classes.Row("eth0", "1:1", "root", False, 4000.0, 4000.0, bytes=300 * step),
                classes.Row("eth0", "1:10", "1:1", True, 1000.0, 4000.0, bytes=250 * step),
            ],
        }  # fmt: skip

    found = {one.id: one for one in joined(at(0), at(1)).more["qdisc"]}
    assert sorted(found) == ["eth0/htb-class-1:10", "eth1/ingress-ffff:", "eth1/tbf-2:"]
    bucket = found["eth1/tbf-2:"]
    assert (bucket.nic, bucket.rate, bucket.queued, bucket.ingress) == ("eth1", 8000, 90, False)
    assert (bucket.load, bucket.drops_per_s) == pytest.approx((0.5, 3))
    assert found["eth0/htb-class-1:10"].load == pytest.approx(0.5)
    police = found["eth1/ingress-ffff:"]
    assert (police.ingress, police.load, police.drops_per_s) == (True, None, pytest.approx(7))


def test_a_default_class_is_told_with_a_wider_one_that_idles() -> None:
    def at(step: int) -> Tables:
        row = classes.Row
        return {**HOST, "classes": [
            row("eth0", "1:10", "1:1", True, 4e8, 5e8, bytes=0),
            row("eth0", "1:30", "1:1", True, 2e6, 2e6, bytes=250_000 * step, default=True),
        ]}  # fmt: skip

    found = {one.id: one for one in joined(at(0), at(1)).more["qdisc"]}
    assert found["eth0/htb-class-1:10"].default == ""
    assert found["eth0/htb-class-1:30"].told == "2 Mb/s, in the default class"
    assert found["eth0/htb-class-1:30"].default == (
        "class 1:30 is the default of htb: no filter matches what falls into it; class 1:10 "
        "(500 Mb/s) idles"
    )


@pytest.mark.parametrize(("target", "copied", "mirror"), [
    ("eth0", 6e5, "eth1 ingress pref 10"),
    ("eth0", 1e5, ""),  # few
    ("eth2", 6e5, ""),  # to an interface for copies alone
])  # fmt: skip
def test_a_filter_whose_copies_fill_a_shaper_is_named(
    target: str, copied: float, mirror: str
) -> None:
    def at(step: int) -> Tables:
        rows = [qdiscs.Row(name, "root", "1:", "tbf", root=True, bytes=int(1e6 * step), rate=8e6)
                for name in ("eth0", "eth2")]  # fmt: skip
        copies = filters.Row("eth1", "ingress", 10, 1, 0, "u32", "mirror", target,
                             bytes=int(copied * step))  # fmt: skip
        return {**HOST, "qdiscs": rows, "filters": [copies]}

    found = {one.nic: one for one in joined(at(0), at(1)).more["qdisc"]}
    assert found[target].mirror == mirror
    told = ", and 4.8 Mb/s of what it gets are copies that a filter of eth1 mirrors there"
    assert found[target].told == "8 Mb/s" + told * bool(mirror)


@pytest.mark.parametrize(("hook", "drops", "share"), [
    ("input", 10, 0.01), ("output", 1000, 0.5), ("", 2000, 1.0),
])  # fmt: skip
def test_a_drop_of_the_firewall_is_compared_with_the_busiest_interface(
    hook: str, drops: int, share: float
) -> None:
    def at(step: int) -> Tables:
        rows = [
            nftables.Row("inet", "t", "in", "7", hook, limited=True, packets=drops * step),
            nftables.Row("inet", "t", "in", "policy", hook, packets=4),
        ]
        counted = stats("eth0", rx_packets=900 * step, tx_packets=100 * step)
        return {**HOST, "nftables": rows, "links": [link("eth0")], "link_stats": [counted]}

    (one,) = joined(at(0), at(1)).more["firewall"]
    assert (one.id, one.hook, one.limited) == ("inet/t/in/7", hook, True)
    assert one.drops == pytest.approx(drops)
    assert one.share == pytest.approx(share)


def test_a_neighbour_table_has_the_limit_of_its_family() -> None:
    def at(step: int) -> Tables:
        limit = sysctls.Row("net.ipv4.neigh.default.gc_thresh3", "1024")
        rows = [neighbours.Row("arp", 900, 4 * step), neighbours.Row("ndisc", 7)]
        return {**HOST, "sysctls": [limit], "neighbours": rows}

    arp, ndisc = joined(at(0), at(1)).more["neighbours"]
    assert (arp.family, arp.entries, arp.limit) == ("arp", 900, 1024)
    assert arp.overflows == pytest.approx(4)
    assert (ndisc.entries, ndisc.limit, ndisc.overflows) == (7, None, None)


def test_destinations_count_local_ports_and_those_that_are_left() -> None:
    def at(count: int, ports: str) -> Tables:
        rows = [
            socket(
                cookie=n,
                inode=n,
                local="10.0.0.1",
                local_port=n,
                remote="10.0.0.2",
                remote_port=443,
            )
            for n in range(count)
        ]
        limits = {"net.ipv4.ip_local_port_range": ports,
                  "net.ipv4.ip_local_reserved_ports": "5,10-19,1990-2100"}  # fmt: skip
        return {
            **HOST,
            "sockets_tcp": [*rows, socket(cookie=99999, inode=1, state="listen")],
            "sysctls": [sysctls.Row(name, value) for name, value in limits.items()],
        }

    tables = at(600, "1000 1999")
    (one,) = joined(tables, tables).more["destination"]
    assert (one.id, one.local, one.ports, one.available) == ("10.0.0.2:443", "10.0.0.1", 600, 990)
    assert one.reserved == 10
    assert one.waiting is None  # not read
    few = at(100, "1000 1999")
    assert joined(few, few).more["destination"] == ()
    for text in ("?", "32768 18446744073709551615", "9 3"):
        odd = at(600, text)
        assert joined(odd, odd).more["destination"][0].available is None


def test_destinations_count_local_ports_held_in_time_wait() -> None:
    open_ones = [
        socket(cookie=n, inode=n, local="10.0.0.1", local_port=n, remote="10.0.0.2",
               remote_port=443)
        for n in range(300)
    ]  # fmt: skip
    held = [
        time_wait.Row("10.0.0.1", "10.0.0.2", 443, 400),
        time_wait.Row("127.0.0.1", "127.0.0.1", 6379, 900),
        time_wait.Row("10.0.0.1", "10.0.0.9", 443, 120),  # few: not listed
    ]
    tables: Tables = {**HOST, "sockets_tcp": open_ones, "time_wait": held}
    here, mixed = joined(tables, tables).more["destination"]
    assert (here.id, here.ports, here.waiting, here.loopback) == ("127.0.0.1:6379", 0, 900, True)
    assert (mixed.id, mixed.ports, mixed.waiting, mixed.loopback) == (
        "10.0.0.2:443", 300, 400, False,
    )  # fmt: skip


def test_a_tunnel_has_room_for_the_mtu_below_less_its_headers() -> None:
    def row(name: str, kind: str, mtu: int, below: str | None = None) -> links.Row:
        number = len(name) + mtu
        return links.Row(name, number, 1, kind, loopback=False, up=True, running=True,
                         promisc=False, carrier=True, mtu=mtu, link=below)  # fmt: skip

    tables = {
        **HOST,
        "links": [row("up", "vlan", 9000), row("down", "bond", 1500), row("wg0", "wireguard", 1420),
                  row("vx0", "vxlan", 1500, "down"), row("cni0", "bridge", 1450)],
        "addresses": [addresses.Row(name, "10.0.0.1", 24, 4, "global")
                      for name in ("up", "down", "cni0")],
    }  # fmt: skip
    wg, vx = sorted(joined(tables, tables).more["tunnel"], key=attrgetter("kind"), reverse=True)
    assert (wg.name, wg.nic, wg.mtu, wg.room) == ("wg0", None, 1420, 8940)
    assert (vx.name, vx.nic, vx.mtu, vx.room) == ("vx0", "down", 1500, 1450)
    alone = {**tables, "addresses": [addresses.Row("down", "10.0.0.1", 24, 4, "global")]}
    assert {one.nic for one in joined(alone, alone).more["tunnel"]} == {"down"}


def test_a_bond_knows_the_port_that_sends_most() -> None:
    def at(step: int) -> Tables:
        return {
            **HOST,
            "links": [
                links.Row(name, number, 1, kind, loopback=False, up=True, running=True,
                          promisc=False, master=master, parent=parent)
                for number, (name, kind, master, parent) in enumerate(
                    (("bond0", "bond", None, None), ("p0", "", "bond0", "0000:01:00.0"),
                     ("p1", "", "bond0", "0000:01:00.1"), ("bond1", "bond", None, None)), 1)
            ],
            "link_stats": [stats("p0", tx_bytes=900 * step), stats("p1", tx_bytes=100 * step)],
            "bonds": [bonds.Row("bond0", "802.3ad", "layer2", True, 2, 0),
                      bonds.Row("bond1", "802.3ad")],
        }  # fmt: skip

    bond, empty = joined(at(0), at(1)).more["bond"]
    assert (bond.mode, bond.policy, bond.ports, bond.busiest) == ("802.3ad", "layer2", 2, "p0")
    assert bond.busiest_share == pytest.approx(0.9)
    assert (empty.busiest, empty.busiest_share, empty.busiest_load) == (None, None, None)


def test_the_ports_of_one_card_are_added_and_a_port_alone_is_no_card() -> None:
    def at(step: int) -> Tables:
        names = {"p0": "0000:41:00.0", "p1": "0000:41:00.1", "p2": "0000:42:00.0"}
        return {
            **HOST,
            "links": [
                links.Row(name, number, 1, "", loopback=False, up=True, running=True,
                          promisc=False, carrier=True, parent=bus)
                for number, (name, bus) in enumerate(names.items(), 1)
            ],
            "linkmodes": [linkmodes.Row(name, speed=25e9) for name in names],
            "pci": [pci.carried(pci.Row(name, 8.0, 4)) for name in names],
            "link_stats": [stats(name, rx_bytes=1000 * step, tx_bytes=10 * step) for name in names],
        }  # fmt: skip

    (card,) = joined(at(0), at(1)).more["card"]
    assert (card.bus, card.ports, card.speed) == ("0000:41:00", ("p0", "p1"), 50e9)
    assert (card.rx, card.tx) == pytest.approx((16000, 160))
    assert card.usable == pytest.approx(31.5e9, rel=0.01)


def test_isolated_cpus_with_interrupts_of_cards() -> None:
    row = isolation.Row((1,), (2, 3))
    here = {**HOST, "isolation": [row]}
    (one,) = joined(here, here).more["isolation"]
    assert (one.cpus, one.interrupted, one.nics) == ((1, 2, 3), (), ())
    busy = [
        {**HOST, "isolation": [row], "interrupts": lines(step * 500, step)} for step in range(2)
    ]
    (one,) = joined(*busy).more["isolation"]
    assert (one.interrupted, one.nics) == ((2,), ("eth0",))
    none = {**HOST, "isolation": [isolation.Row()]}
    assert joined(none, none).more["isolation"] == ()
