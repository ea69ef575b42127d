"""The recordings of both ends on one time line, and what is asked apart in a recording."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.host.archive import RecordingError
from nettop.host.record import Record
from nettop.host.recording import (
    AFTER,
    BEFORE,
    Mark,
    Replay,
    apart,
    bare,
    mark_of,
    other_end,
    other_file,
    partners,
)
from nettop.host.source import Live

NUMBER = "0123abcd"


def end(*moments: tuple[float, float], mark: Mark | None = None) -> str:
    """An archive whose file /n has the number of each moment."""
    comment = "A host." + (mark.words() if mark is not None else "")
    parts = [
        f"-- @{at:.3f} wall {wall:.3f} --\n-- /n --\n{number}\n"
        for number, (at, wall) in enumerate(moments)
    ]
    return f"{comment}\n{''.join(parts)}"


@pytest.mark.parametrize("ahead", [0.0, 12.5, -3600.25])
def test_the_mark_of_a_comment_is_read_back(ahead: float) -> None:
    mark = Mark(NUMBER, True, ahead, 0.0125)
    assert mark_of(f"My host.{mark.words()}") == mark


@pytest.mark.parametrize("comment", ["", "A host.", " Pair x, this end: the clock is broken."])
def test_other_comments_have_no_mark(comment: str) -> None:
    assert mark_of(comment) is None


@pytest.mark.parametrize(
    ("path", "other"),
    [("a.host.gz", "a.peer.host.gz"), ("/x.y/a", "/x.y/a.peer"), ("d/a.host", "d/a.peer.host")],
)
def test_the_file_of_the_other_end_is_beside_it(path: str, other: str) -> None:
    assert other_file(path) == other
    assert other_file(other, here=False) == path


@pytest.mark.parametrize("ahead", [0.0, 7.25, -7.25])
def test_each_moment_has_the_last_one_of_the_other_end_before_it(ahead: float) -> None:
    # the other end is read first: 0.4 s earlier on the same clock
    near = Replay(end((0, 100.4), (1, 101.4), (2, 102.4), (3, 103.4)))
    far = Replay(end((0, 100 + ahead), (1, 101 + ahead), (2, 102 + ahead), (3, 103 + ahead)))
    assert partners(near, far, ahead) == [0, 1, 2, 3]


def pair(tmp_path: Path, **far: Any) -> tuple[Replay, str, Mark]:
    here, there = Mark(NUMBER, True, 0.0, 0.001), Mark(NUMBER, False, 0.0, 0.001)
    near = Replay(end((0, 100), (1, 101), (2, 102), mark=here), loop=True)
    path = tmp_path / "far.host"
    path.write_text(end((0, 100), (1, 101), (2, 102), **{"mark": there, **far}))
    return near, str(path), here


def test_the_other_end_follows_round_after_round_and_its_clock_goes_on(tmp_path: Path) -> None:
    near, path, mark = pair(tmp_path)
    far = other_end(near, path, mark)
    seen, clocks = [], []
    for _ in range(7):
        seen.append((near.text("/n"), far.text("/n")))
        clocks.append(far.now())
        near.wait(0)
    assert [one for one, _ in seen] == [other for _, other in seen]
    assert [one for one, _ in seen] == [f"{number}\n" for number in (0, 1, 2, 0, 1, 2, 0)]
    assert clocks == sorted(set(clocks))


@pytest.mark.parametrize(
    "mark",
    [None, Mark("ffffffff", False, 0.0, 0.0), Mark(NUMBER, True, 0.0, 0.0)],
)
def test_a_file_that_is_not_the_other_end_is_refused(mark: Mark | None, tmp_path: Path) -> None:
    near, path, here = pair(tmp_path, mark=mark)
    with pytest.raises(RecordingError):
        other_end(near, path, here)


def test_what_is_asked_apart_has_entries_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "proc/x"
    file.parent.mkdir()
    record = Record(Live(str(tmp_path)))
    for text, name in (("one\n", None), ("two\n", BEFORE), ("three\n", AFTER)):
        file.write_text(text)
        if name is None:
            record.text("/proc/x")
        else:
            with apart(record, name):
                record.text("/proc/x")
    replay = Replay(record.archive())
    assert replay.text("/proc/x") == "one\n"
    with apart(replay, BEFORE):
        assert replay.text("/proc/x") == "two\n"
    with apart(replay, AFTER):
        assert replay.text("/proc/x") == "three\n"
        assert replay.listing("/proc") == ["x"]
    assert len(replay.moments) == 1
    assert replay.listing("/proc") == ["x"]


def test_a_running_host_is_asked_as_ever() -> None:
    source: Any = SimpleNamespace()
    with apart(source, BEFORE):
        assert not vars(source)


@pytest.mark.parametrize(
    ("name", "plain"),
    [("close/before/netlink/sock_diag/tcp4", "netlink/sock_diag/tcp4"), ("/proc/stat",) * 2,
     ("close//proc/stat", "proc/stat"), ("close/x", "close/x")],
)  # fmt: skip
def test_scrubbing_sees_the_plain_name(name: str, plain: str) -> None:
    assert bare(name) == plain
