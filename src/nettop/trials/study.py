"""Studies: repeat published tables on this pair of hosts.

A study is `rules/studies/<paper>-<table>.toml`:

    title, paper, place    the repeated table, and where it is published
    tool                   the test tool
    figure                 path of the figure in the result: `bits_per_second`, `loss.percent`, …
    unit, scale            the published unit, in bit/s or our unit of the figure (Mbit/s: 1e6)
    encodes                ids of the knowledge base
    requires, notes        sentences: what the pair of hosts must have; remarks
    [conditions]           of the paper, printed next to those of this host
    [options]              of all trials: streams, length, window, seconds, …
    [[point]]
      name, published      the cell: a number, a range [low, high], or words
      suspect = true       the published figure cannot be right
      options              of this trial
      mtu                  packet size in bytes (set by the segment size, if the link allows it)
      set                  settings during the trial; `{nic}` is the interface used
      rtt_ms               round trip that the path must have
      skip                 why it is never run
      figure, scale        instead of those of the study
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from . import results
from . import run as runner
from .documents import Measurement, StudyDocument, StudyRow
from .lever import LeverError, Switch
from .peer import Cancelled, PeerError
from .result import Options, Progress, TrialResult
from .run import TrialError, Watch, nobody

REQUIRED: Final = ("title", "paper", "place", "tool", "figure", "unit", "scale", "encodes", "point")
OVERHEAD: Final = 40  # bytes of the IPv4 and TCP headers of a packet


class _PointTable(TypedDict, total=False):
    """The keys of `[[point]]`."""

    name: str
    against: str
    published: object
    suspect: bool
    options: Mapping[str, object]
    mtu: int
    set: Mapping[str, str]
    rtt_ms: float
    skip: str
    figure: str
    scale: float


class _StudyTable(TypedDict, total=False):
    """The keys of a study file."""

    title: str
    paper: str
    place: str
    tool: str
    figure: str
    unit: str
    scale: float
    encodes: list[str]
    requires: list[str]
    baseline: str
    conditions: Mapping[str, object]
    options: Mapping[str, object]
    point: list[_PointTable]
    notes: list[str]


class StudyError(ValueError):
    """A study file is not valid; one sentence names file and key."""


@dataclass(frozen=True, slots=True)
class Point:
    """One cell of a published table."""

    name: str
    published: object  # number, range or words
    options: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    mtu: int | None = None
    rtt_ms: float | None = None
    skip: str = ""
    suspect: bool = False
    figure: str = ""
    scale: float | None = None
    against: str = ""  # name of the point that this one is a change of


@dataclass(frozen=True, slots=True)
class Study:
    """One published table and how to repeat it."""

    id: str
    title: str
    paper: str
    place: str
    tool: str
    figure: str
    unit: str
    scale: float
    encodes: tuple[str, ...]
    points: tuple[Point, ...]
    requires: tuple[str, ...] = ()
    conditions: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def folder() -> Path:
    """The folder of the studies."""
    from ..config import rules_folder

    return rules_folder() / "studies"


def names(where: Path | None = None) -> tuple[str, ...]:
    """The ids of all studies."""
    return tuple(sorted(path.stem for path in (where or folder()).glob("*.toml")))


def load(name: str, where: Path | None = None) -> Study:
    """One study; KeyError for an unknown name, StudyError for a file that is not valid."""
    import tomllib

    if name not in names(where):
        raise KeyError(name)
    path = (where or folder()) / f"{name}.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(f"{path}: {error}") from None
    return parse(name, table)


def parse(name: str, document: Mapping[str, object]) -> Study:
    """A study from the table of its file; StudyError names an unknown or missing key."""
    _known(name, document, _StudyTable.__annotations__)
    for key in REQUIRED:
        if key not in document:
            raise StudyError(f"{name}: {key} is missing")
    table = cast("_StudyTable", document)
    points = tuple(_point(name, entry, table.get("baseline", "")) for entry in table["point"])
    for point in points:
        if point.against and point.against not in {one.name for one in points}:
            raise StudyError(f"{name}: there is no point {point.against!r}")
    return Study(
        name, table["title"], table["paper"], table["place"], table["tool"], table["figure"],
        table["unit"], float(table["scale"]),
        encodes=tuple(table["encodes"]),
        points=points,
        requires=tuple(table.get("requires", ())),
        conditions=dict(table.get("conditions", {})),
        options=_options(name, table.get("options", {})),
        notes=tuple(table.get("notes", ())),
    )  # fmt: skip


def _known(where: str, table: Iterable[str], known: Container[str]) -> None:
    for key in table:
        if key not in known:
            raise StudyError(f"{where}: unknown key {key!r}")


def _options(where: str, table: Mapping[str, object]) -> dict[str, object]:
    _known(f"{where}: options", table, {f.name for f in fields(Options)} - {"to", "peer", "host"})
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}


def _point(where: str, table: _PointTable, baseline: str) -> Point:
    name = str(table.get("name", ""))
    place = f"{where}: point {name!r}"
    _known(place, table, _PointTable.__annotations__)
    if not name or "published" not in table:
        raise StudyError(f"{place}: name and published are needed")
    return Point(
        name, table["published"], _options(place, table.get("options", {})),
        dict(table.get("set", {})), table.get("mtu"), table.get("rtt_ms"),
        str(table.get("skip", "")), bool(table.get("suspect", False)),
        str(table.get("figure", "")), table.get("scale"),
        str(table.get("against", "" if name == baseline else baseline)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Properties of this pair of hosts that studies need."""

    nic: str
    mtu: int
    rtt_ms: float
    cpus_here: frozenset[int]
    cpus_there: frozenset[int]
    about: Mapping[str, object] = field(default_factory=dict)  # conditions to print


def look(options: Options, cancel: threading.Event) -> Pair:
    """Measure round trip, interface, MTU and cores of the pair with a short latency trial."""
    probe = replace(options, seconds=0.2, warmup=0.0, sizes=(64,), streams=1, count=None)
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
        {key: value for key, value in about.items() if value is not None},
    )  # fmt: skip


def obstacle(point: Point, options: Options, pair: Pair) -> str:
    """Why this pair of hosts cannot run the point; empty if it can."""
    if point.skip:
        return point.skip
    if point.mtu and point.mtu > pair.mtu:
        return f"needs MTU {point.mtu} at both ends; it is {pair.mtu}"
    if point.rtt_ms and pair.rtt_ms < 0.5 * point.rtt_ms:
        return f"needs a path of {point.rtt_ms:g} ms; this one has {pair.rtt_ms:.2f} ms"
    for wanted, cpus, where in (
        (options.cpu_here, pair.cpus_here, "here"),
        (options.cpu_there, pair.cpus_there, "there"),
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
    if point.mtu and not requested.get("udp") and study.tool in ("bulk", "iperf3", "iperf"):
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
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
) -> StudyDocument:
    """Run every point that this pair allows and whose name contains `only`.

    A trial lasts at most `most` seconds. A cancelled study has the rows measured so far; settings
    are restored. PeerError, TrialError, ValueError, Cancelled: the pair could not be examined.
    """
    cancel = cancel or threading.Event()
    pair = look(base, cancel)
    rows: list[StudyRow] = []
    begun = time.time()
    stopped = False
    for number, point in enumerate(study.points):
        if only not in point.name:
            continue
        options = options_of(study, point, base, most)
        why = "cancelled" if stopped else obstacle(point, options, pair)
        row: StudyRow = {"point": point.name, "published": point.published}
        if point.suspect:
            row["suspect"] = True
        if point.against:
            row["against"] = point.against
        if not why:
            watch(Progress("study", number, len(study.points), note=point.name))
            try:
                measurement = _measure(study, point, options, pair, watch, cancel)
                row = {**row, **measurement}
            except Cancelled:
                stopped, why = True, "cancelled"
            except (TrialError, PeerError, LeverError, OSError, ValueError, LookupError) as error:
                from ..terms.errors import sentence

                why = sentence(error)
        if why:
            row["skipped"] = why
        rows.append(row)
    document: StudyDocument = {
        "study": study.id, "title": study.title, "paper": study.paper, "place": study.place,
        "tool": study.tool, "unit": study.unit, "at": begun, "to": base.to,
        "conditions": {
            "published": dict(study.conditions), "here": {**pair.about, "seconds_at_most": most},
        },
        "requires": list(study.requires), "notes": list(study.notes),
        "encodes": list(study.encodes), "rows": rows, "cancelled": stopped,
    }  # fmt: skip
    results.keep("study", document)
    return document


def _measure(
    study: Study, point: Point, options: Options, pair: Pair, watch: Watch, cancel: threading.Event
) -> Measurement:
    """The figure of one point; its settings are in force during the trial only."""
    wanted = [(name.replace("{nic}", pair.nic), value) for name, value in point.settings.items()]
    if not wanted:
        return figure(study, point, runner.run(study.tool, options, watch, cancel))
    with Switch([wanted], f"study {study.id}") as lever:
        lever.put(1)
        if cancel.wait(lever.pause):
            raise Cancelled
        return figure(study, point, runner.run(study.tool, options, watch, cancel))


def figure(study: Study, point: Point, result: TrialResult) -> Measurement:
    """The figure of the result in the published unit; TrialError if it has none."""
    value: object = result.document()
    path = point.figure or study.figure
    for step in path.split("."):
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
    measurement: Measurement = {
        "measured": value / (point.scale or study.scale),
        "seconds": result.options.seconds,
    }
    if result.measured.retransmits is not None:
        measurement["retransmits"] = result.measured.retransmits
    faults = [check.because for check in result.faults]
    if faults:
        measurement["faults"] = faults
    return measurement
