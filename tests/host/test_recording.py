"""Recordings: what was asked is answered again, errors and disappearances included."""

import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.files import bounds
from nettop.host.archive import Tape
from nettop.host.netlink.codec import Request
from nettop.host.recording import LONGEST, Record, RecordingError, Replay, load, parse
from nettop.host.source import Live


def asked(source: Replay | Live | Record) -> None:
    for path in ("/proc/stat", "/proc/nothing", "/proc/empty"):
        try:
            source.text(path)
        except FileNotFoundError:
            continue
    source.listing("/sys/class/net")
    source.link("/sys/class/net/eth0")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu 1 2 3\n-- /looks/like --\n\\-- /that/too --\n")
    (tmp_path / "proc/empty").write_text("")
    net = tmp_path / "sys/class/net"
    net.mkdir(parents=True)
    (net / "eth0").symlink_to("../../devices/pci0000:00/net/eth0")
    return tmp_path


def test_recording_answers_as_the_host_did(tree: Path) -> None:
    live = Live(str(tree))
    record = Record(live)
    asked(record)
    record.wait(0)
    (tree / "proc/stat").write_text("cpu 4 5 6\n")
    (tree / "proc/empty").unlink()
    asked(record)
    archive = record.archive()

    replay = Replay(archive)
    assert replay.text("/proc/stat") == "cpu 1 2 3\n-- /looks/like --\n\\-- /that/too --\n"
    assert replay.text("/proc/empty") == ""
    assert replay.listing("/sys/class/net") == ["eth0"]
    assert replay.link("/sys/class/net/eth0") == "../../devices/pci0000:00/net/eth0"
    with pytest.raises(FileNotFoundError):
        replay.text("/proc/nothing")
    assert replay.wait(1)
    assert replay.text("/proc/stat") == "cpu 4 5 6\n"
    with pytest.raises(FileNotFoundError):
        replay.text("/proc/empty")
    assert not replay.wait(1)


def test_recording_a_replay_gives_the_same_archive(tree: Path) -> None:
    record = Record(Live(str(tree)), comment="A host.")
    for number in range(3):
        (tree / "proc/stat").write_text(f"cpu {number}\n")
        asked(record)
        record.wait(0)
    archive = record.archive()
    replay = Replay(archive)
    again = Record(replay, comment=replay.comment)
    while True:
        asked(again)
        if not again.wait(0):
            break
    assert again.archive() == archive


def test_errors_are_recorded_as_errors() -> None:
    class Refusing(Live):
        def text(self, path: str) -> str:
            raise PermissionError(13, "Permission denied", path)

        def netlink(self, request: Request) -> bytes:
            raise OSError(95, "Operation not supported")

        def statistics(self, interface: str, request: bytes, name: str) -> bytes:
            return b"\x01\x02"

    record = Record(Refusing())
    for source in (record, Replay(_archive(record))):
        with pytest.raises(PermissionError):
            source.text("/proc/secret")
        with pytest.raises(OSError, match="not supported"):
            source.netlink(Request("ethtool", 1, b"", "ethtool/rings/eth0"))
        assert source.statistics("eth0", b"", "stats/eth0") == b"\x01\x02"


def _archive(record: Record) -> str:
    for ask in (
        lambda: record.text("/proc/secret"),
        lambda: record.netlink(Request("ethtool", 1, b"", "ethtool/rings/eth0")),
        lambda: record.statistics("eth0", b"", "stats/eth0"),
    ):
        try:
            ask()
        except OSError:
            continue
    return record.archive()


def test_a_loop_keeps_the_clock_running() -> None:
    text = "x\n-- @0.000 wall 100.0 --\n-- /a --\n1\n-- @1.000 wall 101.0 --\n-- /a --\n2\n"
    replay = Replay(text, loop=True)
    seen = []
    for _ in range(5):
        seen.append((replay.now(), replay.text("/a").strip()))
        assert replay.wait(1)
    assert seen == [(0, "1"), (1, "2"), (2, "1"), (3, "2"), (4, "1")]


def test_a_paced_replay_lingers_where_there_is_something_to_see() -> None:
    moments = "".join(f"-- @{at} wall {100 + at} --\n-- /a --\n{at}\n" for at in (0, 30.5, 31, 90))
    replay = Replay("x\n" + moments, pace=1.0, loop=True)
    lingered: list[float] = []

    class Clock(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            lingered.append(timeout or 0.0)
            return False

    replay.woken = Clock()
    opened = []
    for _ in range(9):
        opened.append(replay.opening)
        replay.wait(1)
    assert opened == [True, False, False, False] * 2 + [True]
    assert lingered == [0.5, LONGEST, LONGEST] * 2  # never at the first, never for a minute
    assert not Replay("x\n-- /a --\n1\n").opening


def test_what_ends_says_so_through_a_tape_too(tree: Path) -> None:
    replay = Replay("x\n-- @0.0 --\n-- /a --\n1\n-- @1.0 --\n-- /a --\n2\n")
    for source in (replay, Record(replay)):
        assert (source.ends, source.opening) == (True, True)
    for host in (Live(str(tree)), Record(Live())):
        assert (host.ends, host.opening) == (False, False)
    replay.wait(0)
    assert not Record(replay).opening


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ("nothing", "not a recording"),
        ("c\n-- @x --\n-- /a --\n", "not a moment"),
        (f"c\n-- @{'x' * 99} --\n-- /a --\n", f"`-- @{'x' * 79} --`"),
        ("c\n-- @5.0 --\n-- /a --\n1\n-- @1.0 --\n-- /a --\n2\n", "back in time"),
    ],
)
def test_malformed_recordings_say_what_is_wrong(text: str, say: str) -> None:
    with pytest.raises(RecordingError, match=say):
        parse(text)


def test_cut_gzip_says_so(tmp_path: Path) -> None:
    path = tmp_path / "host.gz"
    tape = Tape(str(path))
    tape.write("c\n-- /a --\n" + "x" * 5000 + "\n")
    tape.keep()
    tape.drop()
    assert load(str(path)).endswith(b"x\n")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(RecordingError, match="cut or damaged"):
        load(str(path))


def test_what_is_taken_away_piece_by_piece_is_the_same_archive(tree: Path) -> None:
    tapes = [Record(Live(str(tree)), comment="A host.") for _ in range(2)]
    pieces = ""
    for number in range(3):
        (tree / "proc/stat").write_text(f"cpu {number}\n")
        for tape in tapes:
            asked(tape)
        pieces += tapes[0].taken()
        assert tapes[0].archive() == ""  # an hour is not held in memory
        for tape in tapes:
            tape.wait(0)
    times = re.compile(r"^-- @.*", re.MULTILINE)
    assert times.sub("", pieces) == times.sub("", tapes[1].archive())
    assert Replay(pieces).text("/proc/stat") == "cpu 0\n"


def test_a_tape_that_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    for name in ("x.host", "x.host.gz"):
        tape = Tape(str(tmp_path / name))
        tape.write("c\n-- /a --\n1\n")
        assert not (tmp_path / name).exists()
        tape.drop()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError):
        Tape(str(tmp_path))


def test_a_tape_in_no_folder_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError):  # noqa: PT011
        Tape(str(tmp_path / "none" / "x.host"))
    assert list(tmp_path.iterdir()) == []


@given(st.text())
def test_any_text_is_a_recording_or_a_clear_error(text: str) -> None:
    try:
        replay = Replay(text)
    except RecordingError:
        return
    assert replay.moments


@pytest.mark.parametrize(("name", "most"), [("moments", 3), ("entries", 4), ("recording", 200)])
def test_a_tape_ends_at_the_bounds_that_reading_has(
    name: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bounds.BOUNDS, name, bounds.Bound(most, "", "a recording", ""))
    samples = [f"-- @{n}.000 wall 1.000 --\n-- /a --\n{n}\n\\-- /b --\n" for n in range(9)]
    path, whole = tmp_path / "x.host", tmp_path / "whole.host"
    tape = Tape(str(path))
    with pytest.raises(RecordingError, match=f"more than {most}"):
        list(map(tape.write, samples))
    tape.keep()
    written = tape.room.moments
    assert 2 <= written < 9
    assert len(Replay(load(str(path))).moments) == written
    whole.write_text("".join(samples[: written + 1]))
    with pytest.raises(RecordingError, match=f"more than {most}"):
        Replay(load(str(whole)))


def test_an_answer_too_large_for_an_entry_is_recorded_as_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = bounds.Bound(100, "bytes", "one entry of a recording", "")
    monkeypatch.setitem(bounds.BOUNDS, "answer", few)

    class Large(Live):
        def netlink(self, request: Request) -> bytes:
            return b"x" * 100

    record, request = Record(Large()), Request("ethtool", 1, b"", "ethtool/rings/eth0")
    assert record.netlink(request) == b"x" * 100
    with pytest.raises(OSError, match="more than 100 bytes, the bound of one entry"):
        Replay(record.archive()).netlink(request)
