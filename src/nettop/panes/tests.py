"""Tests: start one, watch it at both ends, read what earlier ones said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ..text import Line, area, bar, fit, fit_line, line
from ..units import percent, scaled, seconds
from .grid import beside
from .parts import Column, heading, listing, matches, row, section, widths
from .scene import Progress, Result, Scene, View, chosen

TITLE = "Tests"
KEY = "6"
NEEDS: tuple[str, ...] = ()
FIELDS: Final = (  # name, label, default, what it means
    ("tool", "tool", "iperf3", "← → change"),
    ("to", "address", "", "the other end's address, e.g. 192.0.2.20"),
    ("peer", "peer", "", "how to run a command there: ssh host, or: ip netns exec b"),
    ("seconds", "seconds", "10", "at least 10 to compare runs"),
    ("streams", "streams", "1", "parallel connections"),
    ("reverse", "reverse", "no", "yes: the other end sends (← →)"),
)
START: Final = "start"


def values(view: View) -> dict[str, str]:
    """The form as it stands: defaults under what was typed."""
    return {name: view.form.get(name, default) for name, _, default, _ in FIELDS}


def rows_of(scene: Scene, view: View) -> list[Result]:
    """The results shown, newest first."""
    found = [r for r in scene.results if matches(view.spot.filter, r.tool, r.title, r.verdict)]
    return sorted(found, key=lambda r: -r.wall)


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The form's fields, the start button, then the results."""
    return (
        *(f"form.{name}" for name, *_ in FIELDS),
        f"form.{START}",
        *(f"result.{r.id}" for r in rows_of(scene, view)),
    )


def form(view: View, cursor: str, width: int) -> list[Line]:
    """The form."""
    out = [section("NEW TEST", "⏎ edit, then start", width)]
    now = values(view)
    for name, label, _, hint in FIELDS:
        here = cursor == f"form.{name}"
        typed = view.editing == f"form.{name}"
        text = view.draft + "▏" if typed else now[name] or "–"
        out.append(
            line(
                (f" {'▸' if here else ' '} {label:<8} ", "select" if here else "head"),
                (fit(text, 22), "input" if typed else "strong" if now[name] else "dim"),
                (f"  {hint}" if here else "", "dim"),
            )
        )
    ready = bool(now["to"])
    here = cursor == f"form.{START}"
    told = "start the test" if ready else "start the test (needs an address)"
    out.append(
        line(
            (
                f" {'▸' if here else ' '} [ {told} ]",
                "select" if here else "good" if ready else "dim",
            )
        )
    )
    return [fit_line(one, width) for one in out]


def plot(intervals: tuple[float, ...], width: int, rows: int) -> list[Line]:
    """Rates per second as a graph with its top figure."""
    if not intervals or rows < 1:
        return []
    top = max(intervals) or 1.0
    label = scaled(top, "b/s")
    wide = max(1, (width - 14) // max(10, len(intervals)))
    shown = area([v for v in intervals for _ in range(wide)], width - 14, rows, top)
    return [
        line(
            (fit(label if i == 0 else "0 b/s" if i == rows - 1 else "", 11, ">") + " ", "dim"),
            (text, "good"),
        )
        for i, text in enumerate(shown)
    ]


def loads(name: str, cores: Mapping[int, float], width: int) -> Line:
    """The busiest cores of one end."""
    busiest = sorted(cores.items(), key=lambda pair: -pair[1])[: max(1, (width - 8) // 18)]
    parts: list[tuple[str, str]] = [(f" {name:<6}", "head")]
    for cpu, load in busiest:
        filled, rest = bar(load / 100, 6)
        role = "bad" if load >= 90 else "warn" if load >= 70 else "good"
        parts += [
            (f" {cpu:>3} ", "dim"),
            (filled, role),
            (rest, "faint"),
            (f"{percent(load):>5}", role),
        ]
    return tuple(parts)


def running(progress: Progress, width: int, height: int) -> list[Line]:
    """The test that runs: where it is, rates so far, both ends' cores."""
    told = f"{seconds(progress.elapsed)} of {seconds(progress.seconds)} {progress.stage}"
    out = [section(f"RUNNING {progress.title}", told, width)]
    last = progress.intervals[-1] if progress.intervals else None
    filled, rest = bar(progress.elapsed / progress.seconds if progress.seconds else None, 20)
    retr = "" if progress.retransmits is None else f"   {progress.retransmits:,.0f} retransmits"
    out.append(
        line(
            (" now ", "dim"),
            (scaled(last, "b/s"), "strong"),
            ("   ", ""),
            (filled, "accent"),
            (rest, "faint"),
            (retr, "warn" if progress.retransmits else "dim"),
            ("   Ctrl+X stops", "key"),
        )
    )
    out += plot(progress.intervals, width, max(1, min(6, height - 5)))
    for name, cores in (("here", progress.here), ("there", progress.there)):
        if cores:
            out.append(loads(name, cores, width))
    return [fit_line(one, width) for one in out[:height]]


def result(found: Result, width: int, height: int) -> list[Line]:
    """One result in full."""
    out = [section(f"RESULT {found.id}", when(found.wall), width)]
    role = verdict_role(found.verdict)
    out.append(line((f" {found.tool} ", "head"), found.title, (f"   {found.verdict}", role)))
    told = "   ".join(f"{label} {text}" for label, text in found.figures)
    rate = scaled(found.bits_per_second, "b/s") if found.bits_per_second is not None else ""
    out.append(line((f" {rate}", "strong"), (f"   {told}", "")))
    out += plot(found.intervals, width, max(0, min(5, height - len(out))))
    return [fit_line(one, width) for one in out[:height]]


def verdict_role(verdict: str) -> str:
    """The role of a verdict."""
    return {"better": "good", "worse": "bad"}.get(verdict, "dim")


def when(wall: float) -> str:
    """A moment of the past, in UTC so that two hosts' journals compare."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if wall else ""


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Form, the running test or the result under the cursor, and the list of results."""
    every = items(scene, view)
    cursor = every[max(0, chosen(every, view.spot))]
    shown = rows_of(scene, view)
    picked = next((r for r in shown if cursor == f"result.{r.id}"), shown[0] if shown else None)
    wide = width >= 110
    half = width // 2 if wide else width
    head = form(view, cursor, half)
    side: list[Line] = []
    room = len(head) + 2 if wide else max(0, min(12, height - len(head) - 3))
    other = width - half if wide else width
    if scene.progress is not None:
        side = running(scene.progress, other, room)
    elif picked is not None:
        side = result(picked, other, room)
    if height < 12 and scene.progress is not None:
        out = running(scene.progress, width, height)
    elif wide:
        out = beside([head, side], half, width)
    else:
        out = head + side
    columns = (
        Column(" WHEN", 20), Column("TOOL", 12), Column("RATE", 11, ">"), Column("VERDICT", 10),
        Column("WHAT", 30, grow=2), Column("FIGURES", 30, grow=2),
    )  # fmt: skip
    sizes = widths(columns, width)
    out.append(section("RESULTS", f"{len(shown)}", width))
    out.append(heading(columns, sizes))
    table = [
        row(
            (
                (f" {when(r.wall)[:19]}", "dim"),
                r.tool,
                (
                    scaled(r.bits_per_second, "b/s") if r.bits_per_second is not None else "",
                    "strong",
                ),
                (r.verdict, verdict_role(r.verdict)),
                r.title,
                ("  ".join(f"{a} {b}" for a, b in r.figures), "dim"),
            ),
            columns,
            sizes,
        )
        for r in shown
    ]
    at = next((i for i, r in enumerate(shown) if cursor == f"result.{r.id}"), -1)
    out += listing(table, at, width, height - len(out), marked=at >= 0)
    if not shown:
        out.append(line((" none yet: fill in an address and start one", "dim")))
    return [fit_line(one, width) for one in out[:height]]
