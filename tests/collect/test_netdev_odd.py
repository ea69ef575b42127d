"""Odd lines of /proc/net/dev."""

from __future__ import annotations

import pytest

from nettop.collect import netdev
from nettop.frame.rates import Partly

HEAD = "Inter-|   Receive  |  Transmit\n face |bytes|bytes\n"
SIXTEEN = " ".join(map(str, range(1, 17)))


def test_a_line_of_another_form_hides_no_other_interface() -> None:
    odd = f"  eth0: {SIXTEEN}\n  eth0:1: {SIXTEEN}\n  x: 1 2\n  y: a {SIXTEEN}\n  lo:{SIXTEEN}\n"
    rows = netdev.parse(HEAD + odd)
    assert [row.name for row in rows] == ["eth0", "eth0:1", "lo"]
    assert isinstance(rows, Partly)
    assert rows.why == "/proc/net/dev: 2 columns for 'x'; lines left out: 2"
    assert not isinstance(netdev.parse(HEAD + f"  eth0: {SIXTEEN}\n"), Partly)


def test_a_table_without_any_right_line_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="2 columns for 'x'"):
        netdev.parse(HEAD + "  x: 1 2\n")


def test_a_bad_count_names_its_interface() -> None:
    with pytest.raises(ValueError, match="'x': "):
        netdev.parse(HEAD + f"  x: {SIXTEEN.replace('16', 'a')}\n")
