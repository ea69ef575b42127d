"""A shaper at this host's end of a pod's veth pair: seen by `nettop why` on the host."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from staged import Stage
from staged_case import FAR
from staged_programs import READ, WRITE

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare (util-linux)"),
]
# The router is a host of its own: process 1 is in its network namespace, both ends are its pods.
HOST = """
import json, subprocess, sys, time
pods = json.loads(sys.argv[1])
def start(pod, words):
    return subprocess.Popen(["nsenter", f"--net=/run/netns/{pod}", *words], stdout=subprocess.PIPE)
reader = start(*pods[0])
assert reader.stdout.readline() == b"ready\\n"
writer = start(*pods[1])
time.sleep(3)
sys.exit(subprocess.call([sys.executable, "-m", "nettop", "why", "--json", "--seconds", "3"]))
"""


SHAPER = "root tbf rate 20mbit burst 32k limit 60000"
BRIDGED = (
    "ip link add br0 type bridge && ip link set br0 up",
    "for port in left right; do ip addr flush dev $port; ip link set $port master br0; done",
)
REDIRECTED = (
    "ip link add ifb0 type ifb && ip link set ifb0 up",
    "tc qdisc add dev left handle ffff: ingress",
    (
        "tc filter add dev left parent ffff: protocol all u32 match u32 0 0 "
        "action mirred egress redirect dev ifb0"
    ),
)


@pytest.mark.parametrize(
    ("made", "shaped"),
    [((), "right"), (BRIDGED, "right"), (REDIRECTED, "ifb0")],
    ids=["routed", "bridged", "redirected"],
)
def test_the_shaper_limits_both_ends_of_the_flow(made: tuple[str, ...], shaped: str) -> None:
    with Stage("outside") as stage:
        stage.chain()
        for command in made:
            stage.run(stage.middle, command)
        if made is BRIDGED:
            stage.run(stage.here, "ip addr add 10.97.0.3/24 dev left")
        stage.tc(f"qdisc add dev {shaped} {SHAPER}", stage.middle)
        pods = [
            (stage.there, (sys.executable, "-c", READ, "7300")),
            (stage.here, (sys.executable, "-c", WRITE, FAR, "7300")),
        ]
        done = subprocess.run(
            stage.inside(stage.middle, "unshare", "--pid", "--fork", "--mount-proc",
                         "--kill-child", sys.executable, "-c", HOST, json.dumps(pods)),
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = {
            one["direction"]: one for one in json.loads(done.stdout)["limits"]
            if one["over"] == "flow"
        }  # fmt: skip
        for one in found.values():
            assert one["namespace"], one
            limit = one["limit"]
            assert (limit["stage"], limit["end"]) == ("qdisc", "here"), one
            assert limit["name"].endswith(f"of {shaped}"), limit
        assert set(found) == {"rx", "tx"}
