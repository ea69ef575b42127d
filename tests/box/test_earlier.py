"""The box as the memory of the screen: read on demand, bounded, and only what is of this host."""

import gzip
import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest
from box_parts import WALL, Recorded, moment, opened, record, recorder

from nettop.box import earlier as module
from nettop.box import minutes
from nettop.box.earlier import Earlier
from nettop.box.past import Past
from nettop.box.ring import Ring
from nettop.host.archive import written
from nettop.views.moments import Found
from nettop.views.scene import Scene

TABLES = ("netdev",)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 20 seconds."""
    monkeypatch.setattr(module, "LENGTH", 20.0)
    monkeypatch.setattr(minutes, "LEAD", 10.0)


class Screen:
    """Asks a box as the screen does."""

    def __init__(self, path: Path | None, until: float) -> None:
        self.found = 0
        self.past = None if path is None else Past(path, until)
        self.earlier = Earlier(self.find, TABLES, lambda: None)

    def find(self) -> Past | None:
        self.found += 1
        return self.past

    def near(self, wall: float, *, back: bool = True) -> Found:
        """The answer, also if it has to be read."""
        found = self.earlier.near(wall, back=back)
        if found is None:
            assert self.earlier._thread is not None
            self.earlier._thread.join()
            found = self.earlier.arrived()
        assert found is not None
        return found

    def scene(self, second: float) -> Scene:
        found = self.near(WALL + second)
        assert found.wall is not None
        scene = self.earlier.scene(found.wall)
        assert scene is not None
        return scene


def rate(scene: Scene) -> float | None:
    assert scene.frame is not None
    return scene.frame.tables["netdev"][0].rate("rx_bytes")


def seconds(found: Found) -> float | None:
    return None if found.wall is None else found.wall - WALL


def test_a_moment_is_what_the_host_did_then(tmp_path: Path) -> None:
    path = record(tmp_path, Recorded(WALL), 60)
    screen = Screen(path, WALL + 60)
    for second in (50, 49, 51, 12, 59):
        scene = screen.scene(second)
        assert scene.wall == WALL + second
        assert scene.boxed
        assert rate(scene) == 1000 * second
        assert [one.wall - WALL for one in scene.past.fine][-2:] == [second - 1, second]
    assert len(screen.scene(50).past.fine) > minutes.LEAD - 1


def test_nothing_is_read_before_it_is_wanted(tmp_path: Path) -> None:
    screen = Screen(record(tmp_path, Recorded(WALL), 3), WALL + 200)
    assert screen.found == 0
    assert screen.earlier.scene(WALL) is None
    assert screen.near(WALL + 3).wall == WALL + 2


def test_without_a_box_there_is_no_earlier_moment() -> None:
    screen = Screen(None, WALL)
    assert screen.earlier.near(WALL, back=True) == Found(WALL)


def test_the_first_moment_has_no_rates_and_is_passed_over(tmp_path: Path) -> None:
    screen = Screen(record(tmp_path, Recorded(WALL), 5), WALL + 200)
    assert seconds(screen.near(WALL + 1)) == 1
    assert seconds(screen.near(WALL)) == 1
    assert seconds(screen.near(WALL, back=False)) == 1
    assert seconds(screen.near(WALL + 5, back=False)) is None


def test_a_gap_and_a_boot_begin_anew_and_are_reported(tmp_path: Path) -> None:
    record(tmp_path, Recorded(WALL), 30)
    path = record(tmp_path, Recorded(WALL + 1000, boot="two"), 30)
    screen = Screen(path, WALL + 2000)
    after = screen.near(WALL + 1001)
    assert (seconds(after), after.gap) == (1001, False)
    before = screen.near(WALL + 1000)  # it has no rates: a boot was before it
    assert (seconds(before), before.gap) == (29, True)
    assert rate(screen.scene(29)) == 29000
    forward = screen.near(WALL + 30, back=False)
    assert (seconds(forward), forward.gap) == (1001, True)
    assert rate(screen.scene(1001)) == 1000


def test_a_boot_without_a_gap_gives_no_rate_over_it(tmp_path: Path) -> None:
    record(tmp_path, Recorded(WALL), 30)
    path = record(tmp_path, Recorded(WALL + 30, boot="two"), 10)
    screen = Screen(path, WALL + 99)
    assert seconds(screen.near(WALL + 30)) == 29
    assert rate(screen.scene(31)) == 1000
    assert [one.wall - WALL for one in screen.scene(32).past.fine][-3:] == [29, 31, 32]


def test_a_clock_that_was_set_back_shows_what_was_recorded_last(tmp_path: Path) -> None:
    host = Recorded(WALL)
    folder = opened(tmp_path)
    box = recorder(folder, host)
    for second in range(60):
        if second == 40:
            host.begin -= 20  # 40 is 20 again
        box.step()
        host.wait(1)
    box.end()
    screen = Screen(folder.path, WALL + 999)
    seen, times = WALL + 999, []
    while (wall := screen.near(seen - 0.5).wall) is not None and wall < seen:
        seen = wall
        times.append(wall - WALL)
    assert times == [*range(39, 0, -1)]
    assert rate(screen.scene(30)) == 50_000
    assert rate(screen.scene(15)) == 15_000


def test_the_moments_of_another_host_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    record(tmp_path, Recorded(WALL, name="web9"), 10)
    path = record(tmp_path, Recorded(WALL + 10), 10)
    screen = Screen(path, WALL + 99)
    found = screen.near(WALL + 99)
    assert seconds(found) == 19
    assert found.fault == "web9: its moments are left out"
    found = screen.near(WALL + 10)
    assert (seconds(found), found.fault) == (11, "")  # a fault is reported once


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda data: data[: len(data) // 2], "cut or damaged"),
        (lambda data: data[:2000] + b"\xff" * 40 + data[2040:], "cut or damaged"),
        (lambda _: b"no gzip at all", "cannot be read"),
        (lambda _: b"", "cannot be read"),
        (lambda _: gzip.compress(b"x\n-- @1 wall 1800000001 --\n-- /proc/stat --\n" * 9), ""),
        (lambda _: gzip.compress(b"x\n-- @1 wall 999999999999999 --\n-- a --\nb\n"), ""),
        (lambda _: gzip.compress(b"x\n-- @1 wall 1800000001 --\n-- a --\n" + bytes(1 << 21)), ""),
    ],
)
def test_a_damaged_or_hostile_segment_is_one_sentence_at_most(
    tmp_path: Path, damage: object, fault: str
) -> None:
    record(tmp_path, Recorded(WALL), 20)
    path = record(tmp_path, Recorded(WALL + 20), 20)
    first = next(iter(sorted((path / "ring").iterdir())))
    first.write_bytes(damage(first.read_bytes()))  # type: ignore[operator]
    screen = Screen(path, WALL + 99)
    newest, found = screen.near(WALL + 99), screen.near(WALL + 19)
    assert seconds(newest) == 39
    assert found.wall is not None
    assert found.wall <= WALL + 21  # the oldest that is left
    faults = newest.fault + found.fault
    assert fault in faults
    assert "\n" not in faults


def test_an_error_while_reading_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(tmp_path, Recorded(WALL), 5)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "ring")

    monkeypatch.setattr(minutes, "load", refuse)
    assert "ermission" in Screen(path, WALL + 99).near(WALL + 99).fault


def test_a_box_is_read_while_it_is_written(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    host = Recorded(WALL)
    box = recorder(folder, host)
    screen = Screen(folder.path, WALL + 10)
    for second in range(30):
        box.step()
        host.wait(1)
        if second > 10:
            assert seconds(screen.near(WALL + 10)) == 9  # what is later belongs to the screen
    assert rate(screen.scene(9)) == 9000
    box.end()


def test_few_parts_are_kept_and_each_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minutes, "MOST", 40_000)
    path = record(tmp_path, Recorded(WALL), 100)
    screen = Screen(path, WALL + 999)
    for second in range(99, 10, -10):
        assert screen.scene(second).wall > WALL + second - 15
    parts = screen.earlier._parts
    assert len(parts) == module.KEPT
    assert all(part.moments.size <= 40_000 for part in parts.values())


@pytest.mark.parametrize(("wall", "back", "answer"), [(40.2, True, 39.5), (19.7, False, 20.5)])
def test_a_part_that_is_not_kept_is_read_also_between_two_that_are(
    tmp_path: Path, wall: float, back: bool, answer: float
) -> None:
    path = record(tmp_path, Recorded(WALL + 0.5), 60)  # moments at .5 s
    screen = Screen(path, WALL + 999)
    assert [seconds(screen.near(WALL + at)) for at in (50, 10)] == [49.5, 9.5]
    assert seconds(screen.near(WALL + wall, back=back)) == answer


def test_on_a_host_whose_samples_are_dear_some_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(tmp_path, Recorded(WALL), 40)
    looks = itertools.count(0.0, 0.3)  # seconds of a core for each sample
    monkeypatch.setattr(minutes, "time", SimpleNamespace(thread_time=lambda: next(looks)))
    screen = Screen(path, WALL + 999)
    screen.near(WALL + 39)
    part = screen.earlier._parts[int((WALL + 20) // module.LENGTH)]
    assert part.every == 4
    assert len(part.moments.times) < 12
    assert not screen.near(part.moments.times[-1] - 0.5).gap


def test_a_segment_that_the_box_deletes_meanwhile_is_no_fault(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    ring = Ring(folder)
    ring.add(0, written(moment(0, stat=b"1\n")), new=True)
    screen = Screen(folder.path, WALL + 99)
    folder.segments()[0].unlink()
    assert screen.near(WALL + 50) == Found(WALL + 50)
