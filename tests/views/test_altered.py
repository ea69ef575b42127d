"""Settings that changed while a recording was made: seen from sample to sample."""

from __future__ import annotations

from dataclasses import replace

import pytest
import stories
from scenes import WALL, lossy

from nettop.views.altered import SEEN, changes
from nettop.views.build import merge
from nettop.views.scene import Scene, SceneOrigin


def told(kind: str = "recording") -> Scene:
    """Three samples: the ring is enlarged between the first and the second."""
    scene = Scene(origin=SceneOrigin(kind, "web1"))  # type: ignore[arg-type]
    for facts, wall in ((lossy().facts, WALL), (stories.cured(), WALL + 1)):
        scene = merge(scene, replace(lossy(), facts=facts, wall=wall))
    return merge(scene, replace(lossy(), facts=stories.cured(), wall=WALL + 2))


def test_a_change_between_two_samples_is_seen_once_with_its_time() -> None:
    (change,) = changes(told())
    assert (change.setting, change.before, change.after) == ("ring.rx@eth0", "256", "512")
    assert (change.state, change.wall) == (SEEN, WALL + 1)


@pytest.mark.parametrize("kind", ["host", "directory"])
def test_only_of_a_recording(kind: str) -> None:
    assert not changes(told(kind))


def test_a_recording_that_starts_again_has_changed_nothing_back() -> None:
    again = merge(told(), replace(lossy(), wall=WALL))
    assert not changes(again)


def test_the_moment_of_a_change_seen_again_still_has_it() -> None:
    again = merge(told(), replace(lossy(), facts=stories.cured(), wall=WALL + 1))
    assert [one.setting for one in changes(again)] == ["ring.rx@eth0"]


def test_a_setting_that_is_read_for_the_first_time_has_not_changed() -> None:
    facts = lossy().facts
    assert facts is not None
    scene = Scene(origin=SceneOrigin("recording", "web1"))
    scene = merge(scene, replace(lossy(), facts=replace(facts, nics=())))
    assert not changes(merge(scene, replace(lossy(), wall=WALL + 1)))
