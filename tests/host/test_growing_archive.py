"""A recording that grows stays within the bounds of a recording that is read."""

from dataclasses import replace
from pathlib import Path

import pytest

from nettop.files import bounds
from nettop.host import source
from nettop.host.archive import RecordingError, Room
from nettop.host.recording import Record, Replay
from nettop.host.scrub import scrub
from nettop.host.source import Live


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("moments", 2), ("entries", 3), ("recording", 100)):
        monkeypatch.setitem(bounds.BOUNDS, name, replace(bounds.BOUNDS[name], most=most))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("parts", "taken"),
    [
        (["-- a --\n1\n-- b --\n2\n-- c --\n3\n", "-- d --\n"], 1),  # entries
        (["-- @1.0 --\n", "-- @2.0 --\n", "-- @3.0 --\n"], 2),  # moments
        (["x" * 60, "y" * 40, "z"], 2),  # bytes
    ],
)
def test_what_would_exceed_a_bound_is_refused(parts: list[str], taken: int) -> None:
    room = Room()
    for part in parts[:taken]:
        assert room.take(part) == part.encode()
    before = replace(room)
    with pytest.raises(RecordingError):
        room.take(parts[taken])
    assert room == before


# The ages of tables in a recording: written, read again, and harmless whatever is in the file.


def test_ages_are_read_as_they_were_written() -> None:
    known = {"cpu": 0.0, "vmstat": 3.0, "qdiscs": 3.0, "netns_tcp": 12.3456}
    assert source.parse_ages(source.ages_text(known)) == {
        "vmstat": 3.0,
        "qdiscs": 3.0,
        "netns_tcp": 12.346,
    }


@pytest.mark.parametrize(
    "body", ["nan cpu", "-1.000 cpu", "inf cpu", "1e9 cpu", "1.000", "1.000 cpu\x1b", "!5 no", ""]
)
def test_other_lines_say_nothing(body: str) -> None:
    assert source.parse_ages(f"{body}\n2.000 snmp\n") == {"snmp": 2.0}


def test_each_moment_has_its_own_ages_and_scrubbing_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/hostname").write_text("snmp\n")
    record = Record(Live(str(tmp_path)))
    steps: tuple[dict[str, float], ...] = ({}, {"snmp": 1.0}, {"snmp": 2.0}, {}, {})
    text = ""
    for step in steps:
        record.text("/proc/sys/kernel/hostname")
        record.keep_ages(step)
        text += record.taken()
    assert text.count(source.AGES) == 3  # the last moment is as the one before
    replay = Replay(scrub(text))
    for step in steps:
        assert replay.ages == step
        replay.wait(1)
