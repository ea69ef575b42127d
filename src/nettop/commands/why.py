"""Say what limits each flow and interface, why, and what would limit it next.

nettop why                          all flows and interfaces that carry data
nettop why eth0                     one interface, in both directions
nettop why 10.0.0.2:5201            one flow, by either end; without a port, all of that host
nettop why --peer "ssh host2"       with the stages of the other end
nettop why --replay a.host.gz       both ends, by `nettop record a.host.gz --peer …`
nettop why --to 10.0.0.2:443        can this host reach it, and what would stop it?
nettop why --to B --from A          would this host forward packets from A to B, and the answers?

TARGET is an interface, a process, or ADDRESS, ADDRESS:PORT or :PORT of an end of a flow; a bare
number that no process has is a port. Without it every flow that wants to move data, every interface
that carries data and every UDP socket that drops datagrams is reported, with the problems that are
found of it meanwhile. As root, those of other network namespaces (containers, pods) are reported as
well, with the name of the namespace; an interface there is eth0@web. The stages of a flow are
listed by capacity: the first one limits. A limit marked `there` is beyond this host. Without
--no-deep, as root, a line says what a core or thread that limits does (see `nettop profile`), and
what the kernel drops and which calls of programs fail on this host is counted and listed with its
reason.

With --peer the other end of the flows is read too: each flow that both hosts see has one limit,
the stages of both hosts in one line, and where its segments are lost, with the bound of the count.
`here` is this host, `there` the other, `between` the network.

--to needs no traffic. The kernel's own route answer comes first, then the configuration in the
order in which a packet passes it: route, source address, neighbour, interface, queue, bridge,
packet filter, IPsec, listener. The first thing that cannot carry the packets is named, with the
command that shows it and the change that cures it. With --from ADDRESS of another host, or an
interface, the packets arrive there: they are taken by this host or forwarded, and the way of the
answers is walked too. What cannot be judged from here is listed. Where nothing stops the packets,
those that the kernel drops within two seconds are told, and the calls for them that fail. The exit
code is 0 for either answer, 2 for a wrong address, 3 where the host cannot be read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..host.source import Source
from ..terms.errors import Refused
from . import (
    _argument,
    _silent,
    _way,
    _witness,
    duration_argument,
    emit,
    json_argument,
    open_peer,
    open_source,
    peer_argument,
    print_lines,
    source_arguments,
)
from ._target import address_of, check, chosen

if TYPE_CHECKING:
    from ..advice.judge.judge import Judgement
    from ..facts import Facts
    from ..facts.limits import Limit
    from ..frame.rates import Frame

GROUP = "look"
HELP = "say what limits each flow and interface, and what would limit it next"
ENDED = 8  # flows that ended meanwhile, at most
SAMPLES = 10  # intervals, at the least
# read in every frame from the first on: without their rates, shapers and drops are not seen
NEEDED = ("cpu",), ("link_stats", "netdev")  # without them nothing is known of any limit
COUNTED = ("sockets_tcp", "sockets_udp", "qdiscs", "classes")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "target", nargs="?", type=_argument.word, metavar="TARGET",
        help="an interface, a process number, ADDRESS, ADDRESS:PORT, :PORT or PORT",
    )  # fmt: skip
    _way.arguments(parser)
    duration_argument(parser, "--seconds", "how long to observe the host (5)", 5.0)
    json_argument(parser)
    peer_argument(parser)
    _witness.deep_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the limits. Exit code 2: unknown target; 3: not enough was seen."""
    from ..facts.brief import Brief
    from ..views.counted import BURSTS, rhythms
    from ..views.observer import Observation

    source = open_source(args)
    if args.to is not None:
        return _way.run(source, args)
    if args.origin is not None or args.mark or args.user or args.udp or args.oif:
        raise Refused("--from, --mark, --user, --udp and --oif belong to --to ADDRESS", 2)
    peer = open_peer(args, source)
    if peer is not None:
        return _both(source, peer, args)
    deep = _witness.tables(source, args)
    judge = _silent.judge(source, args)

    seen: list[Judgement] = []
    number = (args.target or "").isdecimal()
    brief = Brief(address_of(f"{':' * number}{args.target}") or "")

    def judged(frame: Frame, facts: Facts) -> None:
        seen[:] = (judge.judge(facts),)
        brief.add(frame)

    frame, facts = look(source, args.seconds, args.target, deep, judged)
    if deep:
        facts = replace(facts, rhythms=rhythms(source, *BURSTS))
    last = Observation(frame, facts, seen[-1])
    args.target = _silent.meant(frame, facts, args.target)
    try:
        limits = chosen(facts, args.target)
    except Refused as refused:
        said = brief.words() if brief.name == address_of(args.target) else ""
        return _silent.answer(source, args, refused, said, last)
    found = _silent.beside(last, limits, args.target)
    if args.json:
        from .advise import finding_json

        more = {"out_of_reach": _way.out_of_reach(facts), **_witness.document(facts),
                "findings": [finding_json(source, one) for one in found]}  # fmt: skip
        emit({**document(source, limits, frame, args.seconds), **more})
    else:
        unread = (f"not read: {name}: {why}" for name, why in _missing(frame).items())
        print_lines(
            f"{source.host} · {facts.means.window}", *text(limits, every=args.target is not None),
            *_way.lines(facts), *_silent.lines(found),
        )  # fmt: skip
        print_lines(*_witness.lines(facts), *unread)
    return 0


def _both(here: Source, there: Source, args: argparse.Namespace) -> int:
    """Print what both hosts see."""
    from ..facts.joined import needs
    from ..facts.pair import words
    from ..facts.pair.verdict import with_ends
    from ..views import both

    observers = both.Observers(here, there)
    hosts = observers.hosts
    *_, (frames, sides) = observers.watch(args.seconds, set(needs()))
    args.target = _silent.meant(frames.here, sides.here, args.target)
    limits = chosen(with_ends(sides.here, sides.joined), args.target)
    if args.json:
        values = document(here, limits, frames.here, args.seconds)
        emit({**values, "peer": both.document(sides, there.host, frames.there)})
        return 0
    targets = {one.target for one in limits}
    print_lines(
        f"{hosts[0]} and {hosts[1]} · {sides.here.means.window}",
        *_clock(here, hosts[1]),
        *words.text(sides, hosts, lambda target: args.target is None or target in targets),
    )
    for host, frame in zip(hosts, (frames.here, frames.there), strict=True):
        print_lines(
            *(f"not read at {host}: {name}: {why}" for name, why in _missing(frame).items())
        )
    return 0


def _clock(here: Source, host: str) -> list[str]:
    """Of a recording of both ends: how far their clocks are apart."""
    from ..host.recording import Replay, mark_of

    mark = mark_of(here.comment) if isinstance(here, Replay) else None
    return [f"recorded at both ends; {mark.clock(host)}"] if mark is not None else []


def look(
    source: Source, seconds: float, target: str | None = None, more: Collection[str] = (),
    each: Callable[[Frame, Facts], object] = lambda *_: None,
) -> tuple[Frame, Facts]:  # fmt: skip
    """The last frame and its facts; `more` are tables beside those that facts need.

    `each` is called with each frame and its facts.

    Of flows that ended meanwhile the fastest few have their last limits. Refused when there is
    nothing to compare, or when `target` is neither an interface nor written as another target (2).
    """
    from ..facts.accounting import accounted
    from ..facts.joined import Joiner, needs
    from ..facts.way import trouble
    from ..sampling.sampler import Sampler, paced

    sampler, joiner = Sampler(source), Joiner()
    interval = min(0.5, seconds / SAMPLES)
    wanted = {*needs(), *more}
    first = frame = sampler.take(wanted)
    facts = joiner.build(frame)
    begin = frame, facts
    each(frame, facts)
    if target is not None:
        check(facts, target)
    flows: dict[tuple[str, str], Limit] = {}
    for _ in paced(source, seconds, interval):
        sampler.ask(trouble.asked(frame, facts), trouble.processes(frame))
        frame = sampler.take(wanted)
        facts = joiner.build(frame)
        each(frame, facts)
        flows |= {(one.target, one.direction): one for one in facts.limits if one.over == "flow"}
    now = {(one.target, one.direction) for one in facts.limits}
    over = [replace(one, ended=True) for place, one in flows.items() if place not in now]
    over.sort(key=lambda one: -(one.rate or 0.0))
    facts = accounted(begin, (frame, replace(facts, limits=(*facts.limits, *over[:ENDED]))))
    if not facts.limits or all(core.idle is None for core in facts.cores):
        for names in NEEDED:
            unknown = _unknown(frame, names)
            if unknown:
                raise Refused(f"not enough was seen: {unknown}", 3)
    once = [
        name for name in COUNTED
        if _only_once(frame, name)  # its rows may all be new, as of sockets that soon close
        and (name not in first.tables or frame.tables[name] is first.tables[name])
    ]  # fmt: skip
    if once:
        raise Refused(
            f"not enough was seen: {', '.join(once)}: read only once; observe for 1 s at the least "
            "(--seconds)", 3,
        )  # fmt: skip
    return frame, facts


def _unknown(frame: Frame, names: Sequence[str]) -> str:
    """Why no rate of these tables is known, of which one is enough; empty if one is."""
    read = [name for name in names if frame.tables.get(name)]
    if any(not _only_once(frame, name) for name in read):
        return ""
    if read:
        return "the counters of this host were read only once"
    return next(
        (f"{name}: {frame.missing[name]}" for name in reversed(names) if name in frame.missing),
        f"{names[-1]} has no rows",
    )


def _only_once(frame: Frame, table: str) -> bool:
    """Whether a table has rows, and no rate of any."""
    entries = frame.tables.get(table, ())
    return bool(entries) and not any(entry.rated for entry in entries)


def document(
    source: Source, limits: Sequence[Limit], frame: Frame, seconds: float
) -> dict[str, object]:
    """The --json document."""
    from ..facts.limits.words import document as limit_document

    return {
        "host": source.host,
        "seconds": seconds,
        "limits": [limit_document(one) for one in limits],
        "missing": dict(frame.missing),
    }


def text(limits: Sequence[Limit], *, every: bool) -> list[str]:
    """The limits as lines; without `every` idle interfaces are only counted."""
    from textwrap import wrap

    from ..facts.limits import words
    from ..terms import units
    from ..terms.text import safe

    out: list[str] = []
    idle = 0
    alike = Counter(map(words.queued, limits))
    for one in limits:
        more = alike.pop(words.queued(one), 0) - 1
        if more < 0:  # told with the first of its listener
            continue
        silent = one.over == "nic" and (one.rate or 0.0) < 1000
        if silent and not every and one.stage.kind == "inferred":
            idle += 1
            continue
        owner = f" {one.process}[{one.pid}]" if one.pid is not None and one.over != "nic" else ""
        if one.namespace is not None and one.over != "nic":
            owner += f" in {one.namespace}"
        ended = ", ended meanwhile" if one.ended else ""
        others = f", and {units.many(more, 'connections')} more alike" if more else ""
        out += ["", f"{one.target}{owner} {words.rate(one)}{ended}{others}"]
        for sentence in (words.verdict(one), one.stage.because, words.doing(one)):
            out += wrap(safe(sentence), 78, initial_indent="  ", subsequent_indent="    ")
        for step in one.ladder:
            mark = words.mark(one, step)
            out.append(
                f"  {mark} {step.stage:<11} {step.end:<5} {units.share(step.utilisation):>5}  "
                f"{words.interval(step.capacity):>16}  {step.kind:<8}  {step.name}"
            )
    if idle:
        out += ["", f"{idle} directions of interfaces carry nothing and nothing waits there"]
    if not limits:
        out += ["", "nothing carries data, and nothing waits"]
    return out


def _missing(frame: Frame) -> dict[str, str]:
    """The tables that could not be read, or a part; without those that the host does not have."""
    from ..views.enough import unread

    known = unread(frame)
    return {
        name: why for name, why in sorted(frame.missing.items())
        if name in known or name in frame.tables
    }  # fmt: skip
