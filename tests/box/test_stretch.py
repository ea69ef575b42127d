"""Moments of several segments, by time."""

import errno
import gzip
import os
from pathlib import Path

import pytest
from box_parts import WALL, fill, moment, opened

from nettop.box.past import Past
from nettop.box.ring import OVERHEAD, Growing, Ring, stretch
from nettop.host.archive import RecordedMoment, written
from nettop.host.recording import Replay


def state(parts: list[RecordedMoment]) -> dict[str, bytes]:
    """What a replay of these moments knows at their end."""
    replay = Replay(b"A test.\n" + b"".join(map(written, parts)))
    while replay.wait(0):
        pass
    return dict(replay._tree)


def test_a_stretch_over_segments_ends_like_its_last_segment(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring = Ring(folder)
    ring.add(1, written(moment(1, old=b"1\n", stays=b"1\n")), new=True)
    ring.add(2, written(RecordedMoment(2, WALL, {"/proc/stays": b"2\n"})), new=False)
    ring.add(3, written(moment(3, stays=b"2\n", new=b"-- @9 --\n")), new=True)
    got = list(stretch(folder.segments(), lambda one: one.at >= 2))
    assert [one.at for one in got] == [2, 3]
    assert got[0].changed.keys() > {"/proc/old", "/proc/stays"}
    assert got[1].changed == {"/proc/old": None, "/proc/new": b"-- @9 --\n"}
    assert state(got) == {
        "/proc/sys/kernel/random/boot_id": b"one\n", "/proc/stays": b"2\n",
        "/proc/new": b"-- @9 --\n",
    }  # fmt: skip


def test_a_segment_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 0, 30)
    first, second, third = folder.segments()
    second.write_bytes(b"no gzip")
    got = list(stretch([first, second, third, tmp_path / "gone"], lambda _: True))
    assert [one.at for one in got] == [*range(10), *range(20, 30)]


def test_the_past_is_read_by_the_wall_clock_while_it_is_written(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 0, 35)
    past = Past(folder.path)
    got = list(past.moments(WALL + 18, WALL + 23))
    assert [one.wall - WALL for one in got] == [18, 19, 20, 21, 22]
    assert state(got)["/proc/stat"] == b"22\n"
    assert list(past.moments(WALL + 100, WALL + 200)) == []


def test_the_past_goes_on_over_a_boot_and_a_clock_that_was_set_back(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring = Ring(folder)
    fill(ring, 1000, 1010)
    fill(ring, 5, 15, boot="two")
    ring.add(15, written(moment(15, boot="two", wall=WALL - 5000)), new=False)
    ring.add(16, written(moment(16, boot="two", wall=WALL)), new=False)
    got = list(Past(folder.path).moments(WALL, WALL + 9999))
    assert [one.wall - WALL for one in got] == [*range(1000, 1010), *range(5, 15), 16]
    assert [one.at for one in got] == sorted(one.at for one in got)
    state(got)


# The gzip file that is complete after each write.


def test_every_gzip_reads_it_after_each_part(tmp_path: Path) -> None:
    path, text = tmp_path / "a.gz", b""
    file = Growing(path)
    for number in range(20):
        text += (part := b"%d\n" % number * 100)
        file.append(file.packed(part))
        assert gzip.decompress(path.read_bytes()) == text
        assert path.stat().st_size == file.size + OVERHEAD - 10


def test_only_its_owner_can_read_it_and_it_replaces_no_file(tmp_path: Path) -> None:
    Growing(tmp_path / "a.gz").close()
    assert (tmp_path / "a.gz").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        Growing(tmp_path / "a.gz")


def test_a_full_disk_leaves_the_parts_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Growing(tmp_path / "a.gz")
    file.append(file.packed(b"one\n"))
    real, most = os.pwrite, (tmp_path / "a.gz").stat().st_size + 5

    def full(handle: int, data: bytes, at: int) -> int:
        if at >= most:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[: most - at], at)

    part = file.packed(b"".join(b"%d\n" % (n * n) for n in range(1000)))
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        file.append(part)
    monkeypatch.undo()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"one\n"
