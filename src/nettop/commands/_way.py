"""`nettop why --to`: the way of one flow through this host, as text and as JSON."""

from __future__ import annotations

import argparse
from contextlib import suppress
from ipaddress import ip_address
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from ..host.source import Source
from ..terms.dataclass import picked
from ..terms.errors import Refused
from ..terms.text import safe
from ..terms.units import many
from . import _argument, _witness, emit, print_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..facts import Facts
    from ..facts.way import Flow, Step, Way
    from ..frame.rates import Frame

_STEP = "place outcome saw rule command change"
ASKED: Final = ("neighbour",)  # a step of which what arrives meanwhile may tell more
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
    parser.add_argument(
        "--oif", metavar="IF", type=_argument.word,
        help="with --to: the interface to which the socket is bound",
    )  # fmt: skip


def run(source: Source, args: argparse.Namespace) -> int:
    """Print the way."""
    if args.target is not None or args.peer is not None:
        raise Refused("--to asks about one address: leave out TARGET and --peer", 2)
    frame, way = ask_way(source, asked(args))
    known = way.decider is not None and way.decider.place not in ASKED
    if not known and source.live and source.batches is None:
        way = _observed(source, way, frame, drops=bool(_witness.tables(source, args)))
    if args.json:
        emit(document(source, way, frame))
    else:
        print_lines(*text(way))
    return 0


def _observed(source: Source, way: Way, frame: Frame, *, drops: bool) -> Way:
    """The way, with what becomes of packets to that address while nettop looks.

    `drops`: what the kernel drops meanwhile, and which calls fail, is counted. It may tell why a
    neighbour is silent.
    """
    from dataclasses import replace

    from .. import collect
    from ..collect import half_open
    from ..facts.way import walk
    from ..facts.way.flow import loop
    from ..frame.pairs import entries
    from ..host.bpf.arp import hops

    step, open_, doubted = None, way.decider is None, way.suspect
    before: dict[str, Sequence[Any]] = {}
    seen: dict[str, Sequence[Any]] = {}
    for name in COUNTED if drops else ():
        with suppress(OSError, ValueError):  # without the rights nothing is known of it
            before[name] = collect.rows(name, source, {})
    began = source.now()
    with suppress(OSError):
        if open_ and way.case in ("output", "forward") and way.interface is not None:
            step = loop(way, hops(way.interface, way.flow.to))
    with suppress(OSError, ValueError):
        if open_ and step is None and way.case == "output" and way.flow.protocol == "udp":
            step = unanswered(source, way.flow)
    for name in COUNTED if drops and source.wait(LOOK) else ():
        with suppress(OSError, ValueError):
            seen[name] = collect.rows(name, source, {})
    with suppress(OSError, ValueError):
        if way.case != "forward":
            seen["half_open"] = half_open.now(source)
    if seen:
        past = {name: entries(rows, (), 0.0) for name, rows in before.items()}
        took = source.now() - began
        read = {name: entries(rows, past.get(name, ()), took) for name, rows in seen.items()}
        frame = replace(frame, tables={**frame.tables, **read})
        way = walk(way.flow, frame)
    if step is not None:
        return replace(way, steps=(*way.steps, step))
    lost, silent = _lost(way, frame) if way.decider is None else ((), ())
    known = way.suspect is not None and way.suspect != doubted  # a step tells what was counted
    steps = (*way.steps, *lost) if known else (*lost, *way.steps)
    return replace(way, steps=(*steps, *silent))


def _lost(way: Way, frame: Frame) -> tuple[list[Step], list[Step]]:
    """What was dropped of the packets of the flow meanwhile, and which calls for it failed.

    The calls that got no answer are apart: a doubt of another step may say why. So are those of who
    wants the port, which another program has. Of what is
    forwarded the source may be translated, and is not compared.
    """
    from dataclasses import replace

    from ..collect._counted import NORMAL
    from ..facts.joined import Joiner
    from ..facts.used_ports import BINDS
    from ..facts.way.flow import PASSES, SILENT, SUSPECT, Step, address

    flow, port, to = way.flow, str(way.flow.port or ""), str(address(way.flow.to))

    def ours(end: str, number: str) -> bool:
        return end.removeprefix("::ffff:") == to and number in (port or number, "")

    own = {
        "drop_reasons": [
            one for one in frame.tables.get("drop_reasons", ())
            if one.now.protocol == flow.protocol and ours(one.now.to, str(one.now.to_port or ""))
        ],
        "failed_calls": [
            one for one in frame.tables.get("failed_calls", ())
            if (one.now.call in BINDS and one.now.port == port and way.case in ("local", "input"))
            or ours(one.now.address, one.now.port)
        ],
    }  # fmt: skip
    facts = Joiner().build(replace(frame, tables={**frame.tables, **own}))
    drops = sorted(facts.more.get("drop", ()), key=lambda one: -one.packets)
    told = [
        Step("dropped", SUSPECT, f"{many(drop.packets, 'packets')} of it were dropped while nettop "
             f"looked: {drop.means}", change=drop.advice)
        for drop in drops if drop.kind != NORMAL
    ]  # fmt: skip
    silent = list[Step]()
    for call in sorted(facts.more.get("call", ()), key=lambda one: -one.events):
        again = "nettop why" in call.advice  # this very command
        bind = call.call in BINDS  # another program has the port, and takes the packets
        step = Step("calls", PASSES if bind else SUSPECT, f"{many(call.events, 'calls')} of "
                    f"{call.who} for it failed while nettop looked ({call.called}, {call.error}): "
                    f"{call.means}", change="" if again else call.advice)  # fmt: skip
        (silent if bind or call.error in SILENT else told).append(step)
    return told, silent


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
    return Flow(to, port, origin, arrives, args.mark, protocol, args.user, leaves=args.oif or "")


def document(source: Source, way: Way, frame: Frame) -> dict[str, object]:
    """The --json document."""
    decider = way.decider
    return {
        "host": source.host,
        "to": way.flow.to,
        "port": way.flow.port or None,
        "case": way.case,
        "headline": way.headline,
        "decider": picked(decider, _STEP) if decider is not None else None,
        "steps": [picked(one, _STEP) for one in way.steps],
        "missing": dict(frame.missing),
    }


def text(way: Way) -> list[str]:
    """The headline, what shows and cures it, every step, and what is not visible."""
    out = _wrapped(way.headline, "", "  ")
    decider = way.decider or way.suspect
    if decider is not None:
        out += _wrapped(decider.rule, "  rule:     ", "            ") if decider.rule else []
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
        {"to": one.id, **picked(one, "what decider command change")}
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
    "addresses", "filters", "link_stats", "links", "namespaces", "netns_tcp", "processes",
    "program_queues", "qdiscs", "socket_owners", "sockets_tcp", "sockets_udp", "sysctls",
    "translated", "tun_readers",
)  # fmt: skip
COUNTED: Final = ("drop_reasons", "failed_calls", "conntrack")
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


_READINGS: Final = 12
_EVERY: Final = 0.2  # seconds between two: shorter than a timeout, longer than an answer takes
LEAST: Final = 2  # sockets that waited: one may be kept by a program that asks rarely


def unanswered(source: Source, flow: Flow) -> Step | None:
    """A step if sockets of this host to the destination of the flow wait and end in vain.

    A program that asks from a connected socket closes it with the answer or after its timeout.
    Sockets that are seen again and again without data have asked in vain; those with an answer are
    gone within milliseconds.
    OSError and ValueError as `sockets_udp.update`.
    """
    from ..collect import sockets_udp
    from ..facts.way.flow import SUSPECT, Step

    seen: dict[int, int] = {}
    answered: set[int] = set()
    first: set[int] = set()
    last: set[int] = set()
    for number in range(_READINGS):
        rows = [
            row for row in sockets_udp.update(source, {})
            if (row.remote, row.remote_port) == (flow.to, flow.port) and row.inode
        ]  # fmt: skip
        last = {row.inode for row in rows}
        first = last if not number else first
        answered |= {row.inode for row in rows if row.recv_q}
        seen = {inode: seen.get(inode, 0) + 1 for inode in last} | {
            inode: count for inode, count in seen.items() if inode not in last
        }
        if number + 1 < _READINGS and not source.wait(_EVERY):
            break
    kept = answered | (first & last)
    waited = [inode for inode, count in seen.items() if count > 1 and inode not in kept]
    if len(waited) < LEAST:
        return None
    return Step(
        "answers", SUSPECT,
        f"{len(waited)} sockets of this host asked {flow.name} while nettop looked, and no answer "
        "reached them", f"tcpdump -ni any udp port {flow.port} and host {flow.to}",
        f"see whether {flow.name} answers: its program, a firewall there, or an answer that comes "
        "from another address or port, which a connected socket does not take",
    )  # fmt: skip
