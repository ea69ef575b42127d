"""The times that the journey gives planted delays, beside what the plants say themselves."""

import os
from collections.abc import Iterator

import pytest
import veth
from planted import play

pytestmark = [
    pytest.mark.live,
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
]
PART = 0.2  # of the planted time
TRIES = 5  # other programs and the hypervisor take the core away for some moments
STAGES = {
    "datagrams": "socket", "stream": "socket", "stopped": "socket", "no core": "woken",
    "low priority": "woken", "queue": "queue", "class": "queue", "busy core": "softirq-rx",
}  # fmt: skip


@pytest.fixture(scope="module")
def spaces() -> Iterator[veth.Pair]:
    with veth.pair("planted") as pair:
        yield pair


@pytest.mark.parametrize("plant", STAGES)
def test_the_longest_wait_is_the_planted_one(spaces: veth.Pair, plant: str) -> None:
    found = []
    for _ in range(TRIES):
        seen = play(spaces, plant)
        found.append((seen["planted"], seen["longest"][STAGES[plant]]))
        planted, longest = found[-1]
        print(f"{plant}: planted {planted * 1e3:.1f} ms, seen {longest * 1e3:.1f} ms")
        if abs(longest - planted) <= PART * planted:
            return
    pytest.fail(f"(planted, seen) in seconds: {found}")


def test_drops_that_come_in_bursts_are_told_with_their_period(spaces: veth.Pair) -> None:
    found = []
    for _ in range(TRIES):
        seen = play(spaces, "rhythm")
        found.append(seen["rhythms"])
        for one in seen["rhythms"]:
            planted = one["what"] == "NO_SOCKET" and one["period"] is not None
            if planted and abs(one["period"] - seen["planted"]) <= PART * seen["planted"]:
                return
    pytest.fail(f"planted every {seen['planted']} s, seen: {found}")
