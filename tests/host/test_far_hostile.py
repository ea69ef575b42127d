"""Whatever another host sends: a look or one sentence, within seconds, in little memory."""

import math
import re
import resource
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from hang import HANG
from hostile_far import MODES
from thinned import thinned
from warm import Warm

from nettop.commands import watch
from nettop.commands.why import look
from nettop.files import bounds
from nettop.frame.rates import Frame
from nettop.host import connection
from nettop.host.connection import Connection, FarClock
from nettop.host.distant import Distant
from nettop.host.far.wire import UnreadableError
from nettop.terms.errors import Refused

PROGRAM = str(Path(__file__).parents[1] / "support/hostile_far.py")
ROOM = 700 << 20  # bytes beside what this process has
NOT_LOST = "^(not enough was seen|.* sent an invalid answer)"
LOST = {  # what is said; the other modes leave a host of which too little is known
    "clock stands": "its clock does not advance",
    "clock of zeros": "its clock does not advance",
    "clock crawls": r"its clock advanced by .* s while .* s passed here",
    "clock goes back": "its clock does not advance",
    "clock runs": r"its clock advanced by .* s while .* s passed here",
    "clock is NaN": "its clock shows no time",
    "clock is infinite": "its clock shows no time",
    "clock is negative": "its clock shows no time",
    "clock is huge": "its clock shows no time",
    "wall is NaN": "its clock shows no time",
    "wall is huge": "its clock shows no time",
    "wall is negative": "its clock shows no time",
    "65 numbers": "it looked into 65 processes",
    "millions of numbers": "it looked into 4,194,304 processes",
    "numbers that are not there": "it looked into 4,294,967,295 processes",
    "too many matches": "it answers a request too often",
    "too many ends": "it answers a request too often",
    "a change of what was never sent": "answers a request too often",
    "answers twice": "answers a request too often",
    "another batch": "it answers another batch",
    "many matches, kept": "more than 40 MiB, the bound of what is kept",
    "millions of messages": "more than 2,000,000 messages",
    "empty": "an answer is cut off",
}
# nightly through the whole program: see the tests of the clock itself
CLOCKS = ("clock of zeros", "clock goes back", "clock is infinite", "clock is negative",
          "clock is huge", "wall is NaN", "wall is negative")  # fmt: skip


@contextmanager
def little_memory() -> Iterator[None]:
    """MemoryError where this process takes more."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def said_of(mode: str, seed: int, seconds: float = 0.4) -> str:
    """The sentence that a look at such a host ends with; empty for a whole look."""
    words = (sys.executable, "-S", PROGRAM, mode, str(seed))
    began = time.monotonic()
    source = None
    try:
        with little_memory():
            source = Distant(lambda asks, first: Connection(words, asks, first=first))
            look(source, seconds)
    except Refused as error:
        return str(error)
    finally:
        assert time.monotonic() - began < HANG
        if source is not None:
            source.close()
    return ""


@pytest.mark.parametrize(
    "mode", [pytest.param(m, marks=pytest.mark.nightly) if m in CLOCKS else m for m in MODES]
)
def test_a_hostile_host_ends_in_one_sentence(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SLACK", 0.2)
    monkeypatch.setitem(bounds.BOUNDS, "far", replace(bounds.BOUNDS["far"], most=40 << 20))
    said = said_of(mode, 1)
    assert re.search(LOST.get(mode, NOT_LOST), said), said
    assert "\n" not in said


@pytest.mark.parametrize("mode", ["millions of numbers", "clock is NaN"])
def test_the_command_says_so_and_has_exit_code_3(mode: str, warm: Warm) -> None:
    words = f"{sys.executable} -S {PROGRAM} '{mode}' 1"
    done = warm.run(["advise", "--seconds", "0.5", "--host", words])
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if b"still connecting" not in line]  # if slow
    assert len(said) == 1
    assert b" sent an invalid answer: " in said[0]


@pytest.mark.parametrize("seed", thinned(range(12), 3))
def test_mixtures_of_hostile_answers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SLACK", 0.2)
    assert re.search(NOT_LOST, said_of("mixed", seed))


@folded(("far", "wall"), [
    (math.nan, 0.0), (math.inf, 0.0), (-1.0, 0.0), (1e300, 0.0), (7.0, math.nan), (7.0, 1e300),
    (7.0, -1.0),
])  # fmt: skip
def test_a_clock_that_cannot_be_shows_no_time(far: float, wall: float) -> None:
    with pytest.raises(UnreadableError, match="its clock shows no time"):
        FarClock().check(far, wall, 10.0, 10.5)


def test_a_clock_that_goes_as_ours_is_believed() -> None:
    one = FarClock()
    for near, far in ((10.0, 500.0), (11.0, 501.0), (4000.0, 4450.0), (4001.0, 4451.5)):
        one.check(far, 1e9, near, near + 0.5)
    for far in (4451.5, 4000.0, 0.0):
        with pytest.raises(UnreadableError, match="does not advance"):
            one.check(far, 1e9, 4003.0, 4003.5)


@pytest.mark.parametrize("advanced", [80.0, 120.0])
def test_the_time_there_lies_between_the_shortest_and_the_longest_here(advanced: float) -> None:
    one = FarClock()
    one.check(500.0, 1e9, 10.0, 10.5)
    with pytest.raises(UnreadableError, match=r"by \d+ s while 99\.0 s passed here"):
        one.check(500.0 + advanced, 1e9, 109.0, 110.0)


class Rebooted:
    """A source whose clock begins anew after its second sample."""

    live = False

    def __init__(self) -> None:
        self.clock, self.waited = 1e6, [0.0]

    def now(self) -> float:
        return self.clock

    def wall(self) -> float:
        return 1e9

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        self.clock = 20.0 if len(self.waited) == 3 else self.clock + seconds
        return True


def test_after_a_start_of_the_other_host_watch_waits_no_longer_than_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Rebooted()
    monkeypatch.setattr(watch, "known_interface", lambda *_: None)
    monkeypatch.setattr(watch, "_limit", lambda *_: None)
    monkeypatch.setattr("nettop.views.enough.shortfall", lambda *_, **__: None)
    seen = SimpleNamespace(frame=Frame(0.0, 0.0, {}), judgement=SimpleNamespace(findings=()))
    args = Namespace(duration=10.0, interval=1.0, interface=None, fail_on="none", json=False)
    observer: Any = SimpleNamespace(source=source)
    assert watch._watch(args, observer, lambda: seen) == 0  # type: ignore[arg-type,return-value]
    assert source.waited == [0.0] + [1.0] * (len(source.waited) - 1)
    assert 10 <= len(source.waited) <= 12
