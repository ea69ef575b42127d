"""Each state of a change as text and exit code, and who confirms it at the terminal."""

import contextlib
import os
import pty
import select
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from calls import keeping

from nettop.changes import Result, chain, report
from nettop.changes import guard as guarding
from nettop.files import interrupt

BASE = Result("ring.rx@eth0", "256", "4096", "applied", id=7, after="4095",
              shell="ethtool -G eth0 rx 4096")  # fmt: skip


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ((), 0), (("applied", "rounded", "pending", "undone", "planned", "unchanged"), 0),
        (("applied", "refused"), 4), (("conflict",), 4), (("reverted", "applied"), 5),
        (("reverted", "conflict"), 4),
    ],
)  # fmt: skip
def test_exit_codes(states: tuple[Any, ...], code: int) -> None:
    assert report.code([replace(BASE, state=state) for state in states]) == code


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "✓ 7  ring.rx@eth0: 256 → 4095  applied"),
        ({"id": None}, "✓ ring.rx@eth0: 256 → 4095  applied"),
        ({"id": 0}, "✓ ring.rx@eth0: 256 → 4095  applied"),
        ({"after": None}, "✓ 7  ring.rx@eth0: 256 → 4096  applied"),
        ({"state": "rounded"}, "≈ 7  ring.rx@eth0: 256 → 4095  rounded"),
        ({"state": "refused"}, "✗ 7  ring.rx@eth0: 256 → 4096  refused"),
        ({"state": "conflict", "because": "why"},
         "✗ 7  ring.rx@eth0: 256 → 4096  conflict\n    why"),
        ({"state": "undone", "after": "256"}, "↶ 7  ring.rx@eth0: 256 (was 4096)  undone"),
        ({"state": "reverted", "after": "256"}, "↶ 7  ring.rx@eth0: 256 (was 4096)  reverted"),
        ({"state": "unchanged"}, "· 7  ring.rx@eth0: 256 → 4095  unchanged"),
        ({"state": "pending"}, "… 7  ring.rx@eth0: 256 → 4095  pending"),
        ({"state": "pending", "deadline": 1030.4},
         ("… 7  ring.rx@eth0: 256 → 4095  pending\n"
         "    it reverts in 30 s unless confirmed: nettop confirm 7")),
        ({"state": "pending", "deadline": 900.0},
         ("… 7  ring.rx@eth0: 256 → 4095  pending\n"
         "    it reverts in 0 s unless confirmed: nettop confirm 7")),
        ({"deadline": 1030.4}, "✓ 7  ring.rx@eth0: 256 → 4095  applied"),
        ({"state": "planned", "because": "why"},
         "ring.rx@eth0: 256 → 4096   (risk: link)\n    ethtool -G eth0 rx 4096\n    why"),
    ],
)  # fmt: skip
def test_a_change_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: Any, text: str
) -> None:
    monkeypatch.setattr(report, "time", SimpleNamespace(time=lambda: 1000.0))
    report.show([replace(BASE, **more)])
    assert capsys.readouterr().out == text + "\n"


class Book:
    """A journal with these entries."""

    def __init__(self, *entries: Any) -> None:
        self.kept = list(entries)

    def entries(self) -> list[Any]:
        return self.kept


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked, confirmed and reverted."""
    seen: list[Any] = []
    monkeypatch.setattr(report, "possible", lambda: True)
    monkeypatch.setattr(report, "follow", lambda _journal, results, _failed: tuple(results))
    monkeypatch.setattr(guarding, "confirm", lambda _journal, ids: seen.append(("confirm", ids)))
    monkeypatch.setattr(guarding, "finish", lambda *_: ())

    def revert(_journal: Any, group: int) -> tuple[Result, ...]:
        seen.append(("revert", group))
        return ()

    monkeypatch.setattr(guarding, "revert", revert)
    monkeypatch.setattr(chain, "of_group", lambda entries, _group: list(entries))
    return seen


PENDING = replace(BASE, state="pending")
ENTRY = SimpleNamespace(id=7, group=3)
OLDER = SimpleNamespace(id=5, group=2)


@pytest.mark.parametrize(
    ("entries", "answer", "said"),
    [
        ((ENTRY,), True, "Press only Enter to confirm it"),
        (
            (OLDER, ENTRY),
            True,
            "Press only Enter to confirm it and the pending changes with it (5)",
        ),
        ((ENTRY,), False, "Press only Enter to confirm it"),
        ((), False, "Press only Enter to confirm it"),
    ],
)
def test_enter_confirms_the_pending_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[Any],
    entries: Any, answer: bool, said: str,
) -> None:  # fmt: skip
    questions: list[str] = []
    monkeypatch.setattr(report, "enter", lambda _left, text: keeping(questions, answer)(text))
    book: Any = Book(*entries)
    report.await_enter(book, [PENDING, replace(BASE, id=8)])
    assert questions == [said]
    assert asked == ([("confirm", [7])] if answer else [])
    told = "Not confirmed: reverting" in capsys.readouterr().err
    assert told is (not answer and bool(entries))


def test_a_change_that_the_journal_lacks_stays_as_it_was_told() -> None:
    told, book = (replace(BASE, id=None, state="refused"), BASE), Book()
    assert report.follow(book, told) == told  # type: ignore[arg-type]


def test_ctrl_c_reverts_at_once(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    def interrupted(_left: Any, _text: str) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "enter", interrupted)
    monkeypatch.setattr(interrupt, "handled", lambda: asked.append("handled"))
    book: Any = Book(ENTRY)
    report.await_enter(book, [PENDING])
    assert asked == ["handled", ("revert", 3)]


def test_nothing_is_asked_without_a_terminal_or_a_pending_change(
    monkeypatch: pytest.MonkeyPatch, asked: list[Any]
) -> None:
    monkeypatch.setattr(report, "enter", lambda *_: asked.append("asked"))
    book: Any = Book(ENTRY)
    assert report.await_enter(book, [BASE]) == (BASE,)
    monkeypatch.setattr(report, "possible", lambda: False)
    assert report.await_enter(book, [PENDING]) == (PENDING,)
    assert asked == []


# the prompt itself, at a terminal of the test


@contextlib.contextmanager
def terminal(patch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pseudo-terminal as standard input; yields the end that types."""
    ours, theirs = pty.openpty()
    try:
        patch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: theirs))
        yield ours
    finally:
        os.close(ours)
        os.close(theirs)


def typed(patch: pytest.MonkeyPatch, *parts: bytes, seconds: int = 40) -> bool:
    """The answer to these inputs, each typed when the question is painted again."""
    queue = list(parts)
    left = iter(range(seconds, -1, -1))
    with terminal(patch) as ours:

        def paint(text: str) -> None:
            if "reverts in" in text and queue:
                os.write(ours, queue.pop(0))

        patch.setattr(report, "_paint", paint)
        return report.enter(lambda: float(next(left, 0)), "Keep it?")


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ((b"\n",), True), ((b"\r",), True), ((b"y",), False), ((b"\n\n",), False),
        ((b"x\n",), False),
        ((b"\x1b[200~\n\x1b[201~",), False), ((b"no", b"\n"), True),
    ],
)  # fmt: skip
def test_one_enter_alone_confirms(
    monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...], kept: bool
) -> None:
    monkeypatch.setattr(report, "QUIET", 0.05)
    monkeypatch.setattr(select, "select", quick(select.select))
    assert typed(monkeypatch, *parts) is kept


def quick(select: Any) -> Any:
    """As select, but nobody waits longer than a twentieth of a second."""
    return lambda *words: select(*words[:3], min(words[3], 0.05))


@pytest.mark.parametrize(
    "parts",
    [(b"\r", b"\r"), (b"nettop jour", b"nal", b"\r"), (b"\r", b"nettop journal\r"),
     (b"\x1b[200~", b"\r", b"\x1b[201~")],
)  # fmt: skip
def test_parts_of_which_each_follows_soon_are_no_enter(
    monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    """A paste may arrive in parts. What was typed follows soon; what comes next, after a pause."""
    inputs, said, queue = [[*parts], [b"\r"]], [], list[bytes]()

    def paint(text: str) -> None:
        said.append(text)
        if "reverts in" in text:
            queue.extend(inputs.pop(0))

    ready = SimpleNamespace(select=lambda *_: ([0] if queue else [], [], []))
    monkeypatch.setattr(report, "select", ready)
    monkeypatch.setattr(report, "os", SimpleNamespace(read=lambda *_: queue.pop(0)))
    monkeypatch.setattr(report, "_raw", lambda: contextlib.nullcontext(0))
    monkeypatch.setattr(report, "_paint", paint)
    assert report.enter(lambda: 9.0, "Keep it?")
    assert [text.partition(";")[0] for text in said] == [
        "Keep it?", "Not confirmed: press only Enter\n", "Keep it?",
    ]  # fmt: skip


def test_without_time_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not typed(monkeypatch, b"\n", seconds=0)


def test_the_terminal_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    import termios

    said: list[str] = []
    monkeypatch.setattr(report, "control", lambda text, _stream: said.append(text))
    with terminal(monkeypatch) as ours:
        theirs = sys.stdin.fileno()
        before = termios.tcgetattr(theirs)
        os.write(ours, b"typed before\n")
        with report._raw() as handle:
            assert handle == theirs
            assert not termios.tcgetattr(theirs)[3] & (termios.ICANON | termios.ECHO)
            assert termios.tcgetattr(theirs)[3] & termios.ISIG
            assert select.select([handle], [], [], 0)[0] == []
            assert said == ["\x1b[?2004h"]
            os.write(ours, b"typed meanwhile")
        assert said == ["\x1b[?2004h", "\x1b[?2004l"]
        assert termios.tcgetattr(theirs) == before
        assert select.select([theirs], [], [], 0)[0] == []


@pytest.mark.parametrize("own", [True, False])
def test_only_the_foreground_job_at_a_terminal_is_asked(
    monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    for tty in (True, False):
        monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: tty))  # noqa: B023
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: 0))
        group = os.getpgrp() + (not own)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _handle: group)  # noqa: B023
        assert report.possible() is (own and tty)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _handle: (_ for _ in ()).throw(OSError()))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert report.possible() is False
