"""The other end on the screen: it never blocks, its last picture stays, its findings name it."""

import argparse
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hang import HANG, until

from nettop.advice.rules.rule import Finding
from nettop.host.source import HostLostError, Live
from nettop.tui import peering
from nettop.tui.notes import brief
from nettop.tui.peering import Peering
from nettop.views.both import named
from nettop.views.scene import Note, Peer


class Canned:
    """Stands in for both hosts: each step answers, fails, or waits for `answers`."""

    def __init__(self, *steps: Peer | Exception) -> None:
        self.steps = list(steps)
        self.answers = threading.Event()
        self.answers.set()
        self.taken = 0

    def step(self, _here: object) -> tuple[Peer, tuple[Any, ...]]:
        self.answers.wait(HANG)
        step = self.steps[min(self.taken, len(self.steps) - 1)]
        self.taken += 1
        if isinstance(step, Exception):
            raise step
        return step, ("pair",)


class Connected:
    """A far end that is connected as root."""

    root, name = True, "ssh web2"


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Peering, list[Note]]]]:
    monkeypatch.setattr("nettop.host.distant.WAITS", (0.0,))
    threads: list[Peering] = []

    def start(canned: Canned, far: Callable[[], Any] = Connected) -> tuple[Peering, list[Note]]:
        monkeypatch.setattr(peering, "BothEnds", lambda _near, _far: canned)
        notes: list[Note] = []
        thread = Peering(("web1", "ssh -q web2"), Live, far, notes.append)
        thread.start()
        threads.append(thread)
        return thread, notes

    yield start
    for thread in threads:
        thread.stop()
        thread.join(HANG)
        assert not thread.is_alive()


def offer(thread: Peering) -> None:
    thread.offer("an observation")  # type: ignore[arg-type]


def test_before_the_first_answer_the_screen_says_that_it_connects(begin: Any) -> None:
    thread, _ = begin(Canned(Peer(("web1", "web2"))))
    assert thread.shown == Peer(("web1", "web2"), "connecting to ssh -q web2")


def test_a_far_end_that_does_not_answer_blocks_nobody_and_is_said(
    begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peering, "SLOW", 0.01)
    canned = Canned(Peer(("web1", "web2")))
    thread, _ = begin(canned)
    offer(thread)
    until(lambda: canned.taken == 1 and not thread.shown.message)
    canned.answers.clear()
    offer(thread)
    until(lambda: "has not answered" in thread.shown.message)
    offer(thread)
    canned.answers.set()
    until(lambda: canned.taken >= 2 and not thread.shown.message)


def test_the_picture_stays_when_the_far_end_dies_and_its_flows_are_judged_no_more(
    begin: Any,
) -> None:
    picture = Peer(("web1", "web2"), findings=(finding(),))
    canned = Canned(picture, HostLostError("web2 ended"), HostLostError("web2 ended"), picture)
    thread, notes = begin(canned)
    offer(thread)
    until(lambda: thread.pairs == ("pair",))
    offer(thread)
    until(lambda: canned.taken == 2 and thread.pairs == ())
    assert thread.shown == replace(picture, message="web2 ended; trying again")
    offer(thread)
    until(lambda: canned.taken == 3)
    offer(thread)
    until(lambda: thread.shown == picture)
    assert [note.text for note in notes] == ["web2 ended; trying again", "web2: connected again"]


def test_a_far_end_without_python_is_one_sentence(begin: Any) -> None:
    def absent() -> Connected:
        raise HostLostError("ssh web2: no python3 there")

    thread, notes = begin(Canned(), absent)
    offer(thread)
    until(lambda: bool(notes))
    assert thread.shown.message == "ssh web2: no python3 there; trying again"


def test_without_the_option_nothing_is_started() -> None:
    assert peering.of(argparse.Namespace(peer=None, host=None), Live(), lambda _note: None) is None


def finding(**changes: Any) -> Finding:
    known = Finding(
        "rule@eth0", "rule", "eth0", "warning", "A ring is small", "", 3.0, (), (), (), (), (),
        "", cause="other@eth0",
    )  # fmt: skip
    return replace(known, **changes)


def test_a_finding_of_the_other_end_names_its_host() -> None:
    far = named(finding(), "web2")
    assert (far.id, far.target, far.title, far.cause, far.host) == (
        "rule@eth0 at web2", "web2 eth0", "web2: A ring is small", "other@eth0 at web2", "web2",
    )  # fmt: skip


def test_a_long_prefix_leaves_room_for_what_happened(begin: Any) -> None:
    canned = Canned(HostLostError("the connection to ssh -q web2 broke: exit code 255"))
    thread, notes = begin(canned)
    offer(thread)
    until(lambda: bool(notes))
    assert "ssh -q web2 broke" in notes[0].text  # short enough as it is
    long = "ssh -p 2222 -i /root/.ssh/a-key -o BatchMode=yes root@10.79.0.1"
    told = brief(f"the connection to {long} broke: exit code 255", long)
    assert told == "the connection to root@10.79.0.1 broke: exit code 255"
