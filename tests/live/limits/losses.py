"""Losses of one flow, each made at a known place, with the kernel's own count of what was lost.

`place` is END STAGE for the writer's side; `lost` reads the count. A case without offloads has one
segment in each packet, so that packets are segments.
"""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from live.limits.case import FAR, Case
from live.limits.stage import SLOW, Stage
from live.limits.table import CASES
from live.programs.run import RUN

OFFLOADS: Final = "tso off gso off gro off"


@dataclass(frozen=True, slots=True)
class Names:
    """The namespaces of a stage and the file of the link's count: what a count is read from."""

    here: str
    there: str
    middle: str
    link: str


Count = Callable[[Names], float]


def names(stage: Stage) -> Names:
    """Those of a stage."""
    return Names(stage.here, stage.there, stage.middle, str(stage.lost))


def _json(*words: str) -> list[dict[str, object]]:
    done = subprocess.run(words, check=True, capture_output=True)
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def _queue(space: str, device: str) -> float:
    found = _json("tc", "-n", space, "-s", "-j", "qdisc", "show", "dev", device)
    return float(max(int(str(one.get("drops", 0))) for one in found))


def _device(space: str, device: str, way: str, name: str) -> float:
    (found,) = _json("ip", "-n", space, "-s", "-s", "-j", "link", "show", "dev", device)
    return float(found["stats64"][way][name])  # type: ignore[index]


def of_queue(names: Names) -> float:
    return _queue(names.here, "eth0")


def of_ring(names: Names) -> float:
    return _device(names.here, "tun0", "tx", "dropped")


def of_link(names: Names) -> float:
    return float(struct.unpack("Q", Path(names.link).read_bytes())[0])


def of_router(names: Names) -> float:
    """What arrived at the router and did not leave it, by one reading of both interfaces."""
    found: dict[str, Any] = {
        str(one["ifname"]): one["stats64"]
        for one in _json("ip", "-n", names.middle, "-s", "-j", "link", "show")
    }
    return float(found["left"]["rx"]["packets"] - found["right"]["tx"]["packets"])


def of_router_queue(names: Names) -> float:
    return _queue(names.middle, "right")


def of_filters(names: Names) -> float:
    """What filters of the receiver dropped as it arrived (`tc qdisc … ingress`)."""
    return _queue(names.there, "eth0")


def of_backlog(names: Names) -> float:
    """Packets of all namespaces: the counters belong to the CPUs (net/core/net-procfs.c)."""
    rows = Path("/proc/net/softnet_stat").read_text().splitlines()
    return float(sum(int(row.split()[1], 16) for row in rows))


def _proc(space: str, name: str) -> str:
    words = ("nsenter", f"--net=/run/netns/{space}", "cat", f"/proc/net/{name}")
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def of_socket(names: Names) -> float:
    """Segments that arrived in the receiver's namespace and found no memory at the socket."""
    head, values = (row.split() for row in _proc(names.there, "netstat").splitlines()[:2])
    known = dict(zip(head, values, strict=True))
    return float(sum(int(known.get(name, 0)) for name in _NO_ROOM))


@dataclass(frozen=True, slots=True)
class Loss:
    """A case, the place of its losses, and their count.

    `ring`: the receiver's ring counts them. Not `exact`: packets of several segments, or
    of other flows as well.
    """

    case: Case
    place: str
    lost: Count
    ring: bool = False
    exact: bool = True
    quiet: bool = False  # only while nothing else needs the CPUs

    def where(self, *, sending: bool) -> tuple[str, str]:
        """Host and stage, seen from the host that sends or from the other."""
        end, _, stage = self.place.partition(" ")
        turned = {"here": "there", "there": "here"}
        return (end if sending else turned.get(end, end)), stage


def _nft(*words: str) -> str:
    return f"{sys.executable} {RUN} {' '.join(words)}"


def _single(here: str, there: str) -> tuple[str, ...]:
    """One segment a packet, also before a queue: TCP builds larger packets without GSO as well."""
    return (
        f"here: ip link set {here} gso_max_segs 1",
        f"here: ethtool -K {here} {OFFLOADS}",
        f"there: ethtool -K {there} {OFFLOADS}",
    )


_ALONE: Final = _single("eth0", "eth0")
# one of a hundred packets, at random: ld rand; jge 42949672, keep, drop (Documentation/networking/
# filter.rst); the program returns TC_ACT_UNSPEC or TC_ACT_SHOT
_FILTER: Final = (
    "there: tc qdisc add dev eth0 ingress; tc filter add dev eth0 parent ffff: protocol all bpf da "
    "bytecode '4,32 0 0 4294963256,53 0 1 42949672,6 0 0 4294967295,6 0 0 2'"
)
_ROUTED: Final = _single("left", "right")
_FLOOD: Final = ("7301", "datagrams=1", "size=100", "flows=12", "times=300", "sleep=0.1")
_NO_ROOM: Final = ("TCPRcvQDrop", "TCPOFODrop", "TCPZeroWindowDrop", "BeyondWindow")
_ROOT: Final = "here: qdisc add dev eth0 root handle 1: tbf rate"


def _link(name: str, options: str, ring: int = 0, **more: str) -> Case:
    run = (f"here: ip link set tun0 txqueuelen {ring}",) if ring else ()
    return Case(name, to=SLOW, link=options, run=run, **more)  # type: ignore[arg-type]


def _eth(name: str, *tc: str, writer: str = "") -> Case:
    return Case(name, run=_ALONE, tc=tc, writer=writer)


def _backlog(name: str, writer: str) -> Case:
    """One CPU takes all packets, which pass a long list of rules; datagrams come in bursts."""
    to_one_cpu = "there: echo 2 > /sys/class/net/eth0/queues/rx-0/rps_cpus"
    return Case(name, run=(*_ALONE, f"there: {_nft('slow', '3000')}", to_one_cpu), writer=writer,
                more=lambda stage: stage.flood(*_FLOOD))  # fmt: skip


def _chain(name: str, *tc: str, run: tuple[str, ...] = ()) -> Case:
    return Case(name, to=FAR, run=(*_ROUTED, *run), tc=tc)


LOSSES: Final = {loss.case.name: loss for loss in (
    Loss(_eth("own-tbf", f"{_ROOT} 50mbit burst 32k limit 3100"), "here qdisc", of_queue),
    Loss(_eth("own-pfifo", f"{_ROOT} 50mbit burst 32k limit 30000",
              "here: qdisc add dev eth0 parent 1:1 handle 10: pfifo limit 1"),
         "here qdisc", of_queue),
    Loss(_eth("own-htb", "here: qdisc add dev eth0 root handle 1: htb default 10",
              "here: class add dev eth0 parent 1: classid 1:10 htb rate 30mbit",
              "here: qdisc add dev eth0 parent 1:10 pfifo limit 1"), "here qdisc", of_queue),
    Loss(Case("own-tbf-large", tc=(f"{_ROOT} 50mbit burst 32k limit 30000",)), "here qdisc",
         of_queue, exact=False),
    Loss(_link("own-ring-20", "0.005", 20), "here tx-ring", of_ring),
    Loss(_link("own-ring-100", "0.02", 100), "here tx-ring", of_ring),
    Loss(_link("own-ring-reno", "0.01", 40, writer="congestion=reno"), "here tx-ring", of_ring),
    Loss(CASES["police-20mbit"], "between path", of_link),
    Loss(CASES["police-5mbit"], "between path", of_link),
    Loss(CASES["loss-30"], "between path", of_link),
    Loss(CASES["loss-100-0.02"], "between path", of_link),
    Loss(_chain("router-queue", "middle: qdisc add dev right root tbf rate 50mbit burst 32k "
                "limit 20000"), "between path", of_router_queue),
    Loss(_chain("router-polices", run=(f"middle: {_nft('police', '4000000')}",)),
         "between path", of_router),
    Loss(_link("far-ring-30", "0.005 lose=30"), "there ring", of_link, ring=True),
    Loss(_link("far-ring-200", "0.01 lose=200"), "there ring", of_link, ring=True),
    Loss(_link("far-ring-bursts", "0.005 police=2500000"), "there ring", of_link, ring=True),
    Loss(_backlog("far-backlog", "pace=2500000"), "there backlog", of_backlog,
         exact=False, quiet=True),
    Loss(_backlog("far-backlog-reno", "congestion=reno pace=1000000"), "there backlog", of_backlog,
         exact=False, quiet=True),
    Loss(Case("far-socket", run=_ALONE,
              reader="rcvbuf=1048576 shrink=4096 sleep=0.02 size=2000000"),
         "there rcvbuf", of_socket),
    Loss(Case("far-socket-slow", to=SLOW, link="0.002",
              reader="rcvbuf=1048576 shrink=4096 sleep=0.1 size=1000000"),
         "there rcvbuf", of_socket),
    Loss(Case("far-filter", run=(*_ALONE, _FILTER), writer="pace=6000000"), "there qdisc",
         of_filters),
    Loss(Case("far-filter-reno", run=(*_ALONE, _FILTER), writer="pace=2000000 congestion=reno"),
         "there qdisc", of_filters),
)}  # fmt: skip
