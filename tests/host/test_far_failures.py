"""What can fail at the other end of a prefix: one sentence each, and the next sample is right."""

import sys
from pathlib import Path

import pytest
from far_host import Far, Recorded, Wire

from nettop import collect
from nettop.frame.rates import Frame
from nettop.host.connection import Connection
from nettop.host.distant import Distant
from nettop.host.far import wire
from nettop.host.patterns import FILE
from nettop.host.recording import Replay, load
from nettop.host.source import HostLostError
from nettop.sampling.sampler import Sampler

HOST = Path(__file__).parents[1] / "hosts"
TERMINAL = "import pty,sys;pty.spawn(sys.argv[1:])"
FILES = 60_000


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (shell("echo This account is currently not available.; exit 1"), ": This account is cur"),
        (shell('"$0" "$@" | sed -u "s/$/\\r/"'), "ends lines with CR LF: something between"),
        ((sys.executable, "-c", TERMINAL), "this prefix has a terminal, .*leave out -t"),
        # an echo alone, as on a busy host, where the reader's own words come before it or are lost
        (shell("head -c 9000; exit 1"), r"this prefix has a terminal, .*leave out -t$"),
        (shell("echo Error; head -c 500; echo; exit 1"), "this prefix has a terminal, "),
        (shell("echo MemoryError >&2; exit 1"), ": there is too little memory for Python"),
        (shell("echo 'lost sys.stderr' >&2; exit 1"), ": there is too little memory for Python"),
        (shell("exit 255"), r"exit code 255 \(of ssh: the connection was lost, or the reader was"),
        (shell("exit 137"), "started no reader: the reader was killed there by signal 9"),
        (shell("echo Welcome; echo no room >&2; exit 1"), ": no room"),
    ],
)
def test_how_it_ends_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(HostLostError, match=sentence) as caught:
        Connection(words, b"", patience=20.0)
    assert "\n" not in str(caught.value)


def test_what_was_sent_before_the_end_is_no_reason_for_it() -> None:
    """Only a prefix that started no reader prints its reason to standard output."""
    leaves = "import sys,os,threading;threading.Timer(1.0, lambda: os._exit(3)).start()"
    code = f'"$0" "$1" "$2" "$3" "$4" "{leaves};$5"'
    far = Distant(lambda asks, first: Connection(shell(code), asks, first=first))

    def ask() -> None:
        while True:
            far.fetch([(FILE, b"/proc/uptime")])

    with pytest.raises(HostLostError, match=r"broke: exit code 3$"):
        ask()


def test_two_large_batches_pass_each_other() -> None:
    """The first answer fills its pipe while the second batch is still written."""
    one = Connection(("env",), b"")
    try:
        one.answer()
        names = [(FILE, b"/proc/%032x" % (number * 0x9E3779B97F4A7C15)) for number in range(FILES)]
        first = one.exchange(*(wire.pack_asks(batch) for batch in (names, names[::-1])))
        assert len(first) > 1 << 20
        assert wire.unpack_head(first)[0] == 2
        assert wire.unpack_head(one.answer())[0] == 3
        assert one.exchanges == 2
    finally:
        one.close()


class Booted(Replay):
    """The same host after a start: its clock and its counters begin again."""

    def __init__(self, path: Path, earlier: float) -> None:
        super().__init__(load(str(path)))
        self.earlier = earlier

    def now(self) -> float:
        return super().now() - self.earlier


@pytest.mark.parametrize("earlier", [5_000.0, -40.0])
@pytest.mark.parametrize("name", ["vm-e1000e", "guest-transfer"])
def test_a_host_that_was_started_again_has_no_rates_of_the_time_before(
    name: str, earlier: float
) -> None:
    """Counters that are smaller than before give no rate, whatever its clock says."""
    (path,) = HOST.glob(f"{name}.host*")
    replay = Replay(load(str(path)))
    far = Far(replay)
    sampler, tables = Sampler(far), collect.always()
    sampler.take(tables)
    while replay.wait(1.0):
        last = sampler.take(tables)
    booted = Booted(path, earlier)
    recorded = Recorded(booted, far.names)
    far.replay = booted
    far.close()

    def connect(asks: bytes, first: bool) -> Wire:
        return Wire(recorded, asks)

    far._connect = connect  # type: ignore[assignment]
    after = sampler.take(tables)
    assert after.tables.keys() == last.tables.keys()
    assert not list(below_zero(after))
    booted.wait(1.0)
    again = sampler.take(tables)
    assert not list(below_zero(again))
    assert any(rate for rate in rates(again))


def rates(frame: Frame) -> list[float]:
    found: list[float] = []
    for entries in frame.tables.values():
        for one in entries:
            if one.per_s is not None:
                values = (getattr(one.per_s, name, None) for name in one.per_s.__slots__)
                found += [value for value in values if isinstance(value, float)]
    return found


def below_zero(frame: Frame) -> list[float]:
    return [rate for rate in rates(frame) if rate < 0]
