"""Every test tool between two network namespaces of a real kernel, by command; short transfers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
import veth
from warm import shared

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
HERE, THERE = veth.spaces("tr")
ADDRESS = veth.FAR


@pytest.fixture(scope="module")
def pair() -> Iterator[None]:
    with veth.pair("tr"):
        yield


def nettop(*words: str, code: int = 0) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        state = {**os.environ, "XDG_STATE_HOME": folder, "NETTOP_STATE": folder}
        done = shared().run((*words, "--json"), state, netns=HERE)
    errors = done.stderr.decode()
    assert done.returncode == code, errors
    assert "Traceback" not in errors
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"said": errors}
    return found


def trial(tool: str, *words: str, code: int = 0) -> dict[str, Any]:
    peer = f"ip netns exec {THERE}"
    common = ["--to", ADDRESS, "--peer", peer, "--seconds", "1", "--warmup", "0", "--no-keep"]
    return nettop("test", tool, *common, *words, code=code)


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def far_processes() -> list[str]:
    """What still runs in the far namespace."""
    done = subprocess.run(
        ["ip", "netns", "pids", THERE], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def installed(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("direction", [[], ["--reverse"], ["--bidirectional"], ["--streams", "3"]])
@pytest.mark.parametrize("tool", ["bulk", "iperf3"])
def test_a_transfer_in_every_direction(tool: str, direction: list[str]) -> None:
    if tool != "bulk":
        installed(tool)
    # paced, because a second of one end is not quite that of the other
    found = trial(tool, "--rate", "200M", *direction)
    assert found["schema"] == 1
    assert found["tool"] == tool
    assert found["bits_per_second"] > 1e6
    assert found["intervals"]
    assert found["cores"]["here"]
    assert found["cores"]["there"]
    assert found["hosts"]["there"] == {"host": os.uname().nodename, "kernel": os.uname().release}
    assert found["interfaces"]["here"]["eth0"]["counts"] == "super-packets"
    assert found["settings"]["sysctl.net.ipv4.tcp_rmem"].count(" ") == 2
    assert found["settings"]["link.mtu@eth0"] == "1500"
    assert found["settings"]["feature.rx-gro@eth0"] in ("on", "off")
    agree = {check["name"]: check["ok"] for check in found["checks"]}
    assert agree["possible"]
    if direction != ["--bidirectional"]:  # a second is short: what is under way at its end counts
        receiver = found["interfaces"]["here" if "--reverse" in direction else "there"]["eth0"]
        assert 8 * receiver["rx_payload_bytes"] == pytest.approx(found["bits_per_second"], rel=0.15)
        assert "counters" in agree
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_datagrams_are_counted() -> None:
    installed("iperf3")
    found = trial("iperf3", "--udp", "--rate", "20M", "--length", "1000")
    assert found["loss"]["sent"] > 1000
    assert found["bits_per_second"] == pytest.approx(20e6, rel=0.2)


@pytest.mark.usefixtures("pair")
def test_an_address_that_the_far_end_has_not_is_one_sentence() -> None:
    peer = f"ip netns exec {THERE}"
    found = nettop("test", "bulk", "--to", ADDRESS, "--peer", f"ip netns exec {HERE}",
                   "--seconds", "1", "--no-keep", code=3)  # fmt: skip
    assert f"{ADDRESS} is not an address of this end (at ip netns exec" in found["said"]
    found = nettop("test", "bulk", "--to", ADDRESS, "--peer", peer, "--cpu-there", "999",
                   "--seconds", "1", "--no-keep", code=3)  # fmt: skip
    assert "cannot run on CPU 999" in found["said"]
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_a_killed_nettop_leaves_nothing_at_the_far_end() -> None:
    argv = ["ip", "netns", "exec", HERE, sys.executable, "-m", "nettop", "test", "bulk",
            "--to", ADDRESS, "--peer", f"ip netns exec {THERE}", "--seconds", "60"]  # fmt: skip
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        wait(lambda: len(far_processes()) >= 2)
        running.kill()
    wait(lambda: far_processes() == [])


def wait(done: Any) -> None:
    import time

    for _ in range(500):
        if done():
            return
        time.sleep(0.02)
    raise AssertionError(far_processes())


@pytest.mark.usefixtures("pair")
def test_requests_are_answered_and_timed() -> None:
    found = trial("udp-latency", "--sizes", "64,1024")
    times = found["latency"]
    assert 0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"]
    assert times["count"] > 100
    assert [row["size"] for row in found["details"]["sizes"]] == [64, 1024]
    assert all(row["kernel_p50"] > 0 for row in found["details"]["sizes"])
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_paced_datagrams_arrive_at_their_spacing() -> None:
    found = trial("udp-sweep", "--sizes", "200,1400", "--spacings", "50,200", "--count", "500")
    rows = found["details"]["points"]
    assert [row["spacing_us"] for row in rows] == [50, 200, 50, 200]
    assert all(row["sent"] == 500 for row in rows)
    assert found["loss"]["sent"] == 2000
    assert found["loss"]["received"] >= 1900


@pytest.mark.usefixtures("pair")
def test_a_capture_counts_what_was_sent() -> None:
    found = trial("capture", "--sizes", "18,1000", "--rate", "4M")
    assert found["details"]["interface"] == "eth0"
    for row in found["details"]["points"]:
        assert row["sent"] > 100
        assert row["captured"] + row["dropped"] == row["sent"]
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("tool", ["bulk", "iperf3", "udp-latency", "capture"])
def test_tools_speak_ipv6(tool: str) -> None:
    if tool == "iperf3":
        installed(tool)
    more = ["--sizes", "100", "--rate", "4M"] if tool == "capture" else []
    found = trial(tool, "--to", veth.FAR6, *more)
    assert found["to"] == veth.FAR6
    assert found.get("bits_per_second") or found["latency"]["count"] > 100
    if tool == "capture":
        row = found["details"]["points"][0]
        assert 100 < row["sent"] == row["captured"] + row["dropped"]
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_nuttcp_tells_each_second() -> None:
    installed("nuttcp")
    found = trial("nuttcp", "--seconds", "2")
    assert found["version"].startswith("nuttcp")
    assert len(found["intervals"]) >= 1
    assert found["bits_per_second"] > 1e6
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("ring", [[], ["--window", "256K"]])
@pytest.mark.parametrize(
    ("tool", "program"),
    [("capture", "python3"), ("netsniff", "netsniff-ng"), ("tcpdump", "tcpdump")],
)
def test_every_capture_counts_what_was_sent(tool: str, program: str, ring: list[str]) -> None:
    installed(program)
    found = trial(tool, "--sizes", "200", "--rate", "4M", *ring)
    row = found["details"]["points"][0]
    assert row["sent"] > 100
    assert row["captured"] + row["dropped"] == row["sent"]
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("words", [[], ["--reverse"], ["--streams", "2"]])
def test_iperf_2_tells_what_arrived(words: list[str]) -> None:
    installed("iperf")
    found = trial("iperf", "--seconds", "2", "--rate", "200M", *words)
    assert found["version"].startswith("2.")
    # what waits in the sockets when time is up gets an interval of its own
    seconds = [one["seconds"] for one in found["intervals"]]
    assert seconds[:2] == pytest.approx([1, 1], abs=0.1)
    bits = sum(one["seconds"] * one["bits_per_second"] for one in found["intervals"])
    assert 0.5 < bits / 400e6 < 1.1
    assert found["bits_per_second"] == pytest.approx(bits / sum(seconds), rel=0.1)
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_iperf_2_counts_datagrams() -> None:
    installed("iperf")
    for words in ([], ["--reverse"]):
        found = trial("iperf", "--udp", "--rate", "20M", "--length", "1000", *words)
        assert found["loss"]["sent"] > 1000
        assert found["bits_per_second"] == pytest.approx(20e6, rel=0.2)


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("words", [[], ["--udp"], ["--length", "1000"]])
def test_sockperf_gives_its_percentiles(words: list[str]) -> None:
    installed("sockperf")
    found = trial("sockperf", *words)
    times = found["latency"]
    assert 0 < times["min"] <= times["p50"] <= times["p99"] <= times["p999"] <= times["max"]
    assert times["count"] > 100
    assert found["version"]
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_what_sockperf_cannot_is_one_sentence() -> None:
    installed("sockperf")
    assert "Invalid address" in trial("sockperf", "--to", veth.FAR6, code=3)["said"]


@pytest.mark.usefixtures("pair")
def test_a_running_transfer_is_watched() -> None:
    installed("iperf3")
    far = ["ip", "netns", "exec", THERE, "iperf3", "-s", "-1"]
    near = ["ip", "netns", "exec", HERE, "iperf3", "-c", ADDRESS, "-t", "8", "-b", "100M"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(far, **quiet) as server:  # type: ignore[call-overload]
        try:
            wait(lambda: "5201" in run("ip", "netns", "exec", THERE, "ss", "-Hltn"))
            with subprocess.Popen(near, **quiet) as client:  # type: ignore[call-overload]
                established = ["ip", "netns", "exec", HERE, "ss", "-Htn", "dst", ADDRESS]
                wait(lambda: len(run(*established).splitlines()) == 2)
                found = trial("flow", "--seconds", "2")
                client.kill()
        finally:
            server.kill()
    assert found["details"]["connections"] == 2  # iperf3 has one to agree on the test
    assert found["bits_per_second"] == pytest.approx(100e6, rel=0.2)
    last = found["details"]["points"][-1]
    assert last["limited_by"] == "the program"
    assert last["rtt_us"] > 0
    assert last["sent_bits"] == last["bits"]
    assert f"no TCP connection to {ADDRESS}" in trial("flow", code=3)["said"]


@pytest.mark.usefixtures("pair")
def test_a_neighbour_walks_through_memory_on_its_core() -> None:
    found = trial("bulk", "--rate", "50M", "--seconds", "2", "--neighbour", "0")
    (core,) = [core for core in found["cores"]["here"] if core["cpu"] == 0]
    assert core["idle"] < 20
    assert found["options"]["neighbour"] == 0
    assert far_processes() == []
    walking = run("ps", "-eo", "args").count("nettop.trials.far.neighbour")
    assert walking == 0
    assert "cannot run on CPU 999" in trial("bulk", "--neighbour", "999", code=3)["said"]


@pytest.mark.usefixtures("pair")
def test_an_absent_tool_names_its_package() -> None:
    packages = {"netperf": "netperf", "ib-send-bw": "perftest", "sockperf": "sockperf"}
    programs = {"netperf": "netserver", "ib-send-bw": "ib_send_bw", "sockperf": "sockperf"}
    absent = [tool for tool, program in programs.items() if shutil.which(program) is None]
    if not absent:
        pytest.skip("every tool is installed")
    found = trial(absent[0], code=3)
    assert f"{programs[absent[0]]} is not installed" in found["said"]
    assert f"install the package {packages[absent[0]]}" in found["said"]
    assert far_processes() == []


@pytest.mark.usefixtures("pair")
def test_a_study_runs_what_this_pair_allows() -> None:
    found = nettop("study", "run", "cern-2", "--to", ADDRESS, "--peer", f"ip netns exec {THERE}",
                   "--seconds", "0.5", "--warmup", "0", "--only", "1 stream")  # fmt: skip
    rows = {row["point"]: row for row in found["rows"]}
    assert rows["none, MTU 1500, 1 stream"]["measured"] > 1
    assert rows["none, MTU 1500, 1 stream"]["published"] == 170
    assert "needs MTU 9000" in rows["none, MTU 9000, 1 stream"]["skipped"]
    # its settings are harmful now: they are set in this namespace, which nobody else uses
    assert rows["kernel, MTU 1500, 1 stream"]["measured"] > 1
    assert found["conditions"]["here"]["interface"] == "eth0"
    assert far_processes() == []
