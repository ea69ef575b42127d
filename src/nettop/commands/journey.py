"""Say where packets wait on their way through this host, and for whom.

nettop journey                      the whole host
nettop journey eth0                 what came and went by an interface
nettop journey 443                  what a service sends and receives
nettop journey 10.0.0.1:40312>10.0.0.2:443      the service of a flow, as `nettop why` writes it
nettop journey --json               the same as data

Programs in the kernel measure each stage for some seconds: a softirq is raised → it runs; the stack
takes a packet → the reader copies it from the socket; the reader is woken → it runs; a packet is
given to the queue of an interface → the driver takes it. Of each stage the times are counted in
buckets (p50, p99 and the longest are at most 12.5 % off), and who made packets wait long is named.
Segments that TCP sends again are joined with what this host dropped of the same port: this host
lost them, or the network. Drops that come in bursts are told with their period: it takes three
of them (--seconds). How long a packet waits in the ring of the NIC has no stamp: it is not
known. Packets that a program takes without copying (AF_XDP, packet rings, splice) are not seen.

It needs root (or CAP_BPF and CAP_PERFMON) and a kernel that describes its types. Meanwhile the
kernel stamps every packet, as for any socket with SO_TIMESTAMPNS. The programs rest when they would
need more than 2 % of a core. All of it ends with this process. Softirqs are those of the whole
host. A port is that of the service: this host's, or the other end's where only that is a fixed one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ..host.source import Source
from ..terms.dataclass import picked
from ..terms.errors import Refused, nearest
from . import (
    _argument,
    duration_argument,
    emit,
    json_argument,
    open_source,
    print_lines,
    source_arguments,
)

if TYPE_CHECKING:
    from ..collect import drop_reasons, journeys
    from ..facts.journey import Lost, Stage
    from ..facts.rhythm import Rhythm

GROUP = "look"
HELP = "say where packets wait on their way through this host"
STEP: Final = 0.25  # seconds between readings, in which the programs may rest


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "target", nargs="?", type=_argument.word, metavar="FLOW|PORT|NIC",
        help="a flow (LOCAL>REMOTE), a port or an interface (the whole host)",
    )  # fmt: skip
    duration_argument(parser, "--seconds", "how long to look (5)", 5.0)
    json_argument(parser)
    source_arguments(parser)


class Seen(NamedTuple):
    """What was counted."""

    journey: journeys.Journey
    drops: Sequence[drop_reasons.Row] | None  # None: not counted
    bursts: Sequence[Rhythm]  # of drops
    nics: Mapping[str, str]  # name of an interface by its number


def run(args: argparse.Namespace) -> int:
    """Print the stages. Exit code 2: unknown target; 3: nothing can be counted."""
    from ..facts import journey as facts

    source = open_source(args)
    nics = _interfaces(source)
    target = facts.target(args.target or facts.EVERY, nics)
    if target is None:
        near = nearest(args.target, nics.values())
        raise Refused(f"no flow, port or interface {args.target!r}{near}", 2)
    seen = look(source, args.seconds, nics)
    rows = facts.chosen(seen.journey.rows, target)
    known, lost = facts.stages(rows, nics), facts.losses(rows, seen.drops)
    if args.json:
        emit(document(source, seen, known, lost))
    else:
        print_lines(*text(source, args.target, seen, known, lost))
    return 0


def _interfaces(source: Source) -> dict[str, str]:
    """The names of the interfaces by their numbers; none of a host that does not tell them."""
    from ..collect import Memory, links

    try:
        return {str(row.index): row.interface for row in links.update(source, Memory())}
    except (OSError, ValueError):
        return {}


def look(source: Source, seconds: float, nics: Mapping[str, str]) -> Seen:
    """Count for that time; of a recording, what it has. Refused (3) where nothing is counted."""
    from ..collect import drop_reasons, journeys
    from ..sampling.sampler import SAMPLES, paced
    from ..views.counted import rhythms

    counted = (journeys.TABLE.counted, drop_reasons.TABLE.counted)
    try:
        answer, drops = source.counted(journeys.TABLE.counted), _dropped(source)
        for _ in paced(source, seconds, min(STEP, seconds / SAMPLES)):
            answer = source.counted(journeys.TABLE.counted)
        if drops is not None:
            drops = _dropped(source)
        bursts = rhythms(source, drop_reasons.TABLE.counted) if drops is not None else ()
        return Seen(journeys.journey(answer), drops, bursts, nics)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Refused(f"the journey of packets cannot be seen: {why}", 3) from None
    finally:
        for what in counted:
            source.end_counting(what)


def _dropped(source: Source) -> Sequence[drop_reasons.Row] | None:
    from .. import collect

    try:
        return collect.rows("drop_reasons", source, {})
    except (OSError, ValueError):
        return None


def text(
    source: Source, target: str | None, seen: Seen, known: Sequence[Stage], lost: Sequence[Lost]
) -> Iterator[str]:
    """The report."""
    from textwrap import wrap

    from ..facts import journey as facts
    from ..facts import rhythm
    from ..terms.text import safe
    from ..terms.units import seconds

    of = f" · {target}" if target else ""
    yield f"{source.host}{of} · {seconds(seen.journey.seconds)}"
    absent = dict(seen.journey.absent)
    yield ""
    yield f"{'stage':12}{'packets':>10}{'p50':>10}{'p99':>10}{'longest':>10}"
    for one in known:
        if one.stage in absent or one.stage.partition("-")[0] in absent:
            continue
        times = (one.p50, one.p99, one.longest)
        row = "".join(f"{seconds(time):>10}" for time in times)
        yield f"{one.stage:12}{one.packets:>10,}{row}  {facts.BRIEF[one.stage]}"
    first = facts.foremost(known)
    told = [*facts.sentences(known, lost), *rhythm.sentences(seen.bursts)]
    yield ""
    if first is not None:
        yield f"packets wait longest in the stage {first.stage}: {facts.MEANS[first.stage]}"
    elif half := facts.queued(known):
        yield from wrap(half, 78)
    elif any(one.packets for one in known):
        yield "no stage makes packets wait long"
    else:
        yield "no packet passed meanwhile"
    for sentence in map(safe, told):
        yield from wrap(sentence, 78, initial_indent="  ", subsequent_indent="    ")
    yield ""
    for sentence in _not_known(seen):
        yield from wrap(safe(sentence), 78)


def _not_known(seen: Seen) -> Iterator[str]:
    """What the figures leave out."""
    from ..facts.journey import UNSEEN
    from ..terms.units import seconds

    yield UNSEEN
    journey = seen.journey
    for stage, why in journey.absent:
        yield f"{WITHOUT.get(stage, stage)} not seen: {why}"
    if journey.looked < 0.9 * journey.seconds:
        yield (
            f"The programs rested to spare the cores: they ran for {seconds(journey.looked)} "
            f"of {seconds(journey.seconds)}."
        )
    if journey.omitted:
        yield f"Packets that had no room in the table: {journey.omitted:,}."
    if journey.why:
        yield journey.why


WITHOUT: Final = {
    "softirq": "Softirqs are", "socket": "Waits for a reader are",
    "datagram": "Datagrams that lie in one piece are", "woken": "Waits for a core are",
    "queue": "Waits in queues are", "again": "Segments sent again are",
}  # fmt: skip


def document(
    source: Source, seen: Seen, known: Sequence[Stage], lost: Sequence[Lost]
) -> dict[str, object]:
    """The --json document; times in seconds."""
    from ..facts import journey as facts
    from ..facts import rhythm

    first = facts.foremost(known)
    return {
        "host": source.host,
        "seconds": seen.journey.seconds,
        "looked": seen.journey.looked,
        "omitted": seen.journey.omitted,
        "longest": first.stage if first else None,
        "stages": [
            {
                "stage": one.stage, "means": facts.MEANS[one.stage],
                **picked(one, "packets p50 p99 longest"),
                "limit": facts.LONG[one.stage], "long": one.long,
                "whose": [whose._asdict() for whose in one.whose],
            }
            for one in known
        ],
        "lost": [one._asdict() for one in lost],
        "rhythms": [one._asdict() for one in seen.bursts],
        "sentences": [*facts.sentences(known, lost), *rhythm.sentences(seen.bursts)],
        "absent": [{"stage": stage, "why": why} for stage, why in seen.journey.absent],
    }  # fmt: skip
