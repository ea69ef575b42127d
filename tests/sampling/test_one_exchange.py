"""Two hosts: all that one sample asks the other host is one round trip, its sockets first."""

from pathlib import Path

import pytest
from far_host import Far
from thinned import thinned

from nettop.facts.joined import needs
from nettop.frame.rates import Frame
from nettop.host.far import reader, wire
from nettop.host.patterns import FILE, FOLDER, LINK, general, those_of
from nettop.host.recording import Replay, load
from nettop.host.source import HostLostError
from nettop.sampling.ahead import Ahead
from nettop.sampling.sampler import CloseSampler, Sampler

HOSTS = sorted((Path(__file__).parents[1] / "hosts").glob("*.host*"))
SOME = thinned(HOSTS, 3)  # the frames of all are those of tests/host/test_far_frames.py
SOCKETS = "sockets_tcp"


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name.partition(".")[0])
def test_a_sample_of_two_hosts_asks_the_other_once(path: Path) -> None:
    near, behind = (Replay(load(str(path))) for _ in range(2))
    far = Far(behind)
    both = CloseSampler(near, Sampler(far))
    trips = []
    for _ in range(4):
        before = far.wires[0].exchanges
        frame, close = both.take(needs())
        trips.append(far.wires[0].exchanges - before)
        assert list(close.there.rows(SOCKETS)) == list(frame.rows(SOCKETS))
        if not near.wait(1.0):
            break
        behind.wait(1.0)
    assert trips[0] + 1 <= 5, "the start is a round trip too"
    assert max(trips[1:], default=1) <= 2, trips
    assert not trips[3:] or trips[-1] == 1, trips


class Told(Replay):
    """This host, which tells when its sockets are read."""

    def __init__(self, path: Path, told: list[str]) -> None:
        super().__init__(load(str(path)))
        self.told = told

    def netlink(self, request: object) -> bytes:
        if "near" not in self.told[-1:]:
            self.told.append("near")
        return super().netlink(request)  # type: ignore[arg-type]


def ordered(path: Path) -> tuple[list[str], CloseSampler, Far]:
    """What is read in which order: the sockets here (near), each answer from there."""
    told: list[str] = [""]
    far = Far(Replay(load(str(path))))
    both = CloseSampler(Told(path, told), Sampler(far))
    both.take([SOCKETS, "cpu"])
    answer = far.wires[0].reader.answer

    def answered(data: bytes) -> bytes:
        told.append("sockets" if b"/proc/stat" not in data else "rest")
        return answer(data)

    far.wires[0].reader.answer = answered  # type: ignore[method-assign]
    return told, both, far


def test_the_sockets_there_are_answered_between_two_readings_of_those_here() -> None:
    told, both, _ = ordered(HOSTS[0])
    told[:] = [""]
    both.take([SOCKETS, "cpu"])
    assert told == ["", "near", "sockets", "near", "rest"]


def test_the_time_of_the_sockets_there_is_that_of_their_answer() -> None:
    _, both, far = ordered(HOSTS[0])
    behind, wall = far.replay.wall, 100.0

    def after() -> None:
        CloseSampler.after(both)
        far.wall = lambda: behind() + wall  # type: ignore[method-assign]  # at the other answer

    both.after = after  # type: ignore[method-assign]
    frame, close = both.take([SOCKETS, "cpu"])
    assert frame.wall - close.there.wall >= wall - 1


def test_what_is_on_its_way_is_taken_if_this_host_is_lost() -> None:
    _, both, far = ordered(HOSTS[0])

    def lost() -> None:
        raise HostLostError("this end is lost")

    both.after, after = lost, both.after  # type: ignore[method-assign]
    with pytest.raises(HostLostError, match="this end is lost"):
        both.take([SOCKETS, "cpu"])
    both.after = after  # type: ignore[method-assign]
    frame, _ = both.take([SOCKETS, "cpu"])
    assert isinstance(frame, Frame)
    assert len(far.wires) == 1


class Clock:
    """A host that answers everything; its clock is set by the test."""

    name, prefix, root = "clock", ("clock",), True

    def __init__(self) -> None:
        self.at, self.sent = 0.0, set[object]()

    def now(self) -> float:
        return self.at

    def fetch(self, asks: object, lead: object = None) -> float:
        self.sent = set(asks)  # type: ignore[call-overload]
        return self.at

    def asked(self) -> set[object]:
        return set()

    def rehearse(self, work: object) -> set[object]:
        return set()


@pytest.mark.parametrize("interval", [1.0, 2.5])
def test_a_request_that_rests_is_sent_ahead_however_long_samples_take(interval: float) -> None:
    clock, ahead, ask = Clock(), Ahead(), (FILE, b"/proc/rests")
    made, missed = -99.0, []
    for number in range(60):
        clock.at = number * interval
        ahead.fetch(clock, [SOCKETS], clock)  # type: ignore[arg-type]
        asks = {(FILE, b"/proc/always")}
        if clock.at - made >= 10.0:
            asks.add(ask)
            made = clock.at
            missed += [] if ask in clock.sent else [number]
        ahead.keep(SOCKETS, asks)
        rests = clock.at - made
        assert ask not in clock.sent or not 4 * interval <= rests < 7.5
    assert len(missed) <= 2, "the first time, and when it is made again"


def test_one_process_with_very_many_descriptors_leaves_room_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MATCHES", 300)
    many = [b"%d" % number for number in range(1000)]

    class Host:
        def monotonic(self) -> float:
            return 0.0

        wall = monotonic

        def folder(self, path: bytes) -> bytes:
            names = [b"7", b"8", b"9"] if path == b"/proc" else many[: 5 if b"/9/" in path else 999]
            return b"".join(name + b"\n" for name in names)

        def link(self, path: bytes) -> bytes:
            return path

        file = netlink = ioctl = folder

    one = reader.Reader(Host())  # type: ignore[arg-type]
    one.answer(wire.pack_asks([(LINK, b"/proc/#/fd/#")]))
    found = [path.split(b"/")[2] for _, path in one._mirror.answers]
    assert found.count(b"9") == 5
    assert found.count(b"8") >= 64


def test_a_pattern_that_is_full_is_asked_for_each_process() -> None:
    whole = (LINK, b"/proc/#/fd/#")
    assert general((LINK, b"/proc/7/fd/9"), ()) == whole
    assert general((LINK, b"/proc/7/fd/9"), {whole}) == (LINK, b"/proc/7/fd/#")
    assert general(whole, {whole}) == whole
    assert (LINK, b"/proc/7/fd/#") in those_of((LINK, b"/proc/7/fd/9"))
    assert general((FOLDER, b"/proc/7/fd"), {whole}) == (FOLDER, b"/proc/#/fd")
