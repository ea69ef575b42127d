"""What the kernel counted while a command looked: dropped packets, failed calls, samples."""

from __future__ import annotations

import argparse
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from ..host.source import Source
from ..terms.dataclass import picked

if TYPE_CHECKING:
    from ..facts import Facts


POLICY: Final = ("turned away",)  # kinds of drops on purpose: no fault by themselves


def deep_argument(parser: argparse.ArgumentParser) -> None:
    """--no-deep: count nothing in the kernel."""
    parser.add_argument(
        "--no-deep", action="store_true",
        help="count no drops and failed calls in the kernel, and do not sample the cores",
    )  # fmt: skip


def tables(source: Source, args: argparse.Namespace) -> frozenset[str]:
    """The tables of it to read; of a recording those that it has."""
    from .. import collect, config
    from ..views.counted import countable, recorded

    if not source.live:
        return recorded(source)
    asked = not args.no_deep and countable(source, config.load())
    return frozenset(collect.deep() if asked else ())


def _told(facts: Facts) -> tuple[list[Any], list[Any]]:
    """The drops that are not normal, and the calls that fail; the most frequent first."""
    from ..collect._counted import NORMAL

    drops = [one for one in facts.more.get("drop", ()) if one.kind != NORMAL]
    calls = list(facts.more.get("call", ()))
    return (sorted(drops, key=lambda one: -one.packets), sorted(calls, key=lambda one: -one.events))


def lines(facts: Facts) -> list[str]:
    """A sentence for each reason and place of drops, for each call that fails, and for bursts."""
    from ..terms.text import safe

    drops, calls = _told(facts)
    out = [
        (
            "·" if one.kind in POLICY else "✗",
            f"{one.packets} dropped in {one.place or 'the kernel'} ({one.reason}): {one.means}"
            + (f"; {one.whose}" if one.whose else "")
            + (f", {one.nics}" if one.nics else ""),
        )
        for one in drops
    ]
    out += [
        (
            "✗",
            f"{one.events} {one.call} of {one.who} failed ({one.error}): {one.means}"
            + (f"; destinations: {one.to}" if one.to else ""),
        )
        for one in calls
    ]
    rows = [
        row for mark, one in out
        for row in wrap(safe(one), 78, initial_indent=f"  {mark} ", subsequent_indent="    ")
    ]  # fmt: skip
    if rows:
        rows = ["", "dropped and refused in this namespace", *rows]
    counted = accounting(facts)
    return [*rows, "", *counted] if counted else rows


def accounting(facts: Facts) -> list[str]:
    """What the look lost by counters, with a reason and without, and in which bursts."""
    from ..facts.losses import sentences

    return [
        row
        for text in sentences(facts.losses, facts.rhythms)
        for row in wrap(text, 78, subsequent_indent="  ")
    ]


def losses(facts: Facts) -> dict[str, object]:
    """The same as data."""
    bursts = [one._asdict() for one in facts.rhythms]
    one = facts.losses
    if one is None:
        return {"rhythms": bursts}
    return {
        "losses": {
            "seconds": round(one.seconds, 3),
            **picked(one, "counted explained uncertain stages"),
            "counters": [place._asdict() for place in one.places],
            "reasons": dict(one.reasons), "alone": dict(one.alone), "unread": one.unread,
        },
        "rhythms": bursts,
    }  # fmt: skip


def document(facts: Facts) -> dict[str, object]:
    """The same as data."""
    drops, calls = _told(facts)
    return {
        "drops": [
            {**picked(one, "reason place kind means packets whose"), "interfaces": one.nics}
            for one in drops
        ],
        "failed_calls": [
            {**picked(one, "process pid call error means"), "calls": one.events, "to": one.to}
            for one in calls
        ],
        **losses(facts),
    }  # fmt: skip
