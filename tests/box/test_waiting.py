"""Incidents: both sides of the moment, whatever happens between."""

from dataclasses import replace
from pathlib import Path

from box_parts import SIZE, WALL, fill, opened

from nettop.box.folder import Folder
from nettop.box.incident import Incident, Waiting, read
from nettop.box.ring import Ring, moments

ONE = Incident("rx-ring-overrun", "eth0", "critical", "Ring full", 30.0, WALL + 30, "one")


def times(folder: Folder, number: int = 0) -> list[float]:
    return [one.at for one in moments(folder.incidents()[number])]


def test_it_has_the_time_before_and_after(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring, waiting = Ring(folder), Waiting(folder, 15.0, 8.0)
    fill(ring, 0, 31)
    waiting.add(ONE)
    assert waiting.due(37.9, "one") == []
    fill(ring, 31, 45)
    (path,) = waiting.due(38.0, "one")
    assert waiting.complete(path) == "20270115T080030Z-rx-ring-overrun.host.gz"
    assert times(folder) == list(range(15, 39))
    assert read(folder.incidents()[0]) == ONE
    assert (folder.waiting(), waiting.all) == ([], {})


def test_the_time_after_begins_when_the_finding_was_reported(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring, waiting = Ring(folder), Waiting(folder, 15.0, 8.0)
    waiting.add(replace(ONE, held=5.0))
    fill(ring, 0, 60)
    assert waiting.due(42.9, "one") == []
    (path,) = waiting.due(43.0, "one")
    waiting.complete(path)
    assert times(folder) == list(range(15, 44))


def test_two_causes_at_once_name_each_other(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 20, 40)
    waiting = Waiting(folder, 5.0, 5.0)
    waiting.add(ONE)
    waiting.add(Incident("softnet", "0", "critical", "Backlog full", 30.0, WALL + 30, "one"))
    for name in ("rx-ring-overrun@eth0", "softnet@0"):
        waiting.join(name)
    for path in waiting.due(40.0, "one"):
        waiting.complete(path)
    got = [read(path) for path in folder.incidents()]
    assert [(one.id, one.also) for one in got if one] == [
        ("rx-ring-overrun@eth0", ("softnet@0",)),
        ("softnet@0", ("rx-ring-overrun@eth0",)),
    ]


def test_a_killed_watch_completes_it_when_it_starts_again(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 20, 33)
    Waiting(folder, 5.0, 10.0).add(ONE)
    folder.close()
    again = Folder(folder.path, SIZE)
    again.open()
    waiting = Waiting(again, 5.0, 10.0)
    fill(Ring(again), 36, 50)
    (path,) = waiting.due(41.0, "one")
    waiting.complete(path)
    assert times(again) == [*range(25, 33), *range(36, 41)]


def test_after_a_boot_it_has_what_was_there_before(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring = Ring(folder)
    fill(ring, 10, 34)
    Waiting(folder, 5.0, 100.0).add(ONE)
    fill(ring, 2, 60, boot="two")
    waiting = Waiting(folder, 5.0, 100.0)
    (path,) = waiting.due(2.0, "two")
    waiting.complete(path)
    assert times(folder) == list(range(25, 34))


def test_one_that_was_written_before_the_kill_is_not_written_twice(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 20, 40)
    waiting = Waiting(folder, 5.0, 5.0)
    waiting.add(ONE)
    text = folder.waiting()[0].read_bytes()
    waiting.complete(folder.waiting()[0])
    (folder.path / "waiting" / f"{ONE.name}.json").write_bytes(text)
    waiting = Waiting(folder, 5.0, 5.0)
    assert waiting.complete(folder.waiting()[0]) == f"{ONE.name}.host.gz"
    assert len(folder.incidents()) == 1
    assert folder.waiting() == []


def test_another_of_the_same_second_has_a_name_of_its_own(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 20, 40)
    for target in ("eth0", "eth1"):
        waiting = Waiting(folder, 5.0, 5.0)
        waiting.add(Incident("ring", target, "critical", "", 30.0, WALL + 30, "one"))
        waiting.complete(folder.waiting()[0])
    assert [path.name for path in folder.incidents()] == [
        "20270115T080030Z-ring.2.host.gz",
        "20270115T080030Z-ring.host.gz",
    ]


def test_incidents_take_half_of_the_box_at_most(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 20, 40)
    for number in range(3):
        old = folder.path / f"2026010{number + 1}T000000Z-a.host.gz"
        old.write_bytes(bytes(SIZE // 4))
    waiting = Waiting(folder, 5.0, 5.0)
    waiting.add(ONE)
    waiting.complete(folder.waiting()[0])
    assert folder.used(folder.incidents()) <= SIZE // 2
    assert [path.name[:8] for path in folder.incidents()] == ["20260103", "20270115"]


def test_a_damaged_file_of_waiting_is_forgotten(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    (folder.path / "waiting/a.json").write_text("{}")
    (folder.path / "waiting/b.json").write_text("no json")
    assert Waiting(folder, 5.0, 5.0).all == {}
    assert folder.waiting() == []
