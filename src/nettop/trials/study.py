"""Studies: repeat published tables on this pair of hosts.

A study is `rules/studies/<paper>-<table>.toml`:

    title, paper, place    what is repeated, and where it stands
    tool                   the test tool
    figure                 where the result has its figure: `bits_per_second`, `loss.percent`, …
    unit, scale            the published unit, and how many of ours one of it is (Mbit/s: 1e6)
    encodes                ids of the knowledge base
    requires               sentences: what the pair of hosts must have for the whole of it
    [conditions]           the paper's: printed beside this host's
    [options]              of every point's trial: streams, length, window, seconds, …
    [[point]]
      name, published      the cell; a number, a pair [low, high], or words
      suspect = true       the paper's own figure cannot be right
      options              of this trial
      mtu                  packets of this size (by the segment size, where the link allows it)
      set                  settings to try it with, `{nic}` being the interface used
      rtt_ms               the path it needs
      skip                 why it is never run
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from . import results
from . import run as runner
from .lever import LeverError, Switch
from .peer import Cancelled, PeerError
from .result import Options, Progress, TrialResult
from .run import TrialError, Watch, nobody

KEYS: Final = {"title", "paper", "place", "tool", "figure", "unit", "scale", "encodes", "requires",
               "conditions", "options", "point", "notes"}  # fmt: skip
POINT: Final = {"name", "published", "suspect", "options", "mtu", "set", "rtt_ms", "skip", "figure",
                "scale"}  # fmt: skip
REQUIRED: Final = ("title", "paper", "place", "tool", "figure", "unit", "scale", "encodes", "point")
OVERHEAD: Final = 40  # IPv4 and TCP: what a packet holds beside its segment


class StudyError(ValueError):
    """A study file that cannot be used: names file and key."""


@dataclass(frozen=True, slots=True)
class Point:
    """One cell of a published table."""

    name: str
    published: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    mtu: int | None = None
    rtt_ms: float | None = None
    skip: str = ""
    suspect: bool = False
    figure: str = ""
    scale: float | None = None


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
    conditions: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def folder() -> Path:
    """Where studies are."""
    from ..config import rules_folder

    return rules_folder() / "studies"


def names(where: Path | None = None) -> tuple[str, ...]:
    """Every study's id."""
    return tuple(sorted(path.stem for path in (where or folder()).glob("*.toml")))


def load(name: str, where: Path | None = None) -> Study:
    """One study; KeyError for an unknown name, StudyError for a bad file."""
    import tomllib

    if name not in names(where):
        raise KeyError(name)
    path = (where or folder()) / f"{name}.toml"
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(f"{path}: {error}") from None
    return parse(name, found)


def parse(name: str, found: Mapping[str, Any]) -> Study:
    """A study from its table; StudyError names the key at fault."""
    _known(name, found, KEYS)
    for key in REQUIRED:
        if key not in found:
            raise StudyError(f"{name}: {key} is missing")
    return Study(
        name, found["title"], found["paper"], found["place"], found["tool"], found["figure"],
        found["unit"], float(found["scale"]),
        encodes=tuple(found["encodes"]),
        points=tuple(_point(name, entry) for entry in found["point"]),
        requires=tuple(found.get("requires", ())),
        conditions=dict(found.get("conditions", {})),
        options=_options(name, found.get("options", {})),
        notes=tuple(found.get("notes", ())),
    )  # fmt: skip


def _known(where: str, found: Mapping[str, Any], known: set[str]) -> None:
    for key in found:
        if key not in known:
            raise StudyError(f"{where}: unknown key {key!r}")


def _options(where: str, found: Mapping[str, Any]) -> dict[str, Any]:
    _known(f"{where}: options", found, {f.name for f in fields(Options)} - {"to", "peer"})
    return {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}


def _point(where: str, found: Mapping[str, Any]) -> Point:
    name = str(found.get("name", ""))
    place = f"{where}: point {name!r}"
    _known(place, found, POINT)
    if not name or "published" not in found:
        raise StudyError(f"{place}: name and published are needed")
    return Point(
        name, found["published"], _options(place, found.get("options", {})),
        dict(found.get("set", {})), found.get("mtu"), found.get("rtt_ms"),
        str(found.get("skip", "")), bool(found.get("suspect", False)),
        str(found.get("figure", "")), found.get("scale"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """What this pair of hosts is, as far as studies ask."""

    nic: str
    mtu: int
    rtt_ms: float
    cpus_here: frozenset[int]
    cpus_there: frozenset[int]
    about: Mapping[str, Any] = field(default_factory=dict)


def look(options: Options, cancel: threading.Event) -> Pair:
    """Ask the pair: a very short latency trial tells round trip, interface, MTU and cores."""
    probe = replace(options, seconds=0.2, warmup=0.0, sizes=(64,), streams=1, count=None)
    found = runner.run("udp-latency", probe, cancel=cancel)
    nic = found.here.busiest() or "lo"
    here, there = found.here.interfaces.get(nic, {}), found.there
    far = there.interfaces.get(there.busiest() or "", {})
    rtt = found.measured.latency.p50 / 1000 if found.measured.latency else 0.0
    wire = here.get("counts") != "super-packets"  # else a speed that nothing enforces
    release = re.match(r"[\d.]*\d", found.here.kernel)  # as papers say it; not whose build it is
    about = {
        "kernel": release[0] if release else None,
        "interface": nic,
        "driver": here.get("driver", "virtual"),
        "speed_mbit": here.get("speed") if wire else None,
        "mtu": here.get("mtu"),
        "rtt_ms": round(rtt, 3),
        "cores": [len(found.here.cores), len(found.there.cores)],
    }
    return Pair(
        nic, min(int(here.get("mtu", 1500)), int(far.get("mtu", 65536))), rtt,
        frozenset(int(c["cpu"]) for c in found.here.cores),
        frozenset(int(c["cpu"]) for c in found.there.cores),
        {key: value for key, value in about.items() if value is not None},
    )  # fmt: skip


def obstacle(point: Point, options: Options, pair: Pair) -> str:
    """Why this pair of hosts cannot run the point; empty when it can."""
    if point.skip:
        return point.skip
    if point.mtu and point.mtu > pair.mtu:
        return f"needs MTU {point.mtu} at both ends; it is {pair.mtu}"
    if point.rtt_ms and pair.rtt_ms < 0.5 * point.rtt_ms:
        return f"needs a path of {point.rtt_ms:g} ms; this one has {pair.rtt_ms:.2f} ms"
    for wanted, there_are, where in (
        (options.cpu_here, pair.cpus_here, "here"),
        (options.cpu_there, pair.cpus_there, "there"),
    ):
        absent = [cpu for cpu in wanted if cpu not in there_are]
        if absent:
            return f"there is no CPU {absent[0]} {where}"
    if max(options.sizes, default=0) + 28 > pair.mtu:
        return f"frames of {max(options.sizes) + 46} bytes need a larger MTU than {pair.mtu}"
    return ""


def options_of(study: Study, point: Point, base: Options, most: float) -> Options:
    """The point's trial: the study's options, then the point's own.

    At most `most` seconds, and at most as many packets as `base` says.
    """
    requested = {**study.options, **point.options}
    if point.mtu and not requested.get("udp") and study.tool in ("bulk", "iperf3", "iperf"):
        requested["mss"] = point.mtu - OVERHEAD
    found = replace(base, **requested)
    if base.count is not None and found.count is not None:
        found = replace(found, count=min(found.count, base.count))
    return replace(found, seconds=min(found.seconds, most))


def run(
    study: Study,
    base: Options,
    *,
    most: float = 10.0,
    only: str = "",
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
) -> dict[str, Any]:
    """Run every point that this pair allows; the document with both figures for each.

    Cancelled ends it with what was measured so far, the settings restored.
    """
    cancel = cancel or threading.Event()
    pair = look(base, cancel)
    rows: list[dict[str, Any]] = []
    begun = time.time()
    stopped = False
    for number, point in enumerate(study.points):
        if only not in point.name:
            continue
        options = options_of(study, point, base, most)
        why = "cancelled" if stopped else obstacle(point, options, pair)
        row: dict[str, Any] = {"point": point.name, "published": point.published}
        if point.suspect:
            row["suspect"] = True
        if not why:
            watch(Progress("study", number, len(study.points), note=point.name))
            try:
                row |= _measure(study, point, options, pair, watch, cancel)
            except Cancelled:
                stopped, why = True, "cancelled"
            except (TrialError, PeerError, LeverError, OSError, ValueError, LookupError) as error:
                from ..terms.errors import sentence

                why = sentence(error)
        if why:
            row["skipped"] = why
        rows.append(row)
    document = {
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
) -> dict[str, Any]:
    """One point's figure, with its settings tried for so long."""
    wanted = [(name.replace("{nic}", pair.nic), value) for name, value in point.settings.items()]
    if not wanted:
        return figure(study, point, runner.run(study.tool, options, watch, cancel))
    with Switch([wanted], f"study {study.id}") as lever:
        lever.put(1)
        if cancel.wait(lever.pause):
            raise Cancelled
        return figure(study, point, runner.run(study.tool, options, watch, cancel))


def figure(study: Study, point: Point, result: TrialResult) -> dict[str, Any]:
    """The result's figure in the published unit; TrialError when it has none."""
    value: Any = result.document()
    path = point.figure or study.figure
    for step in path.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise TrialError(f"the result has no {path}") from None
    if not isinstance(value, int | float):
        raise TrialError(f"{path} is not a number")
    found: dict[str, Any] = {"measured": value / (point.scale or study.scale)}
    if result.measured.retransmits is not None:
        found["retransmits"] = result.measured.retransmits
    found["seconds"] = result.options.seconds
    faults = [check.because for check in result.faults]
    if faults:
        found["faults"] = faults
    return found
