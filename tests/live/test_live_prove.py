"""Verdicts on what is measured between two namespaces: better, worse, no difference."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import delay_line
import pytest
import veth
from changes_netns import run
from trial_ends import Ends, ends

pytestmark = [
    pytest.mark.live,
    pytest.mark.netns,
]
RMEM = "net.ipv4.tcp_rmem"
SMALL, NORMAL = "2048 2304 2304", "4096 131072 6291456"


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    """A link whose round trip decides what a window carries, whatever the CPUs do."""
    with ends("slow") as both, delay_line.path(both.here, both.there, 10, 1500):
        yield both


# NORMAL carries the paced rate over that link; SMALL, two kilobytes a round trip, a tenth of it
PACED = ("--rate", "20M", "--reverse")


def tried(pair: Ends, *words: str, how: Sequence[str] = PACED, code: int = 0) -> dict[str, Any]:
    common = ("--to", veth.FAR, *pair.peer, "--seconds", "0.5", "--warmup", "0.5")
    return pair.nettop(*words, *common, *how, code=code)


def test_a_harmful_setting_put_right_is_better_and_kept(pair: Ends) -> None:
    pair.kernel(RMEM, SMALL)
    found = tried(pair, "prove", f"sysctl.{RMEM}={NORMAL}")
    assert (found["verdict"], found["kept"]) == ("better", True)
    assert 0 < found["interval"][0] <= found["median_difference"] <= found["interval"][1]


def test_a_useless_change_is_no_difference_and_undone(pair: Ends) -> None:
    pair.kernel(RMEM, NORMAL)
    found = tried(pair, "prove", "sysctl.net.ipv4.tcp_orphan_retries=3", code=1)
    assert (found["verdict"], found["kept"]) == ("no difference", False), found


def test_a_sweep_finds_the_best_value(pair: Ends) -> None:
    pair.kernel(RMEM, "4096 131072 1000000")
    values = ("--value", SMALL, "--value", NORMAL, "--pairs", "5", "--most", "7")
    found = tried(pair, "sweep", f"sysctl.{RMEM}", *values, code=1)
    assert found["best"] != SMALL
    assert {row["value"]: row.get("verdict") for row in found["rows"]}[SMALL] == "worse"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_segmentation_by_the_device_is_better_than_by_the_sender() -> None:
    """Not paced: what the sender's core can do is what is measured. Small windows lose nothing."""
    with ends("fast") as pair:
        run(*pair.pair.near, *"ethtool -K eth0 tso off gso off".split())
        names = ("tx-tcp-segmentation", "tx-generic-segmentation")
        how = "--window 256K --congestion cubic --cpu-here 0 --cpu-there 1 --most 9".split()
        found = tried(pair, "prove", *(f"feature.{name}@eth0=on" for name in names), how=how)
    assert (found["verdict"], found["kept"]) == ("better", True), found
    assert found["interval"][0] > 0.3
