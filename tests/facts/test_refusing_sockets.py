"""Sockets of UDP that refuse datagrams: their drops are no full buffer."""

import pytest

from nettop.collect.drop_reasons import Row
from nettop.facts.crowd import refusing
from nettop.frame.rates import Entry


@pytest.mark.parametrize(("reasons", "where", "refuses"), [
    (("XFRM_POLICY",), "here", True), (("SOCKET_FILTER",), "here", True),
    (("UDP_CSUM",), "here", True), (("XFRM_POLICY", "SOCKET_RCVBUFF"), "here", False),
    (("SOCKET_RCVBUFF",), "here", False), (("XFRM_POLICY",), "elsewhere", False), ((), "", False),
])  # fmt: skip
def test_a_socket_that_refuses_is_not_full(
    reasons: tuple[str, ...], where: str, *, refuses: bool
) -> None:
    rows = [Row(one, "f", where, "2", "udp", "53", 9, 2.0) for one in reasons]
    assert (53 in refusing(map(Entry, rows))) is refuses
