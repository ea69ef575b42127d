"""Studies: published tables and how to repeat them; `repeat` runs them.

A study is `rules/studies/<paper>-<table>.toml`:

    title, paper, place    the repeated table, and where it is published
    tool                   the test tool
    figure                 path of the figure in the result: `bits_per_second`, `loss.percent`,
                           `interfaces.here.{nic}.tx_packets`, …
    unit, scale            the published unit, in bit/s or our unit of the figure (Mbit/s: 1e6)
    encodes                ids of the knowledge base
    requires, notes        sentences: what the pair of hosts must have; what the "Paper: " says,
                           what is "Computed: " from it, what the repetition does "Here: "
    [conditions]           of the paper, printed next to those of this host
    [options]              of all trials: streams, length, window, seconds, …
    [sets.NAME]            settings that several points share, and why they are `harmful`
    [[point]]
      name, published      the cell: a number, a range [low, high], or words
      suspect = true       the published figure cannot be right
      incomparable         why both figures stand beside each other without a ratio
      options              of this trial
      mtu                  packet size in bytes (set by the segment size, if the link allows it)
      set                  settings of this host during the trial, or their name in `sets`; `{nic}`
                           is the interface used
      rtt_ms               round trip that the path must have
      skip                 why it is never run
      interrupts = true    it needs a NIC whose interrupts have a core
      harmful              why its settings are run only in a network namespace of their own
      figure, scale, unit  instead of those of the study
      of                   name of an earlier point: another figure of its trial
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Final

from ..terms.dataclass import dataclass
from .result import Options

REQUIRED: Final = ("title", "paper", "place", "tool", "figure", "unit", "scale", "encodes", "point")

PARTS: Final = ("point", "baseline", "sets")  # keys from which the points are made


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
    incomparable: str = ""  # why its ratio to the published figure says nothing
    figure: str = ""
    scale: float | None = None
    against: str = ""  # name of the point that this one is a change of
    unit: str = ""
    interrupts: bool = False  # whether the core of the NIC's interrupts decides the result
    harmful: str = ""  # why its settings must not be those of a host in use
    of: str = ""  # name of the point whose trial has this figure; empty: its own


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


def parse(name: str, document: Mapping[str, Any]) -> Study:
    """A study from the table of its file; StudyError names an unknown or missing key."""
    known = ({f.name for f in fields(Study)} | {*PARTS}) - {"id", "points"}
    _known(name, document, known)
    for key in REQUIRED:
        if key not in document:
            raise StudyError(f"{name}: {key} is missing")
    points = tuple(_point(name, one, document) for one in document["point"])
    for point in points:
        if point.against and point.against not in {one.name for one in points}:
            raise StudyError(f"{name}: there is no point {point.against!r}")
    for number, point in enumerate(points):
        if point.of and point.of not in {one.name for one in points[:number] if not one.of}:
            raise StudyError(f"{name}: there is no earlier trial {point.of!r}")
    texts = {key: value for key, value in document.items() if key not in PARTS}
    texts |= {key: tuple(texts[key]) for key in ("encodes", "requires", "notes") if key in texts}
    texts["options"] = _options(name, texts.get("options", {}))
    return Study(name, points=points, **{**texts, "scale": float(document["scale"])})


def _known(where: str, table: Iterable[str], known: Container[str]) -> None:
    for key in table:
        if key not in known:
            raise StudyError(f"{where}: unknown key {key!r}")


def _options(where: str, table: Mapping[str, object]) -> dict[str, object]:
    _known(f"{where}: options", table, {f.name for f in fields(Options)} - {"to", "peer", "host"})
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}


def _point(where: str, table: Mapping[str, Any], document: Mapping[str, Any]) -> Point:
    place = f"{where}: point {table.get('name', '')!r}"
    _known(place, table, ({f.name for f in fields(Point)} | {"set"}) - {"settings"})
    if not table.get("name") or "published" not in table:
        raise StudyError(f"{place}: name and published are needed")
    values = {"settings" if key == "set" else key: value for key, value in table.items()}
    values["options"] = _options(place, table.get("options", {}))
    if isinstance(shared := values.get("settings"), str):
        if shared not in document.get("sets", {}):
            raise StudyError(f"{place}: there are no settings {shared!r} in sets")
        values["settings"] = dict(document["sets"][shared])
        values["harmful"] = values["settings"].pop("harmful", "")
    baseline = document.get("baseline", "")
    values.setdefault("against", "" if table["name"] == baseline else baseline)
    return Point(**values)
