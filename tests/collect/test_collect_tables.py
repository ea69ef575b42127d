"""Collectors of kernel tables: neighbours, bonds, open files."""

from __future__ import annotations

import pytest
from net_files import host

from nettop.collect import neighbours


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
