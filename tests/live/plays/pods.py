"""Flows of other network namespaces, seen from the host: shapers at its end and inside."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from live.limits.case import FAR
from live.limits.programs import READ, WRITE
from live.limits.stage import Stage
from live.play import RIGHT, SILENT, WRONG, Outcome, Play, Truth, answer, text, worst

# The router is a host of its own: process 1 is in its network namespace, both ends are its pods.
_HOST: Final = """
import json, subprocess, sys, time
pods = json.loads(sys.argv[1])
def start(pod, words):
    return subprocess.Popen(["nsenter", f"--net=/run/netns/{pod}", *words], stdout=subprocess.PIPE)
reader = start(*pods[0])
assert reader.stdout.readline() == b"ready\\n"
writer = start(*pods[1])
time.sleep(3)
sys.exit(subprocess.call([sys.executable, "-m", "nettop", "record", sys.argv[2], "--seconds", "4",
                          "--keep-addresses", "--comment", "A router and its pods."]))
"""
_SHAPER: Final = "root tbf rate 20mbit burst 32k limit 60000"


@dataclass(frozen=True, slots=True)
class Pods:
    """`run` at the router, then `tc`, END: words; `named` is in the name of the limit.

    `rates` bounds the capacity of a shaper, bit/s.
    """

    name: str
    run: tuple[str, ...] = ()
    tc: tuple[str, ...] = ()
    writer: str = ""
    stage: str = "qdisc"
    shown: str = "shaper"  # on the screen
    named: str = ""
    ends: tuple[str, ...] = ("rx", "tx")
    joins: bool = False


CASES: Final = (
    Pods("pods-routed", tc=(f"middle: qdisc add dev right {_SHAPER}",), named="of right"),
    Pods("pods-bridged", (
        "ip link add br0 type bridge && ip link set br0 up",
        "for port in left right; do ip addr flush dev $port; ip link set $port master br0; done"),
        tc=(f"middle: qdisc add dev right {_SHAPER}",), named="of right", joins=True),
    Pods("pods-redirected", (
        "ip link add ifb0 type ifb && ip link set ifb0 up",
        "tc qdisc add dev left handle ffff: ingress",
        ("tc filter add dev left parent ffff: protocol all u32 match u32 0 0 "
         "action mirred egress redirect dev ifb0")),
        tc=(f"middle: qdisc add dev ifb0 {_SHAPER}",), named="of ifb0"),
    Pods("pods-paced", writer="pace=6250000", stage="pacing", shown="pacing", ends=("tx",)),
    Pods("pods-tbf-inside", ends=("tx",), named="tbf 7: of left",
         tc=("here: qdisc add dev left root handle 7: tbf rate 30mbit burst 64k latency 50ms",)),
    Pods("pods-htb-inside", ends=("tx",), named="htb class 1:10 of left",
         tc=("here: qdisc add dev left root handle 1: htb default 10",
             "here: class add dev left parent 1: classid 1:10 htb rate 30mbit")),
)  # fmt: skip


def stage(pods: Pods, folder: Path) -> Truth:
    """Make the router, its pods and their flow, and record the router."""
    with Stage("pods") as made:
        made.chain()
        for command in pods.run:
            made.run(made.middle, command)
        if pods.joins:
            made.run(made.here, "ip addr add 10.97.0.3/24 dev left")
        spaces = {"here": made.here, "middle": made.middle}
        for words in pods.tc:
            end, _, rest = words.partition(": ")
            made.tc(rest, spaces[end])
        both = [
            (made.there, (sys.executable, "-c", READ, "7300")),
            (made.here, (sys.executable, "-c", WRITE, FAR, "7300", *pods.writer.split())),
        ]
        subprocess.run(
            made.inside(made.middle, "unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
                        sys.executable, "-c", _HOST, json.dumps(both),
                        str(folder / f"{pods.name}.host.gz")),
            check=True, capture_output=True,
        )  # fmt: skip
    return {}


def judge(pods: Pods, folder: Path, truth: Truth) -> Outcome:
    """The limit of the flow at each end, its namespace, and the row of the screen."""
    path = str(folder / f"{pods.name}.host.gz")
    found = {
        one["direction"]: one
        for one in answer("why", "--replay", path)["limits"] if one["over"] == "flow"
    }  # fmt: skip
    shown = text("show", "flows", "--replay", path, "--width", "200")

    def outcomes() -> Iterator[Outcome]:
        for end in pods.ends:
            if end not in found:
                yield Outcome(SILENT, f"{end}: no limit")
                continue
            flow, limit = found[end], found[end]["limit"]
            good = (
                bool(flow["namespace"])
                and (limit["stage"], limit["end"]) == (pods.stage, "here")
                and pods.named in limit["name"]
                and pods.shown in shown
                and f"@{flow['namespace']}"[:6] in shown
            )
            yield Outcome(RIGHT if good else WRONG, f"{end}: {limit['stage']} {limit['name']}")

    return worst(outcomes())


PLAYS: Final = tuple(
    Play(one.name, partial(stage, one), partial(judge, one), (f"{one.name}.host.gz",), quick=True)
    for one in CASES
)
