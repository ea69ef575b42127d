"""`nettop why --to`: the way of one flow through this host, as text and as JSON."""

from __future__ import annotations

import argparse
from contextlib import suppress
from ipaddress import ip_address
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from ..terms.errors import Refused
from ..terms.text import safe
from . import _argument, _witness, emit, print_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..facts import Facts
    from ..facts.way import Flow, Step, Way
    from ..frame.rates import Frame
    from ..host.source import Source

_MARKS = {"passes": "·", "stops": "✗", "hidden": "?", "suspect": "!"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the way."""
    parser.add_argument(
        "--to", metavar="ADDRESS[:PORT]", type=_argument.destination,
        help="say whether packets can reach this address, and what would stop them",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="origin", metavar="ADDRESS|IF|ADDRESS%IF", type=_argument.word,
        help="with --to: packets from this address, or that arrive on this interface",
    )  # fmt: skip
    parser.add_argument(
        "--mark", type=_argument.mark, default=0, help="with --to: the mark of the packets"
    )
    parser.add_argument(
        "--user", metavar="UID", type=_argument.whole(0), default=0,
        help="with --to: who sends them, for rules with a range of users",
    )  # fmt: skip
    parser.add_argument(
        "--udp", action="store_true", help="with --to: datagrams, not TCP connections"
    )


def run(source: Source, args: argparse.Namespace) -> int:
    """Print the way."""
    if args.target is not None or args.peer is not None:
        raise Refused("--to asks about one address: leave out TARGET and --peer", 2)
    frame, way = ask_way(source, asked(args))
    if way.decider is None and source.live and source.batches is None:
        way = _observed(source, way, frame, drops=bool(_witness.tables(source, args)))
    if args.json:
        emit(document(source, way, frame))
    else:
        print_lines(*text(way))
    return 0


def _observed(source: Source, way: Way, frame: Frame, *, drops: bool) -> Way:
    """The way, with what becomes of packets to that address while nettop looks.

    `drops`: what the kernel drops meanwhile is counted.
    """
    from dataclasses import replace

    from ..collect import drop_reasons, half_open
    from ..facts.way import walk
    from ..facts.way.loops import loop
    from ..frame.pairs import entries
    from ..host.arriving import hops
    from ._answers import unanswered

    step = None
    comes = way.case in ("input", "forward")
    seen: dict[str, Sequence[Any]] = {}
    with suppress(OSError, ValueError):  # without the rights nothing is known of it
        if comes and drops:
            drop_reasons.read(source)
    with suppress(OSError):
        if way.case in ("output", "forward") and way.interface is not None:
            step = loop(way, hops(way.interface, way.flow.to))
    with suppress(OSError, ValueError):
        if step is None and way.case == "output" and way.flow.protocol == "udp":
            step = unanswered(source, way.flow)
    if comes and drops and source.wait(LOOK):
        with suppress(OSError, ValueError):
            seen["drop_reasons"] = drop_reasons.read(source)
    with suppress(OSError, ValueError):
        if way.case == "input" and way.flow.protocol == "tcp":
            seen["half_open"] = half_open.now(source)
    if seen:
        read = {name: entries(rows, (), 0.0) for name, rows in seen.items()}
        way = walk(way.flow, replace(frame, tables={**frame.tables, **read}))
    return way if step is None else replace(way, steps=(*way.steps, step))


def asked(args: argparse.Namespace) -> Flow:
    """The flow of the command line; Refused (2) for a source of another family."""
    from ..facts.way import Flow

    to, port = args.to
    origin = arrives = ""
    if args.origin is not None:
        name, _, arrives = args.origin.partition("%")
        try:
            origin = str(ip_address(name))
        except ValueError:
            arrives = args.origin
        if origin and (":" in origin) != (":" in to):
            raise Refused(f"{origin} and {to} are of two address families", 2)
    protocol = "udp" if args.udp else "tcp"
    return Flow(to, port, origin, arrives, args.mark, protocol, args.user)


def document(source: Source, way: Way, frame: Frame) -> dict[str, object]:
    """The --json document."""
    decider = way.decider
    return {
        "host": source.host,
        "to": way.flow.to,
        "port": way.flow.port or None,
        "case": way.case,
        "headline": way.headline,
        "decider": _step(decider) if decider is not None else None,
        "steps": [_step(one) for one in way.steps],
        "missing": dict(frame.missing),
    }


def _step(step: Step) -> dict[str, str]:
    return {
        "place": step.place, "outcome": step.outcome, "saw": step.saw, "command": step.command,
        "change": step.change,
    }  # fmt: skip


def text(way: Way) -> list[str]:
    """The headline, what shows and cures it, every step, and what is not visible."""
    out = _wrapped(way.headline, "", "  ")
    decider = way.decider or way.suspect
    if decider is not None:
        out += [f"  shown by: {safe(decider.command)}"] if decider.command else []
        out += _wrapped(decider.change, "  change:   ", "            ") if decider.change else []
    out.append("")
    for one in way.steps:
        if one.outcome != "hidden":
            out += _wrapped(one.saw, f"  {_MARKS[one.outcome]} {one.place:<11} ", " " * 16)
    unseen = way.of("hidden")
    if unseen:
        out += ["", "not visible from here:"]
    for one in unseen:
        shown = f" ({one.command})" if one.command else ""
        out += _wrapped(one.saw + shown, f"  {_MARKS[one.outcome]} {one.place:<11} ", " " * 16)
    return out


def out_of_reach(facts: Facts) -> list[dict[str, str]]:
    """The destinations in trouble that the configuration of this host decides, for --json."""
    return [
        {"to": one.id, "what": one.what, "decider": one.decider, "command": one.command,
         "change": one.change}
        for one in facts.more.get("way", ()) if one.stops
    ]  # fmt: skip


def lines(facts: Facts) -> list[str]:
    """The same as text."""
    out: list[str] = []
    for one in facts.more.get("way", ()):
        if one.stops:
            out += ["", *_wrapped(f"{one.what}: {one.decider}", "", "  ")]
            out += [f"  shown by: {safe(one.command)}"] if one.command else []
            out += _wrapped(one.change, "  change:   ", "            ") if one.change else []
    return out


def _wrapped(sentence: str, first: str, more: str) -> list[str]:
    return wrap(safe(sentence), 98, initial_indent=first, subsequent_indent=more,
                break_long_words=False, break_on_hyphens=False)  # fmt: skip


TABLES: Final = (
    "addresses", "link_stats", "links", "namespaces", "processes", "qdiscs", "socket_owners",
    "sockets_tcp", "sockets_udp", "sysctls", "translated", "tun_readers",
)  # fmt: skip
LOOK: Final = 2.0  # s: a SYN is sent again after one
MOST: Final = 6  # rounds: an answer may lead to one more question


def ask_way(source: Source, flow: Flow, tables: Sequence[str] = TABLES) -> tuple[Frame, Way]:
    """The tables and the way of a flow. Refused (3) if the interfaces are not known."""
    from ..facts.way import questions, walk
    from ..frame.rates import Frame
    from ..sampling.sampler import Sampler

    while source.ends and source.wait(1.0):  # a recording is judged at its end
        pass
    sampler = Sampler(source)
    frame = Frame(source.now(), source.wall(), {})
    for _ in range(MOST):
        asked = questions(flow, frame)
        if asked == sampler.questions:
            break
        sampler.ask(asked)
        frame = sampler.take(tables)
    if not frame.rows("links"):
        why = frame.missing.get("links", "there are none")
        raise Refused(f"not enough was seen: links: {why}", 3)
    return frame, walk(flow, frame)
