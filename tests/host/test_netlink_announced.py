"""An answer is kept until the kernel announces a change, and no longer than `LONGEST`."""

import socket

import pytest

from nettop.host.netlink.kernel import LONGEST, Announced


class Question:
    """Counts how often it is asked."""

    def __init__(self, data: bytes = b"links") -> None:
        self.data = data
        self.count = 0

    def __call__(self) -> bytes:
        self.count += 1
        return bytes(bytearray(self.data))  # never the same object


class Door:
    """What a socket hears: numbers of bytes, or errors."""

    def __init__(self) -> None:
        self.heard: list[OSError | bytes] = []

    def recv(self, size: int) -> bytes:
        if not self.heard:
            raise BlockingIOError
        one = self.heard.pop(0)
        if isinstance(one, OSError):
            raise one
        return one

    def close(self) -> None:
        pass


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    made = Door()
    made.bind = lambda _address: None  # type: ignore[attr-defined]
    monkeypatch.setattr(socket, "socket", lambda *_: made)
    return made


def test_an_answer_is_asked_for_once_until_a_change_is_announced(door: Door) -> None:
    kept, question = Announced(), Question()
    first = kept.answer("route/links", question)
    assert kept.answer("route/links", question) is first
    assert question.count == 1
    door.heard = [b"x", b"x"]
    question.data = b"other links"
    assert kept.answer("route/links", question) == b"other links"
    assert question.count == 2


def test_lost_announcements_are_a_change(door: Door) -> None:
    kept, question = Announced(), Question()
    kept.answer("route/links", question)
    door.heard = [OSError(105, "No buffer space available")]
    kept.answer("route/links", question)
    assert question.count == 2


def test_an_old_answer_is_asked_for_again_and_an_equal_one_stays_the_same_object(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert door.heard == []
    now = [100.0]
    monkeypatch.setattr("nettop.host.netlink.kernel.time.monotonic", lambda: now[0])
    kept, question = Announced(), Question()
    first = kept.answer("route/links", question)
    now[0] += LONGEST
    assert kept.answer("route/links", question) is first
    assert question.count == 2


def test_a_kernel_that_announces_nothing_is_asked_each_time(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_address: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(door, "bind", refuse)
    kept, question = Announced(), Question()
    for _ in range(3):
        kept.answer("route/links", question)
    assert question.count == 3
