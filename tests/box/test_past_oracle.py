"""Looking up moments of a box agrees with a plain search over all of them."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from calls import keeping
from hypothesis import given
from hypothesis import strategies as st

from nettop.box import past

times = st.lists(st.integers(0, 40), max_size=24, unique=True).map(sorted)


def cut(every: list[int], places: list[int]) -> list[list[float]]:
    """The times in segments; none is empty."""
    bounds = sorted({place % (len(every) + 1) for place in places} | {0, len(every)})
    parts = [every[a:b] for a, b in itertools.pairwise(bounds)]
    return [[float(one) for one in part] for part in parts if part]


def box(patch: pytest.MonkeyPatch, segments: list[list[float]], until: float) -> past.Past:
    paths = [Path(f"/box/{n:03}") for n in range(len(segments))]
    known = dict(zip(paths, segments, strict=True))

    def stretch(wanted: list[Path], within: Any) -> Any:
        every = [SimpleNamespace(wall=wall) for path in wanted for wall in known[path]]
        return (one for one in every if within(one))

    patch.setattr(past, "Folder", lambda *_: SimpleNamespace(segments=lambda: paths))
    patch.setattr(past, "first_wall", lambda path: known[path][0])
    patch.setattr(past, "stretch", stretch)
    patch.setattr(past.Past, "_read", lambda _self, path: known[path])
    return past.Past(Path("/box"), until)


@given(times, st.lists(st.integers(0, 24), max_size=5), st.integers(0, 42), st.integers(0, 42))
def test_before_and_after_are_those_of_a_plain_search(
    every: list[int], places: list[int], wall: int, until: int
) -> None:
    known = [one for one in every if one < until]
    with pytest.MonkeyPatch.context() as patch:
        one = box(patch, cut(every, places), float(until))
        assert one.before(wall) == max((t for t in known if t <= wall), default=None)
        assert one.after(wall) == min((t for t in known if t >= wall), default=None)
        # without an end
        one = box(patch, cut(every, places), float("inf"))
        assert one.before(wall) == max((t for t in every if t <= wall), default=None)
        assert one.after(wall) == min((t for t in every if t >= wall), default=None)


@given(times, st.lists(st.integers(0, 24), max_size=2), st.integers(0, 42), st.integers(0, 42))
def test_the_count_of_few_segments_is_exact(
    every: list[int], places: list[int], since: int, until: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        one = box(patch, cut(every, places), float("inf"))
        assert one.count(since, until) == sum(since <= t < until for t in every)


def test_of_many_segments_the_three_newest_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    one = box(monkeypatch, [[1.0], [2.0], [3.0], [4.0], [5.0]], float("inf"))
    assert one.count(0, 9) == 3
    assert one.count(0, 5) == 3
    assert one.count(0, 3) == 2


@given(times, st.lists(st.integers(0, 24), max_size=5), st.integers(0, 42), st.integers(0, 42))
def test_only_segments_of_the_time_are_read(
    every: list[int], places: list[int], since: int, until: int
) -> None:
    segments = cut(every, places)
    with pytest.MonkeyPatch.context() as patch:
        one = box(patch, segments, float("inf"))
        read: list[list[Path]] = []
        patch.setattr(past, "stretch", lambda wanted, _within: iter(keeping(read, ())(wanted)))
        assert list(one.moments(since, until)) == []
    ends = [*(part[0] for part in segments), float("inf")][1:]
    wanted = [
        n for n, (part, end) in enumerate(zip(segments, ends, strict=True))
        if part[0] < until and end >= since
    ]  # fmt: skip
    assert [[int(path.name) for path in one] for one in read] == [wanted]


def test_a_segment_after_which_the_clock_was_set_back_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = box(monkeypatch, [[10.0, 50.0], [5.0, 6.0]], float("inf"))
    read: list[list[Path]] = []
    monkeypatch.setattr(past, "stretch", lambda wanted, _within: iter(keeping(read, ())(wanted)))
    list(one.moments(20, 60))
    assert [[path.name for path in one] for one in read] == [["000", "001"]]
    assert one._times(Path("/box/000"), 50.0) == [10.0]
    assert one._times(Path("/box/001"), 7.0) == [5.0, 6.0]
    assert one._times(Path("/box/001"), 6.0) == [5.0]


@pytest.mark.parametrize(
    ("mode", "owner", "real", "ours"),
    [
        (0o700, 61184, "/var/lib/private/nettop", True),
        (0o700, 65519, "/var/lib/private/nettop", True),
        (0o700, 65520, "/var/lib/private/nettop", False),
        (0o700, 61183, "/var/lib/private/nettop", False),
        (0o701, 61184, "/var/lib/private/nettop", False),
        (0o710, 61184, "/var/lib/private/nettop", False),
        (0o700, 61184, "/home/x", False),
    ],
)
def test_a_dynamic_users_box_is_trusted_where_only_root_comes(
    monkeypatch: pytest.MonkeyPatch, mode: int, owner: int, real: str, ours: bool
) -> None:
    stats = {
        past.PRIVATE: SimpleNamespace(st_mode=0o40000 | mode),
        real: SimpleNamespace(st_uid=owner),
    }
    fake = SimpleNamespace(
        path=SimpleNamespace(realpath=lambda _: real), stat=lambda path: stats[str(path)],
    )  # fmt: skip
    monkeypatch.setattr(past, "os", fake)
    for trusted in (True, False):
        monkeypatch.setattr(past, "trusted", lambda _path: trusted)  # noqa: B023
        assert past._of_the_service(Path("/var/lib/nettop")) is (ours and trusted)
