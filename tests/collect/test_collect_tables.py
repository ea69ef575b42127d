"""Collectors of kernel tables: neighbours, bonds, open files."""

import pytest
from net_files import host

from nettop.collect import bonds, isolation, neighbours, socket_owners, sockets_tcp, tcp_files
from nettop.collect.socket_owners import _ProcessSockets


def test_neighbours_sum_the_counters_of_cpus_and_take_the_entries_once() -> None:
    stat = "entries allocs table_fulls\n0000000a 00000010 00000001\n0000000a 00000001 00000002\n"
    base = "/proc/net/stat/"
    (arp,) = neighbours.read(host({base + "arp_cache": stat}))
    assert (arp.family, arp.entries, arp.overflows, arp.forced) == ("arp", 10, 3, None)
    both = neighbours.read(host({base + "arp_cache": stat, base + "ndisc_cache": stat}))
    assert [row.family for row in both] == ["arp", "ndisc"]
    assert neighbours.read(host({base + "arp_cache": "a new format"})) == []
    with pytest.raises(OSError, match="arp_cache"):
        neighbours.read(host({"/proc/net/snmp": ""}))


LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             100                  200                  processes
Max open files            1024                 524288               files
"""


def test_open_files_of_processes_that_listen() -> None:
    held = {
        "7": _ProcessSockets(names=("0", "1", "3"), inodes={"3": 101}),
        "8": _ProcessSockets(names=("0", "4"), inodes={"4": 102}),
        "9": _ProcessSockets(names=("0", "1", "2", "5"), inodes={"5": 103}),
    }
    memory = {
        sockets_tcp.Known: sockets_tcp.Known(listening=frozenset({101, 103})),
        socket_owners.Known: socket_owners.Known(held=held),
    }
    many, few = tcp_files.update(host({"/proc/7/limits": LIMITS}), memory)
    assert (many.pid, many.files, many.limit) == (9, 4, None)
    assert (few.pid, few.files, few.limit) == (7, 3, 1024)
    assert tcp_files.soft("Max open files            unlimited            unlimited") is None
    with pytest.raises(OSError, match="/proc"):
        tcp_files.update(host({"/sys/x": ""}), {})


BOND = """\
Ethernet Channel Bonding Driver: v6.1.0

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Transmit Hash Policy: layer3+4 (1)
MII Status: up

802.3ad info
LACP active: on
Active Aggregator Info:
	Aggregator ID: 2
	Partner Mac Address: {}

Slave Interface: eth0
MII Status: up
Aggregator ID: 2

Slave Interface: eth1
MII Status: up
Aggregator ID: 7

Slave Interface: eth2
MII Status: down
Aggregator ID: 9
"""


def test_a_bond_counts_ports_with_a_link_outside_the_active_aggregator() -> None:
    place = "/proc/net/bonding/bond0"
    (row,) = bonds.read(host({place: BOND.format("74:83:ef:00:00:01")}))
    assert (row.interface, row.mode, row.policy) == ("bond0", "802.3ad", "layer3+4")
    assert (row.partner, row.ports, row.outside) == (True, 2, 1)
    assert bonds.parse("bond0", BOND.format("00:00:00:00:00:00")).partner is False


def test_a_bond_read_without_permission_and_one_of_another_mode() -> None:
    head, ports = BOND.split("Active Aggregator Info:")
    hidden = head + ports.replace("Aggregator ID: 2\n\tPartner Mac Address: {}", "")
    row = bonds.parse("bond0", hidden)
    assert (row.partner, row.outside) == (None, 1)
    backup = "Bonding Mode: fault-tolerance (active-backup) (fail_over_mac active)\n"
    row = bonds.parse("bond1", backup + "Slave Interface: eth0\nMII Status: up\n")
    assert (row.mode, row.policy, row.ports, row.outside) == ("active-backup", None, 1, None)
    assert bonds.parse("bond2", "Bonding Mode: new\n").mode == "new"
    with pytest.raises(OSError, match="bonding"):
        bonds.read(host({"/proc/net/snmp": ""}))


def test_isolated_and_tickless_cpus() -> None:
    base = "/sys/devices/system/cpu/"
    (row,) = isolation.read(host({base + "isolated": "2-3,6\n", base + "nohz_full": "(null)\n"}))
    assert (row.isolated, row.tickless) == ((2, 3, 6), ())
    assert isolation.read(host({base + "isolated": "\n"})) == [isolation.Row()]
    with pytest.raises(OSError, match="isolated"):
        isolation.read(host({base + "online": "0"}))
