"""The sampler's clock: each table is as old as its own reading, not as the frame's beginning."""

from __future__ import annotations

from pathlib import Path

import pytest
from netlink_bytes import Fake, counters, link

from nettop.sampler import Sampler
from nettop.source import Live

EACH_SECOND = 1000


class Slow(Live):
    """A host on whose first frame some seconds pass before the sums of UDP are read."""

    def __init__(self, root: str, late: float) -> None:
        """`late` seconds, once."""
        super().__init__(root)
        self.clock = 0.0
        self.late = late

    def now(self) -> float:
        """Its own clock."""
        return self.clock

    def data(self, path: str) -> bytes:
        """A datagram a millisecond, and nothing else."""
        if path == "/proc/net/snmp":
            return b"Udp: InDatagrams\nUdp: %d\n" % round(self.clock * EACH_SECOND)
        self.clock += self.late
        self.late = 0.0
        raise FileNotFoundError(path)


@pytest.mark.parametrize("late", [0.0, 0.4])
def test_a_rate_is_over_the_time_between_its_own_readings(tmp_path: Path, late: float) -> None:
    host = Slow(str(tmp_path), late)
    sampler = Sampler(host)
    sampler.take(["cpu", "snmp"])
    host.clock = 1.0
    (sums,) = sampler.take(["cpu", "snmp"]).tables["snmp"]
    assert sums.rate("udp_in") == pytest.approx(EACH_SECOND)


def test_what_stands_in_for_a_table_is_read_only_where_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    columns = "face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs"
    lines = ["Inter-|   Receive |  Transmit", columns, "  eth0: " + "1 " * 16, ""]
    (tmp_path / "proc/net/dev").write_text("\n".join(lines))
    frame = Sampler(Live(str(tmp_path))).take(["link_stats"])  # a directory has no netlink
    assert set(frame.tables) == {"netdev"}
    assert set(frame.missing) == {"link_stats"}
    whole = Sampler(Fake({"route/links": link(2, "eth0"), "route/counters": counters(2, 5)}))
    for _ in range(2):
        assert set(whole.take(["link_stats"]).tables) == {"link_stats"}
