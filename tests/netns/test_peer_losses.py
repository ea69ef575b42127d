"""Where both ends say that segments of a flow were lost, beside the kernel's count of them.

Each loss is made at one known place between namespaces (`staged_losses`). The count of the place
lies in the bound that is printed, within 2 % or one segment. The backlogs of the CPUs serve all
namespaces of the machine: only while they dropped packets may a backlog be a place as well.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from staged import Stage
from staged_ends import Seen, seen
from staged_losses import LOSSES, Loss, names

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="needs nsenter (util-linux)"),
]
LOOKS = 6  # at the most, until one has seen losses without a pause between its readings
ENOUGH = 5  # losses of a look: of fewer, a pause between two readings of it hides most
PAUSE = 0.25  # of the losses, that may happen between the readings that belong together
BEGUN = 30.0  # seconds: only against waiting without end


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def looked(stage: Stage, loss: Loss, *, sending: bool) -> Seen:
    """A look in which segments were lost; if possible one that was not interrupted.

    The count of the place and the sockets are read one after the other. Where the CPU is taken away
    in between, the count lacks losses that the sockets have.
    """
    counted = names(stage)
    first, end = loss.lost(counted), time.monotonic() + BEGUN
    while loss.lost(counted) == first:
        assert time.monotonic() < end, "nothing is lost"
        time.sleep(0.2)
    looks: list[Seen] = []
    for _ in range(LOOKS):
        found = seen(counted, loss.lost, sending=sending, ring=loss.ring)
        if found.lost[0] >= 1 and found.losses is not None:
            looks.append(found)
            if found.lost[0] >= ENOUGH and _paused(found) <= PAUSE and not found.backlogs:
                return found
    assert looks, "no look saw a loss"
    return min(looks, key=lambda look: (look.backlogs > 0, _paused(look)))


def _paused(found: Seen) -> float:
    """The share of the losses that happened while the look was read."""
    return (found.lost[1] - found.lost[0]) / found.lost[0]


@pytest.mark.parametrize(
    ("name", "sending"),
    [(name, at % 2 == 0) for at, name in enumerate(LOSSES) if not LOSSES[name].quiet],
)
def test_a_loss_is_placed_where_it_is_made_and_its_count_is_in_the_bound(
    name: str, sending: bool
) -> None:
    loss = LOSSES[name]
    with Stage(f"lost{list(LOSSES).index(name)}") as stage:
        loss.case.make(stage)
        found = looked(stage, loss, sending=sending)
    assert found.losses is not None
    elsewhere = found.backlogs > 0 and not loss.place.endswith("backlog")
    places = [one for one in found.losses.places if not (elsewhere and one.stage == "backlog")]
    assert places, found
    place = places[0]
    assert (place.end, place.stage) == loss.where(sending=sending), found
    if loss.exact:
        least, most = place.segments
        assert least - max(1, 0.02 * least) <= found.lost[1], found
        assert found.lost[0] <= most + max(1, 0.02 * most), found
