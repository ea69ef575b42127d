"""Delays planted between two namespaces: each is counted in its stage, and the stage is named."""

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import veth
from hang import until
from planted import COUNT, play
from warm import shared

from nettop.host.bpf.journey import Counter

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it loads programs into the kernel"),
]
TWO_CORES = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
RELEASE = tuple(int(part) for part in platform.release().split(".")[:2])


@pytest.fixture(scope="module")
def spaces() -> Iterator[veth.Pair]:
    try:
        Counter().close()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")
    with veth.pair("journey") as pair:
        yield pair


def named(spaces: veth.Pair, plant: str, stage: str) -> dict[str, Any]:
    """What is said of a plant, played until its stage is named.

    Where others take the cores for as long as was planted, packets wait longer for these.
    """
    seen: dict[str, Any] = {}

    def told() -> bool:
        seen.update(play(spaces, plant))
        return bool(seen["first"] == stage)

    until(told, lambda: f"{seen['first']} is named of {seen['stages']}")
    return seen


def test_a_datagram_that_its_reader_leaves_lying_waits_in_the_socket(spaces: veth.Pair) -> None:
    seen = named(spaces, "datagrams", "socket")
    assert seen["stages"]["socket"] == [COUNT, COUNT]
    said = f"{COUNT} packets waited > 10 ms for the reader "
    (sentence,) = (one for one in seen["sentences"] if one.startswith(said))
    assert f"[{seen['pid']}]; the longest " in sentence


def test_a_datagram_that_is_only_looked_at_was_not_read(spaces: veth.Pair) -> None:
    """One that was looked at and is then read counts as the others: it waited as long."""
    assert play(spaces, "peek")["stages"]["socket"][1] == COUNT


def test_a_stream_that_its_reader_leaves_lying_waits_in_the_socket(spaces: veth.Pair) -> None:
    seen = named(spaces, "stream", "socket")
    assert seen["stages"]["socket"] == [COUNT, COUNT]
    ((reader, _),) = seen["whose"]["socket"]
    assert reader.endswith(f"[{seen['pid']}]")


def test_of_a_stopped_reader_the_packets_wait_in_the_socket(spaces: veth.Pair) -> None:
    seen = named(spaces, "stopped", "socket")
    (_, long), *_ = seen["whose"]["socket"]
    assert COUNT <= long <= COUNT + 1  # with the first one, if it was slow


@TWO_CORES
def test_a_reader_that_is_woken_and_has_no_core_waits_for_the_core(spaces: veth.Pair) -> None:
    seen = named(spaces, "no core", "woken")
    assert seen["stages"]["woken"][1] >= 1
    assert any("was woken and waited > 10 ms for a core" in one for one in seen["sentences"])


def test_a_standing_queue_is_named_with_its_interface(spaces: veth.Pair) -> None:
    seen = named(spaces, "queue", "queue")
    ((name, long),) = seen["whose"]["queue"]
    assert name == "eth0"
    assert long >= COUNT - 4  # two go at once, and it may have spared some
    assert any("waited > 10 ms in the queue of eth0" in one for one in seen["sentences"])


def test_each_softirq_that_was_raised_is_counted_on_its_core(spaces: veth.Pair) -> None:
    assert play(spaces, "softirqs")["stages"]["softirq-rx"][0] >= COUNT


@TWO_CORES
@pytest.mark.skipif(
    RELEASE < (6, 10), reason="before Linux 6.10 softirqs may run while a program is tried"
)
def test_a_softirq_of_a_core_that_may_run_none_waits_for_the_core(spaces: veth.Pair) -> None:
    seen = play(spaces, "busy core")
    assert seen["stages"]["softirq-rx"][1] >= 1
    assert any("receive softirq" in one and "raised" in one for one in seen["sentences"])


def test_what_this_host_drops_it_has_lost(spaces: veth.Pair) -> None:
    seen = play(spaces, "dropped here")
    (lost,) = seen["lost"]
    assert lost["here"] >= 1
    assert "this host lost" in seen["sentences"][-1]


def test_what_this_host_did_not_drop_the_network_has_lost(spaces: veth.Pair) -> None:
    seen = play(spaces, "dropped there")
    (lost,) = seen["lost"]
    assert lost["here"] == 0
    assert seen["sentences"][-1].endswith("the network or the other end lost them")


def test_a_recording_has_the_journey_of_its_packets(spaces: veth.Pair, tmp_path: Path) -> None:
    file = str(tmp_path / "x.host")
    # the table is read each second; the programs may rest after the first reading
    words = ["record", file, "--journey", "--seconds", "2", "--interval", "1"]
    done = shared().run(words, netns=spaces.near[3])
    assert done.returncode == 0, done.stderr.decode()
    told = shared().run(["journey", "--json", "--replay", file])
    seen = json.loads(told.stdout)
    assert seen["absent"] == []
    assert seen["looked"] > 0.0
