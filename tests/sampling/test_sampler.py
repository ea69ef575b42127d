"""The sampler's clock: each table is as old as its own reading, not as the frame's beginning."""

from pathlib import Path
from typing import Any

import pytest
from netlink_bytes import Fake, counters, link

from nettop.collect import interrupts
from nettop.host.recording import Replay
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

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
            udp = b"Udp: InDatagrams\nUdp: %d\n" % round(self.clock * EACH_SECOND)
            return b"Tcp: InSegs\nTcp: 0\n" + udp
        self.clock += self.late
        self.late = 0.0
        raise FileNotFoundError(path)


@pytest.mark.parametrize("late", [0.0, 0.4])
@pytest.mark.parametrize("wanted", [["cpu", "snmp"], ["cpu", "snmp", "snmp"]])
def test_a_rate_is_over_the_time_between_its_own_readings(
    tmp_path: Path, late: float, wanted: list[str]
) -> None:
    host = Slow(str(tmp_path), late)
    sampler = Sampler(host)
    sampler.take(wanted)
    host.clock = 1.0
    (sums,) = sampler.take(wanted).tables["snmp"]
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


def test_a_recording_that_begins_anew_has_no_rates_but_keeps_what_was_made_of_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = "".join(
        f"-- @{at}.0 --\n-- /proc/interrupts --\n      CPU0\n  9:  {count}  PCI-MSI 1-edge  eth0\n"
        f" 10:  7  PCI-MSI 2-edge  eth1\n-- /proc/stat --\ncpu0 {count} 0 0 {count} 0 0 0\n"
        for at, count in ((0, 50), (1, 60))
    )
    replay = Replay(f"x\n{moments}", loop=True)
    parsed: list[bytes] = []
    really = interrupts.row

    def row(line: bytes, *known: Any) -> interrupts.Row | None:
        parsed.append(line)
        return really(line, *known)

    monkeypatch.setattr(interrupts, "row", row)
    sampler = Sampler(replay)
    wanted = ("cpu", "interrupts")
    sampler.take(wanted)
    replay.wait(1.0)
    (first, _) = sampler.take(wanted).tables["interrupts"]
    assert first.per_s is not None
    assert first.per_s.by_cpu == {0: 10.0}
    replay.wait(1.0)
    assert replay.opening
    parsed.clear()
    again = sampler.anew().take(wanted)
    assert [entry.per_s for name in wanted for entry in again.tables[name]] == [None] * 3
    assert [row.by_cpu for row in again.rows("interrupts")] == [{0: 50}, {0: 7}]
    assert again.rows("cpu")[0].idle == 0.5  # not held at what it was later
    assert all(line.lstrip().startswith(b"9:") for line in parsed)


@pytest.mark.parametrize(("ages", "read"), [("", "1"), ("2.000 cpu\n", "0")])
def test_a_setting_that_a_recording_read_again_is_read_although_its_interval_has_not_passed(
    ages: str, read: str
) -> None:
    """An incident may end a few seconds after the setting changed."""
    path = "/proc/sys/net/ipv4/tcp_sack"
    moments = f"-- @0.0 --\n-- {path} --\n1\n-- @2.0 --\n-- {path} --\n0\n-- nettop/ages --\n"
    replay = Replay(f"x\n{moments}{ages}")
    sampler = Sampler(replay)
    sampler.take(["sysctls"])
    replay.wait(1.0)
    assert {row.name: row.value for row in sampler.take(["sysctls"]).rows("sysctls")} == {
        "net.ipv4.tcp_sack": read
    }
