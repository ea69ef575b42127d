"""Every test tool between two network namespaces of a real kernel, by command; short transfers.

It starts, counts and ends; what rate it measures is for tests/live.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import veth
from changes_netns import run
from hang import until
from trial_ends import Ends, ends, installed

pytestmark = pytest.mark.netns


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    with ends("tr") as both:
        yield both


@pytest.mark.parametrize("direction", [[], ["--reverse"], ["--bidirectional"], ["--streams", "3"]])
@pytest.mark.parametrize("tool", ["bulk", "iperf3"])
def test_a_transfer_in_every_direction(pair: Ends, tool: str, direction: list[str]) -> None:
    installed(tool)
    found = pair.trial(tool, "--rate", "20M", *direction)
    assert (found["schema"], found["tool"]) == (1, tool)
    assert found["bits_per_second"] > 0
    assert found["intervals"]
    assert found["cores"]["here"]
    assert found["cores"]["there"]
    assert found["hosts"]["there"] == {"host": os.uname().nodename, "kernel": os.uname().release}
    assert found["interfaces"]["here"]["eth0"]["counts"] == "super-packets"
    assert found["settings"]["sysctl.net.ipv4.tcp_rmem"].count(" ") == 2
    assert found["settings"]["link.mtu@eth0"] == "1500"
    assert found["settings"]["feature.rx-gro@eth0"] in ("on", "off")
    checks = {check["name"]: check["ok"] for check in found["checks"]}
    assert checks["possible"]
    assert direction == ["--bidirectional"] or "counters" in checks


def test_datagrams_are_counted(pair: Ends) -> None:
    installed("iperf3")
    found = pair.trial("iperf3", "--udp", "--rate", "20M", "--length", "1000")
    assert found["loss"]["sent"] > 0
    assert found["bits_per_second"] > 0


def test_an_address_that_the_far_end_has_not_is_one_sentence(pair: Ends) -> None:
    said = pair.trial("bulk", "--peer", f"ip netns exec {pair.here}", code=3)["said"]
    assert f"{veth.FAR} is not an address of this end (at ip netns exec" in said
    assert "cannot run on CPU 999" in pair.trial("bulk", "--cpu-there", "999", code=3)["said"]


def test_a_killed_nettop_leaves_nothing_at_the_far_end(pair: Ends) -> None:
    argv = [*pair.pair.near, sys.executable, "-m", "nettop", "test", "bulk", "--to", veth.FAR,
            *pair.peer, "--seconds", "600", "--rate", "10M"]  # fmt: skip
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        until(lambda: len(pair.left()) >= 2)
        running.kill()
    pair.nothing_left()


def test_requests_are_answered_and_timed(pair: Ends) -> None:
    found = pair.trial("udp-latency", "--sizes", "64,1024")
    times = found["latency"]
    assert 0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"]
    assert times["count"] > 0
    assert [row["size"] for row in found["details"]["sizes"]] == [64, 1024]
    assert all(row["kernel_p50"] > 0 for row in found["details"]["sizes"])


def test_paced_datagrams_arrive_at_their_spacing(pair: Ends) -> None:
    found = pair.trial("udp-sweep", "--sizes", "200,1400", "--spacings", "50,200", "--count", "500")
    rows = found["details"]["points"]
    assert [row["spacing_us"] for row in rows] == [50, 200, 50, 200]
    assert all(row["sent"] == 500 for row in rows)
    assert found["loss"]["sent"] == 2000
    assert 0 < found["loss"]["received"] <= 2000


def test_the_highest_rate_without_loss_has_a_burst_and_times(pair: Ends) -> None:
    found = pair.trial("rfc2544", "--sizes", "200", "--seconds", "2")
    (row,) = found["details"]["points"]
    assert (row["size"], row["frame"]) == (200, 246)
    assert 0 <= row["burst"] <= 10_000
    assert row["limit"] in ("sender", "path")
    assert found["loss"]["sent"] >= found["loss"]["received"] > 0


def test_trafgen_sends_so_many_frames(pair: Ends) -> None:
    installed("trafgen")
    found = pair.trial("trafgen", "--count", "1000", "--rate", "4M")
    assert (found["details"]["packets"], found["details"]["size"]) == (1000, 60)
    assert found["bits_per_second"] > 0


def test_a_capture_counts_what_was_sent(pair: Ends) -> None:
    found = pair.trial("capture", "--sizes", "18,1000", "--rate", "4M")
    assert found["details"]["interface"] == "eth0"
    for row in found["details"]["points"]:
        assert row["sent"] > 0
        assert row["captured"] + row["dropped"] == row["sent"]


@pytest.mark.parametrize("tool", ["bulk", "iperf3", "udp-latency", "capture"])
def test_tools_speak_ipv6(pair: Ends, tool: str) -> None:
    installed(tool)
    more = ["--sizes", "100", "--rate", "4M"] if tool == "capture" else []
    found = pair.trial(tool, "--to", veth.FAR6, *more)
    assert found["to"] == veth.FAR6
    assert found.get("bits_per_second") or found["latency"]["count"]
    if tool == "capture":
        row = found["details"]["points"][0]
        assert 0 < row["sent"] == row["captured"] + row["dropped"]


def test_nuttcp_tells_each_second(pair: Ends) -> None:
    installed("nuttcp")
    found = pair.trial("nuttcp", "--seconds", "2")
    assert found["version"].startswith("nuttcp")
    assert len(found["intervals"]) >= 1
    assert found["bits_per_second"] > 0


@pytest.mark.parametrize("ring", [[], ["--window", "256K"]])
@pytest.mark.parametrize("tool", ["capture", "netsniff", "tcpdump"])
def test_every_capture_counts_what_was_sent(pair: Ends, tool: str, ring: list[str]) -> None:
    installed(tool)
    found = pair.trial(tool, "--sizes", "200", "--rate", "4M", *ring)
    row = found["details"]["points"][0]
    assert row["sent"] > 0
    assert row["captured"] + row["dropped"] == row["sent"]


@pytest.mark.parametrize("words", [[], ["--reverse"], ["--streams", "2"]])
def test_iperf_2_tells_what_arrived(pair: Ends, words: list[str]) -> None:
    installed("iperf")
    found = pair.trial("iperf", "--seconds", "2", "--rate", "20M", *words)
    assert found["version"].startswith("2.")
    assert found["intervals"]
    assert found["bits_per_second"] > 0


def test_iperf_2_counts_datagrams(pair: Ends) -> None:
    installed("iperf")
    for words in ([], ["--reverse"]):
        found = pair.trial("iperf", "--udp", "--rate", "20M", "--length", "1000", *words)
        assert found["loss"]["sent"] > 00
        assert found["bits_per_second"] > 0


@pytest.mark.parametrize("words", [[], ["--udp"], ["--length", "1000"]])
def test_sockperf_gives_its_percentiles(pair: Ends, words: list[str]) -> None:
    installed("sockperf")
    found = pair.trial("sockperf", *words)
    times = found["latency"]
    assert 0 < times["min"] <= times["p50"] <= times["p99"] <= times["p999"] <= times["max"]
    assert times["count"] > 0
    assert found["version"]


def test_what_sockperf_cannot_is_one_sentence(pair: Ends) -> None:
    installed("sockperf")
    assert "Invalid address" in pair.trial("sockperf", "--to", veth.FAR6, code=3)["said"]


def test_a_running_transfer_is_watched(pair: Ends) -> None:
    installed("iperf3")
    far = [*pair.pair.far, "iperf3", "-s", "-1"]
    near = [*pair.pair.near, "iperf3", "-c", veth.FAR, "-t", "600", "-b", "100M"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(far, **quiet) as server:  # type: ignore[call-overload]
        try:
            until(lambda: "5201" in run(*pair.pair.far, "ss", "-Hltn"))
            with subprocess.Popen(near, **quiet) as client:  # type: ignore[call-overload]
                established = [*pair.pair.near, "ss", "-Htn", "dst", veth.FAR]
                until(lambda: len(run(*established).splitlines()) == 2)
                found = pair.nettop("test", "flow", "--to", veth.FAR, "--seconds", "1", "--no-keep")
                client.kill()
        finally:
            server.kill()
    assert found["details"]["connections"] == 2  # iperf3 has one to agree on the test
    assert found["bits_per_second"] > 0
    last = found["details"]["points"][-1]
    assert last["rtt_us"] > 0
    assert last["sent_bits"] == last["bits"]
    said = pair.nettop("test", "flow", "--to", veth.FAR, "--seconds", "1", code=3)["said"]
    assert f"no TCP connection to {veth.FAR}" in said


def test_a_neighbour_walks_through_memory_on_its_core(pair: Ends) -> None:
    found = pair.trial("bulk", "--rate", "50M", "--neighbour", "0")
    assert found["options"]["neighbour"] == 0
    assert [core["cpu"] for core in found["cores"]["here"]].count(0) == 1
    assert run("ip", "netns", "pids", pair.here) == ""
    assert "cannot run on CPU 999" in pair.trial("bulk", "--neighbour", "999", code=3)["said"]


def test_an_absent_tool_names_its_package(pair: Ends) -> None:
    packages = {"netperf": "netperf", "ib-send-bw": "perftest", "sockperf": "sockperf"}
    programs = {"netperf": "netserver", "ib-send-bw": "ib_send_bw", "sockperf": "sockperf"}
    absent = [tool for tool, program in programs.items() if shutil.which(program) is None]
    if not absent:
        pytest.skip("every tool is installed")
    found = pair.trial(absent[0], code=3)
    assert f"{programs[absent[0]]} is not installed" in found["said"]
    assert f"install the package {packages[absent[0]]}" in found["said"]


def test_a_study_runs_what_this_pair_allows(pair: Ends) -> None:
    found = pair.nettop("study", "run", "cern-2", "--to", veth.FAR, *pair.peer, "--seconds", "0.2",
                        "--warmup", "0", "--only", "1 stream")  # fmt: skip
    rows = {row["point"]: row for row in found["rows"]}
    assert rows["none, MTU 1500, 1 stream"]["measured"] > 0
    assert rows["none, MTU 1500, 1 stream"]["published"] == 170
    assert "needs MTU 9000" in rows["none, MTU 9000, 1 stream"]["skipped"]
    # its settings are harmful now: they are set in this namespace, which nobody else uses
    assert rows["kernel, MTU 1500, 1 stream"]["measured"] > 0
    assert found["conditions"]["here"]["interface"] == "eth0"
