"""Run a study on this pair of hosts: published beside measured values."""

import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from statistics import median
from typing import Any, Final, cast

from ..changes.plan import plan
from ..host.source import Live
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from . import checks, results, tool
from . import run as runner
from .end import Cancelled, PeerError
from .lever import LeverError, Switch
from .report import middle, missed
from .result import Document, Options, Progress, TrialResult, given
from .run import TrialError, Watch, nobody
from .study import Point, Study

OVERHEAD: Final = 40  # bytes of the IPv4 and TCP headers of a packet


@dataclass(frozen=True, slots=True)
class Pair:
    """Properties of this pair of hosts that studies need."""

    nic: str
    mtu: int
    rtt_ms: float
    cpus_here: frozenset[int]
    cpus_there: frozenset[int]
    about: Mapping[str, object] = field(default_factory=dict)  # conditions to print
    interrupts: bool = True  # whether a device of its own interrupts a core for the NIC
    apart: bool = False  # whether nothing else uses this network namespace


def look(options: Options, cancel: threading.Event) -> Pair:
    """Measure round trip, interface, MTU and cores of the pair with a short latency trial."""
    common = {name: getattr(options, name) for name in runner.COMMON}
    probe = replace(Options(**common), seconds=0.2, warmup=0.0, sizes=(64,))
    result = runner.run("udp-latency", probe, cancel=cancel)
    nic = result.here.busiest() or "lo"
    here, there = result.here.interfaces.get(nic, {}), result.there
    far = there.interfaces.get(there.busiest() or "", {})
    rtt = result.measured.latency.p50 / 1000 if result.measured.latency else 0.0
    wire = here.get("counts") != "super-packets"  # virtual devices report a meaningless speed
    release = re.match(r"[\d.]*\d", result.here.kernel)  # the version without that of the build
    about = {
        "kernel": release[0] if release else None,
        "interface": nic,
        "driver": here.get("driver", "virtual"),
        "speed_mbit": here.get("speed") if wire else None,
        "mtu": here.get("mtu"),
        "rtt_ms": round(rtt, 3),
        "cores": [len(result.here.cores), len(result.there.cores)],
    }
    return Pair(
        nic, min(here.get("mtu", 1500), far.get("mtu", 65536)), rtt,
        frozenset(int(c["cpu"]) for c in result.here.cores),
        frozenset(int(c["cpu"]) for c in result.there.cores),
        {key: value for key, value in about.items() if value is not None}, "driver" in here,
        _apart(),
    )  # fmt: skip


def _apart(root: str = "/proc") -> bool:
    """Whether a change of this network namespace harms nobody.

    It is not the initial one, which alone has net.core.netdev_max_backlog
    (net/core/sysctl_net_core.c), and has no established connection (state 01 in /proc/net/tcp).
    """
    if os.path.exists(f"{root}/sys/net/core/netdev_max_backlog"):
        return False
    try:
        for table in ("tcp", "tcp6"):
            with open(f"{root}/thread-self/net/{table}", encoding="ascii") as lines:
                if any(line.split()[3] == "01" for line in lines):
                    return False
    except OSError:
        return False
    return True


def obstacle(point: Point, options: Options, pair: Pair) -> str:
    """Why this pair of hosts cannot run the point; empty if it can."""
    if point.skip:
        return point.skip
    if point.harmful and not pair.apart:
        return f"harmful now ({point.harmful}): needs an unused network namespace (--netns)"
    if point.interrupts and not pair.interrupts:
        return f"needs a NIC whose interrupts have a core; {pair.nic} is virtual"
    if point.mtu and point.mtu > pair.mtu:
        return f"needs MTU {point.mtu} at both ends; it is {pair.mtu}"
    if point.rtt_ms and not checks.reached(point.rtt_ms, pair.rtt_ms, checks.TRIP):
        return f"needs a path of {point.rtt_ms:g} ms; this one has {pair.rtt_ms:.2f} ms"
    for wanted, cpus, where in (
        (options.cpu_here, pair.cpus_here, "here"),
        (options.cpu_there, pair.cpus_there, "there"),
        (() if options.neighbour is None else (options.neighbour,), pair.cpus_here, "here"),
    ):
        absent = [cpu for cpu in wanted if cpu not in cpus]
        if absent:
            return f"there is no CPU {absent[0]} {where}"
    if max(options.sizes, default=0) + 28 > pair.mtu:
        return f"frames of {max(options.sizes) + 46} bytes need a larger MTU than {pair.mtu}"
    return ""


def options_of(study: Study, point: Point, base: Options, most: float) -> Options:
    """The options of the trial of a point: those of the study, then those of the point.

    `most` limits the seconds, `base.count` the number of packets.
    """
    requested = {**study.options, **point.options}
    if point.mtu and not requested.get("udp") and "mss" in tool(study.tool).TAKES.split():
        requested["mss"] = point.mtu - OVERHEAD
    options = replace(base, **cast("dict[str, Any]", requested))  # `parse` checked the names
    if base.count is not None and options.count is not None:
        options = replace(options, count=min(options.count, base.count))
    return replace(options, seconds=min(options.seconds, most))


def run(
    study: Study,
    base: Options,
    *,
    most: float = 10.0,
    only: str = "",
    repeats: int = 1,
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
) -> Document:
    """Run every point that this pair allows and whose name contains `only`.

    A trial lasts at most `most` seconds. All points run `repeats` times in turn, so that a drift of
    the hosts meets all of them; the result of a point is its median. A cancelled study has what was
    measured so far; settings are restored. PeerError, TrialError, ValueError, Cancelled: the pair
    could not be examined.
    """
    cancel = cancel or threading.Event()
    pair = look(base, cancel)
    begun = time.time()
    points = [point for point in study.points if only in (point.of or point.name)]
    options = {point.name: options_of(study, point, base, most) for point in points}
    why = {point.name: obstacle(point, options[point.name], pair) for point in points}
    taken: dict[str, list[Document]] = {point.name: [] for point in points}
    trials: dict[str, TrialResult] = {}
    for number in range(repeats * len(points)):
        point = points[number % len(points)]
        if point.of and point.of not in trials:
            why[point.name] = why[point.of]
        if why[point.name]:
            continue
        if cancel.is_set():
            why[point.name] = "cancelled"
            continue
        watch(Progress("study", number, repeats * len(points), note=point.name))
        try:
            if not point.of:
                trials.pop(point.name, None)
                trial = _trial(study, point, options[point.name], pair, watch, cancel)
                trials[point.name] = trial
            measurement = figure(study, point, trials[point.of or point.name])
            taken[point.name].append(measurement | round_trip(point, pair.rtt_ms))
        except Cancelled:
            cancel.set()
            why[point.name] = "cancelled"
        except (TrialError, PeerError, LeverError, OSError, ValueError, LookupError) as error:
            why[point.name] = sentence(error)
    document: Document = {
        "study": study.id, "title": study.title, "paper": study.paper, "place": study.place,
        "tool": study.tool, "unit": study.unit, "at": begun, "to": base.to,
        "options": given(replace(base, seconds=most)), "repeats": repeats,
        "conditions": {
            "published": dict(study.conditions), "here": {**pair.about, "seconds_at_most": most},
        },
        "requires": list(study.requires), "notes": list(study.notes),
        "encodes": list(study.encodes),
        "rows": [_row(point, taken[point.name], why[point.name]) for point in points],
        "cancelled": cancel.is_set(),
    }  # fmt: skip
    results.keep("study", document)
    return document


def round_trip(point: Point, rtt_ms: float) -> Document:
    """The round trip that a point requests, and that of the path."""
    if not point.rtt_ms:
        return {}
    return {"condition": "round trip", "asked": point.rtt_ms, "offered": round(rtt_ms, 3)}


def spacing(path: str, points: Sequence[Mapping[str, Any]]) -> Document:
    """The spacing that was requested, and the achieved one, of the point of a sweep at this path.

    Nothing for a figure of several points.
    """
    found = re.match(r"details\.points\.(\d+)", path)
    if not found and len(points) != 1:
        return {}
    one = points[int(found[1]) if found else 0]
    return {"condition": "spacing", "asked": one["spacing_us"], "offered": one["offered_us"]}


def cell(point: Point) -> Document:
    """What the paper says of a point."""
    row: Document = {"point": point.name, "published": point.published}
    if point.unit:
        row["unit"] = point.unit
    if point.suspect:
        row["suspect"] = True
    if point.incomparable:
        row["incomparable"] = point.incomparable
    if point.against:
        row["against"] = point.against
    return row


def _row(point: Point, taken: Sequence[Document], why: str) -> Document:
    """The row of a point: the median of its runs, with each run if there are several."""
    row = cell(point)
    if point.settings:
        row["settings"] = dict(point.settings)
    if taken:
        samples = [one["measured"] for one in taken]
        row = {**row, **taken[-1], "measured": median(samples)}
        if len(samples) > 1:
            row["samples"] = samples
        faults = [fault for one in taken for fault in one.get("faults", ())]
        if faults:
            row["faults"] = list(dict.fromkeys(faults))
    else:
        row["skipped"] = why
    return row


def _trial(
    study: Study, point: Point, options: Options, pair: Pair, watch: Watch, cancel: threading.Event
) -> TrialResult:
    """The trial of one point; its settings are in force during the trial only."""
    wanted = [(name.replace("{nic}", pair.nic), value) for name, value in point.settings.items()]
    if not wanted:
        return runner.run(study.tool, options, watch, cancel)
    if reasons := [why for setting in wanted if (why := _unsettable(setting))]:
        raise LeverError("; ".join(dict.fromkeys(reasons)))
    with Switch([wanted], f"study {study.id}") as lever:
        lever.put(1)
        if cancel.wait(lever.pause):
            raise Cancelled
        return runner.run(study.tool, options, watch, cancel)


def _unsettable(wanted: tuple[str, str]) -> str:
    """Why this host cannot have this setting; empty if it can."""
    try:
        plan([wanted], Live())
    except (OSError, ValueError, LookupError) as error:
        return sentence(error)
    return ""


def _value(path: str, result: TrialResult) -> float:
    """The number at this path of the result; TrialError if there is none.

    `{nic}` is the interface of this host that moved the most.
    """
    value: object = result.document()
    for name in path.split("."):
        step = (result.here.busiest() or name) if name == "{nic}" else name
        try:
            value = (
                value[int(step)]
                if isinstance(value, list)
                else cast("Mapping[str, object]", value)[step]
            )
        except (KeyError, IndexError, ValueError, TypeError):
            raise TrialError(f"the result has no {path}") from None
    if not isinstance(value, int | float):
        raise TrialError(f"{path} is not a number")
    return value


def figure(study: Study, point: Point, result: TrialResult) -> Document:
    """The figure of the result in the published unit.

    TrialError if the result has none, or one that says nothing: a check of `checks.VOID` failed, or
    too few packets were sent for the published loss.
    """
    for check in result.faults:
        if check.name in checks.VOID:
            raise TrialError(f"void: {check.because}")
    path = point.figure or study.figure
    value = _value(path, result)
    loss, least = result.measured.loss, middle(point.published)
    if path == "loss.percent" and loss and least and loss.sent * least < 100:
        raise TrialError(f"void: {loss.sent:,} packets cannot show a loss of {least:g} %")
    measurement: Document = {
        "measured": value / (point.scale or study.scale),
        "seconds": result.options.seconds,
    }
    if result.measured.retransmits is not None:
        measurement["retransmits"] = result.measured.retransmits
    if result.options.rate is not None and result.measured.sent_bits_per_second is not None:
        measurement["asked"] = result.options.rate
        measurement["offered"] = result.measured.sent_bits_per_second
    faults = [check.because for check in result.faults]
    if faults:
        measurement["faults"] = faults
    document = result.document()
    if result.measured.latency is not None:
        measurement["latency"] = document["latency"]
    points = cast("Sequence[Mapping[str, Any]]", result.measured.details.get("points"))
    if points and study.tool == "udp-sweep":
        measurement |= {"points": points, **spacing(path, points)}
        if why := missed(measurement):
            raise TrialError(f"void: {why}")
    return measurement
