"""What is printed of a UDP socket that drops at one of two hosts."""

from __future__ import annotations

import pytest

from nettop.facts.limits import Limit, Reading
from nettop.facts.pair.words import datagrams


@pytest.mark.parametrize(
    ("pid", "head"),
    [(None, "*:53 "), (0, "*:53 dns[0] "), (4711, "*:53 dns[4711] ")],
)
def test_the_socket_has_its_process_where_that_is_known(pid: int | None, head: str) -> None:
    stage = Reading("rcvbuf", "here", "receive buffer", because="its reader is late")
    limit = Limit("socket", "*:53", "rx", 1e9, stage=stage, pid=pid, process="dns")
    empty, first, *rest = datagrams(limit, "web2")
    assert empty == ""
    assert first == f"{head}receives 1 Gb/s, at web2"
    assert any("its reader is late" in one for one in rest)
    assert all(one.startswith("  ") for one in rest)
