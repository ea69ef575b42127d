"""Groups of multicast that are joined on each interface."""

import sys
from pathlib import Path

import pytest

from nettop.collect import groups
from nettop.host.source import Live

JOINED = "239.13.1.1"
NUMBER = f"{int.from_bytes(bytes((239, 13, 1, 1)), sys.byteorder):08X}"
LINK = f"{int.from_bytes(bytes((224, 0, 0, 251)), sys.byteorder):08X}"
IGMP = f"""Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter
1\tlo        :     1      V3
\t\t\t\t{LINK}     1 0:00000000\t\t0
2\teth0      :     2      V3
\t\t\t\t{NUMBER}     1 0:00000000\t\t0
\t\t\t\t{LINK}     1 0:00000000\t\t0
3\tlongest-name-15:     1      V3
\t\t\t\t{NUMBER}     1 0:00000000\t\t0
"""
IGMP6 = """2    eth0            ff3e0000000000000000000000001234     1 00000004 0
2    eth0            ff020000000000000000000000000001     1 0000000C 0
"""


def test_the_groups_of_more_than_one_link(tmp_path: Path) -> None:
    folder = tmp_path / "proc/net"
    folder.mkdir(parents=True)
    (folder / "igmp").write_text(IGMP)
    four = [groups.Row("eth0", JOINED), groups.Row("longest-name-15", JOINED)]
    assert groups.read(Live(str(tmp_path))) == four
    (folder / "igmp6").write_text(IGMP6)
    assert groups.read(Live(str(tmp_path))) == [*four, groups.Row("eth0", "ff3e::1234")]


@pytest.mark.parametrize(("text", "says"), [
    ("x\n\t\t\tzz\n", "non-hexadecimal"), ("x\n\t\t\t123456789ABC\n", "len 6"),
])  # fmt: skip
def test_a_damaged_file_is_an_error(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(groups.parse(text))


def test_a_line_of_ipv6_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a group"):
        list(groups.parse6("2 eth0\n"))
