"""The ring: never more disk than the box may take, and nothing lost that was added."""

import gzip
import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from box_parts import SIZE, WALL, fill, moment, opened

from nettop.box import incident as incidents
from nettop.box.folder import BLOCK, Folder
from nettop.box.incident import Incident, Waiting
from nettop.box.ring import LENGTH, Ring, mend, moments
from nettop.host.archive import RecordedMoment, written


def test_what_was_added_is_on_disk_without_any_end(tmp_path: Path) -> None:
    """As after SIGKILL: nothing closes the segment."""
    folder = opened(tmp_path)
    ring = Ring(folder)
    for at in range(5):
        fill(ring, at, at + 1) if at == 0 else ring.add(at, written(moment(at)), new=False)
        (path,) = folder.segments()
        assert [one.at for one in moments(path)] == list(range(at + 1))
        assert gzip.decompress(path.read_bytes()).endswith(written(moment(at))) or at == 0


def test_the_box_never_takes_more_than_its_size(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring, noise = Ring(folder), random.Random(1)
    for number in range(12):
        (folder.path / f"2026112{number:02}T000000Z-a.host.gz"[-26:]).touch()
    (folder.path / "20261122T000000Z-a.host.gz").write_bytes(bytes(1 << 20))
    for at in range(120):
        body = noise.randbytes(60_000).hex().encode()
        ring.add(at, written(moment(at, stat=body)), new=ring.full(at))
        on_disk = sum(p.stat().st_blocks * 512 for p in (folder.path, *folder.path.rglob("*")))
        assert on_disk <= SIZE
        assert folder.used() <= SIZE
    kept = [one.at for path in folder.segments() for one in moments(path)]
    assert kept == [float(at) for at in range(int(kept[0]), 120)]
    assert len(kept) > 20
    assert len(folder.incidents()) == 1 + sum(p.stat().st_size == 0 for p in folder.incidents())


def test_a_sample_that_does_not_fit_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    folder = opened(tmp_path, 16 * BLOCK)
    ring = Ring(folder)
    body = random.Random(2).randbytes(60_000).hex().encode()
    with pytest.raises(OSError, match="does not fit into a box"):
        ring.add(1.0, written(moment(1.0, stat=body)), new=True)
    assert folder.segments() == []
    ring.add(2.0, written(moment(2.0)), new=ring.full(2.0))
    assert len(folder.segments()) == 1


def test_a_segment_ends_with_its_time_and_when_the_clock_is_of_another_boot(
    tmp_path: Path,
) -> None:
    ring = Ring(opened(tmp_path))
    assert ring.full(1000.0)
    ring.add(1000.0, written(moment(1000.0)), new=True)
    assert not ring.full(1000.0 + LENGTH - 1)
    assert ring.full(1000.0 + LENGTH)
    assert ring.full(5.0)


@pytest.mark.parametrize("cut", [1, 9, 60])
def test_a_torn_end_is_mended_up_to_the_last_whole_moment(tmp_path: Path, cut: int) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 0, 9)
    (path,) = folder.segments()
    path.write_bytes(path.read_bytes()[:-cut] + bytes(cut))
    Ring(folder)
    gzip.decompress(path.read_bytes())
    kept = [one.at for one in moments(path)]
    assert kept == [float(at) for at in range(len(kept))]
    assert len(kept) >= 5


def test_a_segment_of_zeros_is_deleted(tmp_path: Path) -> None:
    """As a power failure leaves it."""
    folder = opened(tmp_path)
    path = folder.next_segment()
    path.write_bytes(bytes(5000))
    mend(path)
    assert folder.segments() == []
    path.write_bytes(b"")
    mend(path)
    assert folder.segments() == []


def test_only_one_process_writes(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    with pytest.raises(OSError, match="another nettop writes to this box"):
        Folder(folder.path, SIZE).open()
    folder.close()
    Folder(folder.path, SIZE).open()


def test_only_the_owner_can_read_the_box(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir(mode=0o755)
    folder = opened(tmp_path)
    fill(Ring(folder), 0, 3)
    modes = {p.stat().st_mode & 0o077 for p in (folder.path, *folder.path.rglob("*"))}
    assert modes == {0}


# The disk that a box takes while an incident is written, which stands beside its segments.


ONE = Incident("rx-ring-overrun", "eth0", "critical", "Ring full", 60.0, WALL + 60, "one")


def on_disk(folder: Path) -> int:
    """The bytes of all files of the folder, also of open ones that have no name."""
    files = {(one := os.stat(path)).st_ino: one for path in (folder, *folder.rglob("*"))}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith(f"{folder}/"):
                one = os.stat(f"/proc/self/fd/{name}")
                files[one.st_ino] = one
    return sum(one.st_blocks * 512 for one in files.values())


@pytest.mark.parametrize(("older", "before"), [(0, 50.0), (1 << 20, 50.0), (0, 500.0)])
def test_the_box_is_not_larger_than_said_while_an_incident_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: int, before: float
) -> None:
    folder = opened(tmp_path)
    ring, noise = Ring(folder), random.Random(1)
    (folder.path / "20261122T000000Z-a.host.gz").write_bytes(bytes(older))
    for at in range(90):
        body = noise.randbytes(40_000).hex().encode() + b"\n"
        ring.add(at, written(moment(at, stat=body)), new=ring.full(at))
    waiting = Waiting(folder, before, 20.0)
    waiting.add(ONE)
    sizes: list[int] = []

    def seen(one: RecordedMoment) -> bytes:
        sizes.append(on_disk(folder.path))
        return written(one)

    monkeypatch.setattr(incidents, "written", seen)
    assert waiting.complete(folder.waiting()[0]) == f"{ONE.name}.host.gz"
    assert max(sizes) <= SIZE
    assert len(sizes) > 10
    assert len(list(moments(folder.incidents()[-1]))) > 5
    ring.add(90, written(moment(90)), new=False)  # the open segment is still there
