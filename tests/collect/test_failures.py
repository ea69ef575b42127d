"""Counters of failures: which are read, added up, and named."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from folded import folded
from net_files import host

from nettop import config
from nettop.collect import _counted, drop_reasons, failures, snmp
from nettop.collect._table import Memory

NETSTAT = "TcpExt: PAWSEstab TSEcrRejected TCPMinTTLDrop\nTcpExt: {} {} 0\n"
SNMP6 = "Ip6FragFails                    \t4\nIp6InUnknownProtos              \t3\n"
IP = "Ip: FragFails InUnknownProtos\nIp: {} 0\n"


def read(paws: int = 0, rejected: int = 0, cut: int = 0, six: str = "") -> dict[str, int]:
    files = {"/proc/net/snmp": IP.format(cut), "/proc/net/netstat": NETSTAT.format(paws, rejected)}
    if six:
        files["/proc/net/snmp6"] = six
    return {row.name: row.events for row in failures.update(host(files), {})}


def test_a_group_is_the_sum_of_its_counters_of_both_families() -> None:
    assert read(30, 12, cut=5, six=SNMP6) == {"PAWSEstab": 42, "InUnknownProtos": 3, "FragFails": 9}


def test_what_never_failed_has_no_row() -> None:
    assert read() == {}


def test_the_same_files_are_the_same_rows() -> None:
    source, memory = host({"/proc/net/snmp": IP.format(9)}), Memory()
    assert failures.update(source, memory) is failures.update(source, memory)


def test_without_the_file_it_is_said() -> None:
    with pytest.raises(OSError, match="snmp"):
        failures.update(host({"/proc/net/netstat": ""}), {})


def test_no_counter_is_read_for_two_purposes() -> None:
    asked = [name for group in failures.groups() for name in group.names]
    assert len(asked) == len(set(asked))
    named = {name for names in snmp._SUMS.values() for name in names.split()}
    both = {"TcpExt.TCPAbortOnMemory"}  # one of all aborts
    # read with the drops whose reasons explain them
    lost = {"Ip.FragFails", "TcpExt.PAWSEstab", "TcpExt.TCPOFODrop", "TcpExt.TCPZeroWindowDrop"}
    lost |= {"Ip.InDiscards", "6.Ip6InDiscards", "IpExt.InTruncatedPkts", "6.Ip6InTruncatedPkts"}
    assert named & set(asked) == both | lost


@folded("group", failures.groups(), ids=lambda group: group.row.name)
def test_each_says_what_it_means_and_how_to_find_out_more(group: failures._Group) -> None:
    row = group.row
    assert row.least > 0
    texts = {one.name for one in fields(row) if one.type == "str"} - {"reasons"}
    assert all(getattr(row, name) for name in texts)
    reasons = (one.split("/") for one in row.reasons.split())  # REASON, or REASON/PLACE
    assert all(drop_reasons.words(*one).kind != _counted.UNKNOWN for one in reasons)
    assert not row.means.endswith(".")
    assert row.cause.endswith(".")
    assert re.search(r"`[a-z]", row.advice)


@pytest.mark.parametrize("key", ["names", "cause", "rests"])
def test_a_wrong_table_is_an_error(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (config.rules_folder() / "counters.toml").read_text()
    (tmp_path / "counters.toml").write_text(re.sub(rf"(?m)^{key} .*\n", "", text, count=1))
    monkeypatch.setattr(config, "rules_folder", lambda: tmp_path)
    failures.groups.cache_clear()
    try:
        with pytest.raises(ValueError, match="needs"):
            failures.groups()
    finally:
        failures.groups.cache_clear()
