"""The countdown of a change runs on while no picture comes."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from scenes import lossy

from nettop.panes import page
from nettop.terms.text import text_of
from nettop.views import build
from nettop.views.build import later, merge, passed
from nettop.views.moments import at_moment
from nettop.views.scene import Note, Pending, Scene, SceneOrigin
from nettop.views.view import View

NOW = 1_000.0  # seconds of the clock, which stands
WAITS = Pending("9", "ring.rx@eth0", lossy().wall + 30)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "time", SimpleNamespace(monotonic=lambda: NOW))


def away(seconds: float) -> Scene:
    """The picture of another host that came so long ago, with a change that waits there."""
    scene = replace(
        lossy(), pending=(WAITS,), notes=(), origin=SceneOrigin("host", "ssh web1"),
        arrived=NOW - seconds,
    )  # fmt: skip
    return later(merge(scene, Scene(notes=(Note("no answer", "warn", time.time()),))))


def test_it_runs_on_without_a_picture_and_says_that_the_host_reverts_by_itself() -> None:
    told = text_of(page.bulletin(away(12.0), View(), 120)[0])
    assert told.startswith("  18 s  ring.rx@eth0 reverts by itself unless confirmed: ")
    assert text_of(page.bulletin(away(1.0), View(), 120)[0]).startswith(
        "  29 s  ring.rx@eth0 reverts unless confirmed: "
    )
    assert away(99.0).left(WAITS) == 0.0
    over = text_of(page.bulletin(away(99.0), View(), 120)[0])
    assert over.startswith(" ring.rx@eth0: the time is over; it reverted unless it was confirmed")
    late = replace(away(0.0), pending=(replace(WAITS, deadline=lossy().wall - 1),))
    assert text_of(page.bulletin(late, View(), 120)[0]) == over  # its journal is read later


def test_a_new_picture_counts_by_its_own_clock() -> None:
    fresh = replace(lossy(), wall=lossy().wall + 14, arrived=NOW)
    assert merge(away(12.0), fresh).left(WAITS) == 16.0


def test_it_runs_on_while_paused_and_in_the_past() -> None:
    now = away(12.0)
    older = replace(now, wall=now.wall - 5, late=0.0)
    assert passed(older, now).left(WAITS) == 18.0
    assert at_moment(older, now).left(WAITS) == 18.0


def test_a_recording_has_its_own_time() -> None:
    scene = replace(lossy(), pending=(WAITS,), arrived=0.0)
    assert later(scene).left(WAITS) == 30.0
