"""Losses of many kinds, each staged alone: the kernel's reasons and places explain them."""

import json
import os
from pathlib import Path

import pytest
import veth
from changes_netns import python

pytestmark = [
    pytest.mark.live,
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
PART = 0.98  # of the packets that are lost: the goal
TESTS = str(Path(__file__).parents[1])
PLAY = "import sys; sys.path.append(sys.argv.pop()); import staged_losses; staged_losses.main()"


def test_what_is_lost_has_a_reason_and_a_place() -> None:
    with veth.pair("losses", len(os.sched_getaffinity(0))) as spaces:
        told = json.loads(python(spaces.near[3], PLAY, spaces.far[3], TESTS))
    for name, lost, explained, counted, reasons, why in told:
        print(f"{name:40} {explained + counted:4} of {lost:4}  {why or ', '.join(reasons)}")
    staged = [one[1:4] for one in told if one[1]]
    lost, explained, counted = (sum(column) for column in zip(*staged, strict=True))
    shares = [f"{100 * part / lost:.1f} %" for part in (explained, counted)]
    print(f"{len(staged)} kinds, {lost} packets: {shares[0]} have a reason and a place, "
          f"{shares[1]} a counter alone")  # fmt: skip
    assert explained + counted >= PART * lost
