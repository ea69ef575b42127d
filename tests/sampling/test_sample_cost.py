"""What one sample for the screen costs, in counts: files read by the pane that is shown."""

from collections import Counter

import pytest

from nettop import collect, panes
from nettop.facts import joined
from nettop.host.recording import Replay
from nettop.host.source import Live
from nettop.sampling.refresh import QUIET, REST, UNKNOWN, UNSEEN, RefreshPolicy
from nettop.views.observer import Observer

FILES = {
    "/proc/stat": "cpu0 1 0 1 9 0 0 0 0 0 0\n",
    "/proc/net/dev": (
        "Inter-| Receive | Transmit\n face |bytes packets\n eth0: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
    ),
    "/proc/net/udp": "  sl  local_address rem_address\n",
    "/proc/net/snmp": "Tcp: InSegs\nTcp: 1\n",
    "/proc/sys/kernel/osrelease": "6.1.0\n",
}
FOLDERS = {"/proc": ["7", "net"], "/proc/7/fd": ["3"]}
LINKS = {"/proc/7/fd/3": "socket:[101]"}
SOCKET = "  1: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 {} 2 0 0\n"


class Host(Live):
    """A few files, a clock that is moved, and a count of what was read."""

    def __init__(self) -> None:
        super().__init__("/nowhere", host="small")
        self.at = 100.0
        self.read: Counter[str] = Counter()

    def now(self) -> float:
        return self.at

    def data(self, path: str) -> bytes:
        self.read[path] += 1
        try:
            return FILES[path].encode()
        except KeyError:
            raise FileNotFoundError(2, "no such file", path) from None

    def listing(self, path: str) -> list[str]:
        self.read[path] += 1
        try:
            return FOLDERS[path]
        except KeyError:
            raise FileNotFoundError(2, "no such directory", path) from None

    def link(self, path: str) -> str:
        try:
            return LINKS[path]
        except KeyError:
            raise FileNotFoundError(2, "no such link", path) from None


@pytest.mark.parametrize(
    ("pane", "sockets", "interrupts"), [("overview", 4, 4), ("flows", 8, 4), ("cores", 4, 8)]
)
def test_what_no_pane_shows_is_read_every_other_second(
    pane: str, sockets: int, interrupts: int
) -> None:
    host = Host()
    observer = Observer(host)
    needs = panes.pane(pane).NEEDS
    for _ in range(8):
        seen = observer.glance(needs)
        host.at += 1.0
    assert host.read["/proc/net/udp"] == sockets
    assert host.read["/proc/interrupts"] == interrupts
    assert host.read["/proc/stat"] == 8
    assert host.read["/proc/self/stat"] == 4  # what nettop itself costs
    assert host.read["/proc/net/snmp"] == 8  # sums and failures, four times each
    assert {"cpu", "sockets_udp"} <= seen.frame.tables.keys()


DEVICE = (
    "Inter-|   Receive                           |  Transmit\n"
    " face |bytes packets errs drop fifo frame compressed multicast"
    "|bytes packets errs drop fifo colls carrier compressed\n"
    "  eth0: {} 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
)


def refused(*_: object, **__: object) -> bytes:
    raise OSError(1, "not permitted")


def test_a_host_without_traffic_is_read_every_fifth_second_until_data_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Host()
    monkeypatch.setattr(host, "live", True)
    monkeypatch.setattr(host, "netlink", refused)  # the interfaces of this machine
    monkeypatch.setitem(FILES, "/proc/net/dev", DEVICE.format(9))
    observer = Observer(host)

    def reads(seconds: int) -> dict[str, int]:
        before = host.read.copy()
        for _ in range(seconds):
            seen = observer.glance(())
            host.at += 1.0
        assert seen.quiet == (QUIET if observer.refresh_policy.unseen == QUIET else 0.0)
        assert observer.joiner.ladder.repeats == (seen.quiet > 0.0)
        assert observer.judge.quiet == (seen.quiet > 0.0)
        return {path: host.read[path] - before[path] for path in FILES}

    reads(20)
    assert observer.refresh_policy.unseen == QUIET
    calm = reads(20)
    assert (calm["/proc/net/snmp"], calm["/proc/net/udp"]) == (8, 4)
    assert (calm["/proc/stat"], calm["/proc/net/dev"]) == (20, 20)  # what ends the rest
    monkeypatch.setitem(FILES, "/proc/net/dev", DEVICE.format(900_009))
    busy = reads(8)
    assert observer.refresh_policy.unseen == UNSEEN
    assert busy["/proc/net/snmp"] == 8


def test_who_does_not_look_at_a_screen_reads_everything_each_time() -> None:
    host = Host()
    observer = Observer(host)
    for _ in range(8):
        observer.step()
        host.at += 1.0
    assert host.read["/proc/net/udp"] == 8


def searches(host: Host, observer: Observer, seconds: int) -> int:
    """How often processes are searched for sockets in so many seconds."""
    before = host.read["/proc/7/fd"]
    for _ in range(seconds):
        observer.glance(())
        host.at += 1.0
    return host.read["/proc/7/fd"] - before


def test_sockets_are_searched_for_as_long_as_one_is_strange(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Host()
    observer = Observer(host)
    udp = FILES["/proc/net/udp"]
    monkeypatch.setitem(FILES, "/proc/net/udp", udp + SOCKET.format(101))
    assert searches(host, observer, 90) == 1 + 90 // REST - 1
    monkeypatch.setitem(FILES, "/proc/net/udp", udp + SOCKET.format(101) + SOCKET.format(102))
    strange = int(UNKNOWN)
    assert strange // 5 <= searches(host, observer, strange + 5) <= strange // 5 + 2
    assert searches(host, observer, 90) == 90 // REST
    monkeypatch.setitem(LINKS, "/proc/7/fd/3", "socket:[104]")
    monkeypatch.setitem(FOLDERS, "/proc/7/fd", ["3", "4"])
    monkeypatch.setitem(LINKS, "/proc/7/fd/4", "socket:[103]")
    monkeypatch.setitem(FILES, "/proc/net/udp", udp + SOCKET.format(104) + SOCKET.format(103))
    assert searches(host, observer, 40)  # until no descriptor of old is trusted
    frame = observer.glance(()).frame
    assert {row.inode for row in frame.rows("socket_owners")} == {103, 104}


def test_what_may_wait_is_among_the_tables_that_facts_need() -> None:
    assert Observer(Host()).tables() >= collect.resting()


def test_a_recording_in_a_loop_lists_what_is_there_at_each_moment() -> None:
    replay = Replay(
        "x\n-- @0.0 --\n-- /d/a --\n1\n"
        "-- @1.0 --\n-- /d/a --\n2\n"
        "-- @2.0 --\n-- /d/b --\n1\n"
        "-- @3.0 --\n-- /d/a --\n!gone\n",
        loop=True,
    )
    listed = []
    for _ in range(9):
        listed.append(replay.listing("/d"))
        replay.wait(1.0)
    assert listed == ([["a"], ["a"], ["a", "b"], ["b"]] * 3)[:9]


def test_a_dear_table_is_read_again_after_its_wait_and_rates_are_over_that_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("nettop.sampling.sampler.time.thread_time", lambda: clock[0])
    host = Host()
    ours = host.data

    def data(path: str) -> bytes:
        clock[0] += 0.03 if path == "/proc/net/udp" else 0.0
        text: bytes = ours(path)
        return text

    monkeypatch.setattr(host, "live", True)
    monkeypatch.setattr(host, "data", data)
    monkeypatch.setattr(RefreshPolicy, "_quiet", lambda *_: False)  # as if data moved
    observer = Observer(host)
    waits = []
    for _ in range(60):
        waits.append(dict(observer.glance(()).stretched))
        host.at += 1.0
    assert waits[-1] == {"sockets_udp": 6.0}
    before = host.read["/proc/net/udp"]
    for _ in range(60):
        observer.glance(("sockets_udp",))  # also where a pane shows it
        host.at += 1.0
    assert host.read["/proc/net/udp"] - before == 10


def test_the_tables_that_facts_need_are_collected_once() -> None:
    """A frame asks for them each second."""
    assert joined.needs() is joined.needs()
