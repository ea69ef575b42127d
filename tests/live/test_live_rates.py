"""Rates of real traffic between two namespaces: what nettop measures is what was sent.

How near they are depends on the machine: a core that others take changes what is sent.
"""

import itertools
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import veth
from changes_netns import python, run
from hang import until
from trial_ends import Ends, ends, installed

pytestmark = [
    pytest.mark.live,
    pytest.mark.netns,
]
# Runs inside the namespace, four observations a second: what the flows pane would show of iperf3.
WATCH = """
import json, sys, time
from nettop.views.observer import Observer
from nettop.host.source import Live
observer = Observer(Live())
last = observer.step().frame.at
due, out = time.monotonic(), []
for _ in range(int(sys.argv[1])):
    due += 0.25
    time.sleep(max(0, due - time.monotonic()))
    seen = observer.step()
    flows = [f for f in seen.facts.flows if f.process == "iperf3" and f.tx_per_s]
    cores = {f.app_cpu for f in flows}
    busy = {c.cpu: 100 - (c.idle or 0) for c in seen.facts.cores if c.cpu in cores}
    rate, seconds, last = sum(f.tx_per_s for f in flows) * 8, seen.frame.at - last, seen.frame.at
    out.append([seen.frame.wall, seconds, rate, sorted(busy.values())])
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    with ends("rate") as both:
        yield both


@pytest.mark.parametrize("direction", [[], ["--reverse"], ["--streams", "3"]])
@pytest.mark.parametrize("tool", ["bulk", "iperf3"])
def test_what_the_receivers_interface_counted_is_the_rate(
    pair: Ends, tool: str, direction: list[str]
) -> None:
    """Within what is under way at the end of a second."""
    installed(tool)
    found = pair.trial(tool, "--rate", "200M", "--seconds", "1", *direction)
    receiver = found["interfaces"]["here" if "--reverse" in direction else "there"]["eth0"]
    assert 8 * receiver["rx_payload_bytes"] == pytest.approx(found["bits_per_second"], rel=0.15)


@pytest.mark.parametrize("tool", ["iperf3", "iperf"])
def test_datagrams_arrive_at_their_rate(pair: Ends, tool: str) -> None:
    installed(tool)
    found = pair.trial(tool, "--udp", "--rate", "20M", "--length", "1000")
    assert found["bits_per_second"] == pytest.approx(20e6, rel=0.2)


def test_paced_datagrams_arrive(pair: Ends) -> None:
    words = ("--sizes", "200,1400", "--spacings", "50,200", "--count", "500")
    assert pair.trial("udp-sweep", *words)["loss"]["received"] >= 1900


@pytest.mark.parametrize("words", [[], ["--reverse"], ["--streams", "2"]])
def test_iperf_2_tells_what_arrived(pair: Ends, words: list[str]) -> None:
    installed("iperf")
    found = pair.trial("iperf", "--seconds", "2", "--rate", "200M", *words)
    # what waits in the sockets when time is up gets an interval of its own
    seconds = [one["seconds"] for one in found["intervals"]]
    assert seconds[:2] == pytest.approx([1, 1], abs=0.1)
    bits = sum(one["seconds"] * one["bits_per_second"] for one in found["intervals"])
    assert 0.5 < bits / 400e6 < 1.1
    assert found["bits_per_second"] == pytest.approx(bits / sum(seconds), rel=0.1)


def test_a_running_transfer_is_watched(pair: Ends) -> None:
    installed("iperf3")
    near = [*pair.pair.near, "iperf3", "-c", veth.FAR, "-t", "60", "-b", "100M"]
    with server(pair), subprocess.Popen(near, stdout=subprocess.DEVNULL) as client:
        established = [*pair.pair.near, "ss", "-Htn", "dst", veth.FAR]
        until(lambda: len(run(*established).splitlines()) == 2)
        found = pair.nettop("test", "flow", "--to", veth.FAR, "--seconds", "2", "--no-keep")
        client.kill()
    assert found["bits_per_second"] == pytest.approx(100e6, rel=0.2)
    assert found["details"]["points"][-1]["limited_by"] == "the program"


def test_a_neighbour_takes_its_core(pair: Ends) -> None:
    found = pair.trial("bulk", "--rate", "50M", "--seconds", "2", "--neighbour", "0")
    (core,) = [core for core in found["cores"]["here"] if core["cpu"] == 0]
    assert core["idle"] < 20


@contextmanager
def server(pair: Ends) -> Iterator[None]:
    """iperf3 at the far end, for one client."""
    words = [*pair.pair.far, "iperf3", "-s", "-1"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as running:
        try:
            until(lambda: "5201" in run(*pair.pair.far, "ss", "-Hltn"))
            yield
        finally:
            running.kill()


def _listen(client: subprocess.Popen[str], told: list[tuple[float, float]]) -> None:
    assert client.stdout is not None
    for line in client.stdout:
        found = re.search(r"([\d.]+) Kbits/sec", line)
        if found and "sender" not in line and "receiver" not in line:
            told.append((time.time(), float(found[1]) * 1000))


def test_the_payload_rate_is_iperf3s_own_within_one_and_a_half_percent(pair: Ends) -> None:
    installed("iperf3")
    told: list[tuple[float, float]] = []  # when each of iperf3's seconds ended, and its bit/s
    near = [*pair.pair.near, *f"iperf3 -c {veth.FAR} -t 20 -i 1 -f k --forceflush".split()]
    with server(pair), subprocess.Popen(near, stdout=subprocess.PIPE, text=True) as client:
        reader = threading.Thread(target=_listen, args=(client, told))
        reader.start()
        until(lambda: told)
        seen = json.loads(python(pair.here, WATCH, "56"))
        reader.join()
    # iperf3's own ten whole seconds that were watched; nettop's shares of them
    whole = [(end, rate) for end, rate in told if end > seen[0][0] + 0.3][:11]
    first, final = whole[0][0], whole[-1][0]
    theirs = sum(rate * (b - a) for (a, _), (b, rate) in itertools.pairwise(whole))
    ours = 0.0
    for end, dt, rate, _ in seen:
        ours += rate * max(0.0, min(end, final) - max(end - dt, first))
    assert final - first > 9
    assert abs(ours / theirs - 1) < 0.015, (ours, theirs)
    loads = sorted(max(busy) for _, _, _, busy in seen if busy)
    assert loads[len(loads) // 2] > 20, "the core iperf3 loads is seen"
