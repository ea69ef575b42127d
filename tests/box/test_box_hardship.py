"""What a box meets on other people's hosts: it says so, goes on, and keeps what is newest."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from box_parts import WALL, Recorded, Reports, fill, moment, opened, recorder

from nettop.box.blackbox import BlackBox
from nettop.box.folder import LEAST, Folder
from nettop.box.incident import read
from nettop.box.past import Past
from nettop.box.ring import Growing, Ring, moments
from nettop.host.archive import written


def run(host: Recorded, box: BlackBox, seconds: int) -> None:
    for _ in range(seconds):
        box.step()
        host.wait(1)


def test_a_folder_that_is_removed_is_reported_and_made_again(tmp_path: Path) -> None:
    host, reports = Recorded(WALL), Reports()
    folder = opened(tmp_path)
    box = recorder(folder, host, reports)
    run(host, box, 3)
    shutil.rmtree(folder.path)
    run(host, box, 20)
    assert reports.troubles == [
        "cannot write the box: the segment was removed; trying again",
        "the box is written again",
    ]
    assert (folder.path.stat().st_mode & 0o777, len(folder.segments())) == (0o700, 1)
    with pytest.raises(OSError, match="another nettop writes"):
        Folder(folder.path, LEAST).open()
    box.end()


def test_a_box_put_in_the_place_of_another_is_not_written_by_two(tmp_path: Path) -> None:
    host, reports = Recorded(WALL), Reports()
    folder = opened(tmp_path)
    box = recorder(folder, host, reports)
    run(host, box, 2)
    folder.path.rename(tmp_path / "moved")
    other = Folder(folder.path, LEAST)
    other.open()
    box._ring.close()
    run(host, box, 2)
    assert "another nettop writes to this box" in reports.troubles[0]
    assert other.segments() == []
    other.close()


@pytest.mark.needs("root")
@pytest.mark.parametrize("part", ["", "ring", "waiting"])
def test_a_folder_that_another_user_can_change_is_refused(tmp_path: Path, part: str) -> None:
    path = tmp_path / "box"
    (path / part).mkdir(parents=True)
    os.chown(path / part, 1234, 1234)
    with pytest.raises(PermissionError, match="users other than root can change it"):
        Folder(path, LEAST).open()
    shutil.rmtree(path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 1234, 1234)
    (path / part).parent.mkdir(parents=True, exist_ok=True)
    (path / part).symlink_to(theirs)
    with pytest.raises(PermissionError, match="users other than root can change it"):
        Folder(path, LEAST).open()
    assert list(theirs.iterdir()) == []


def test_a_full_disk_takes_older_segments_and_never_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = opened(tmp_path)
    ring = Ring(folder)
    fill(ring, 0, 30)

    def full(_self: Growing, _part: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Growing, "append", full)
    left = []
    for new in (False, True, True, True):
        with pytest.raises(OSError, match="No space left"):
            ring.add(30, written(moment(30)), new=new)
        left.append([int(path.name[:10]) for path in folder.segments()])
    assert left == [[2, 3], [3], [3], [3]]


def test_the_only_segment_stays_when_the_disk_gets_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = opened(tmp_path)
    ring = Ring(folder)
    fill(ring, 0, 5)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(OSError, match="full"):
            ring.add(5, written(moment(5)), new=False)
    ring.add(6, written(moment(6)), new=True)
    assert [one.at for one in Past(folder.path).moments(0, 1e12)] == [0, 1, 2, 3, 4, 6]


def test_a_cause_that_flaps_makes_one_incident(tmp_path: Path) -> None:
    host, reports = Recorded(WALL), Reports()
    folder = opened(tmp_path)
    # eth0 receives 1000 bytes/s more in each second: it holds in every other second
    box = recorder(folder, host, reports, on="nic.per_s.rx_bytes % 2000 > 500")
    run(host, box, 40)
    box.end()
    (path,) = folder.incidents()
    incident = read(path)
    assert incident is not None
    assert incident.rule == "on-expression"
    assert reports.incidents == [path.name]


def test_an_incident_is_whole_although_the_clock_jumps_while_it_waits(tmp_path: Path) -> None:
    for jump in (-100_000.0, 100_000.0):
        host, reports = Recorded(WALL), Reports()
        folder = opened(tmp_path / f"{jump}")
        box = recorder(folder, host, reports, on="nic.per_s.rx_bytes > 9500")
        run(host, box, 11)
        host.begin += jump
        run(host, box, 10)
        box.end()
        (path,) = folder.incidents()
        times = [one.at for one in moments(path)]
        # it was reported a second after it began
        assert times == [float(second) for second in range(int(times[0]), int(times[0]) + 10)]
        assert reports.incidents == [path.name]
