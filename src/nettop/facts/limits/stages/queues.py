"""Queues on the way out: qdiscs with their configured rates, transmit ring, pause frames.

A rate limit binds when data waits before it and about its rate passes; the counter `overlimits`
proves nothing (a shaper counts them below its rate too). It also binds when data waits in nearly
all samples although less passes: the bucket is too small for the time between two turns of the
queue, and tokens are lost (tc-tbf(8), `burst`). fq's flow limit binds single flows. A full transmit
ring shows in its drops and in byte queue limits (BQL) that are reached; of a driver without these
in packets that stand in a qdisc which holds none back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ....frame.rates import Entry
from ....terms import units
from ....terms.text import few
from .. import Reading
from ..interfaces import MOVES, arriving, entering, leaving, redirected, stack
from ..looks import Look
from ..stage import Stage
from ..window import mean, share

STAGES: Final = (
    Stage("qdisc", "the qdisc", "the queueing discipline of the interface, such as a shaper",
          "QDISC", "raise its rate or length: tc -s qdisc", precedence=60, sending=60, receiving=95,
          always=("tx",), setting="qdisc.root", queue=True, lost_tx=("qdisc_drops",),
          why="dropped by the queueing discipline"),
    Stage("tx-ring", "the transmit ring", "the transmit ring of the NIC", "RING",
          "the card takes packets too slowly", precedence=50, sending=70, always=("tx",),
          setting="ring.tx", card=True, queue=True, lost_tx=("tx_dropped",),
          why="dropped by driver or device on send"),
    Stage("pause", "pause frames", "pause frames of the switch stop the sender", "PAUSE",
          "the switch or the peer pauses it", precedence=20, sending=115, receiving=45,
          setting="pause.rx", queue=True, between=True),
)  # fmt: skip
HEADERS: Final = 1.1  # a queue counts more than the payload by at most this factor
NEAR: Final = 0.85  # of a configured rate: it is reached
PAID: Final = 0.8  # of fq's rate for a flow, in payload: fq counts the headers of each packet
STANDING: Final = 0.9  # of the samples with waiting packets; normally equal to the shaper's load
# qdiscs that hand a packet on as soon as the device takes one: none waits for a rate or a time
PROMPT: Final = frozenset({
    "pfifo_fast", "pfifo", "bfifo", "fq_codel", "codel", "fq_pie", "pie", "sfq", "red", "prio",
    "drr", "mq", "mqprio",
})  # fmt: skip
MUCH: Final = 0.2  # of a configured rate, or of what others send: from here on they are told
LEAST: Final = 0.3  # of a configured rate that passes although packets always wait
COUNTED: Final = 1.0  # drops a second
REACHED: Final = 0.9  # of a byte queue limit in flight
FILLED: Final = 0.5  # of the samples in which the ring is full: it limits
FREE: Final = 0.25  # of the time that a window may be full, at most, where fq is late
CLASS: Final = "class"  # the kind of a class of another namespace
PAUSED: Final = 0.10  # of the time that pause frames may hold the link
PAUSE_BITS: Final = 65_535 * 512  # that a link could carry while one pause frame holds it


def readings(look: Look) -> Iterator[Reading]:
    """The queues of the interface by which the data leaves, and of those below it.

    For a flow of another namespace, also the queues of this host that its data passes. What arrives
    may be redirected to an ifb and shaped there.
    """
    if not look.sends:
        for before in (arriving(look), redirected(look)):
            if before is not None:
                yield from shapers(before)
        return
    for one in leaving(look):
        yield from shapers(one)
    for one in stack(look):
        yield from shapers(one)
        if one.over == "flow":
            yield from _flow_rate(one)
            yield from _filters(one)
        yield from _ring(one)
        yield from _pause(one)


def dropping(look: Look, least: float) -> str | None:
    """The queue of this host that drops most of what leaves; None: less than `least` packets/s.

    Of what arrives, the filters of the interface.
    """
    policed, out = (entering(look), (*stack(look), *leaving(look))) if look.sends else (look, ())
    lost = [
        (mean(entry.rate("drops") for entry in entries) or 0.0, entries[-1].now)
        for one in (*out, *((policed,) if policed is not None else ()))
        for entries in _queues(one)
        if (entries[-1].now.parent == "ingress") == (one is policed)
    ]
    most, row = max(lost, key=lambda one: one[0], default=(0.0, None))
    return f"{row.kind} {row.handle} of {row.interface}" if row and most >= least else None


def paces(look: Look) -> bool:
    """Whether fq is a queue on the way out: it sends each packet when its socket allows."""
    kinds = (entries[-1].now.kind for one in stack(look) for entries in _queues(one))
    return "fq" in kinds


def standing(look: Look) -> bool:
    """Whether packets wait, most of the time, in a queue on the way out that is seen here."""
    every = (entries for one in (*stack(look), *leaving(look)) for entries in _queues(one))
    return any(_queued(entries) >= FILLED for entries in every)


def _queues(look: Look) -> Iterator[list[Entry[Any]]]:
    """The entries of each qdisc of the interface, also in another namespace."""
    window = look.window
    if look.device is not None:
        for entries in window.of_interface(window.netns_qdiscs, look.device):
            if entries[-1].now.kind != CLASS:
                yield entries
    elif look.nic is not None:
        yield from window.of_interface(window.qdiscs, look.nic.name)


def _classes(look: Look) -> Iterator[tuple[float | None, list[Entry[Any]]]]:
    """The ceiling and the entries of each class of the interface."""
    window = look.window
    if look.device is not None:
        for entries in window.of_interface(window.netns_qdiscs, look.device):
            if entries[-1].now.kind == CLASS:
                yield entries[-1].now.rate, entries
    elif look.nic is not None:
        for entries in window.of_interface(window.classes, look.nic.name):
            row = entries[-1].now
            yield row.limit, entries


def shapers(look: Look) -> Iterator[Reading]:
    """The fullest qdisc or leaf class with a rate, those above and below it; queues that drop."""
    shaped = []
    kinds = {}  # of qdiscs, by the major number of their classes
    for entries in _queues(look):
        row = entries[-1].now
        kinds[row.handle.rstrip(":")] = row.kind
        if row.rate:
            shaped.append(_Shaper(f"{row.kind} {row.handle}", row.handle, row.parent, row.rate,
                                  entries))  # fmt: skip
        elif row.parent != "ingress" and _queued(entries) >= 0.5:
            lost = mean(entry.rate("drops") for entry in entries) or 0.0
            if lost >= COUNTED and row.kind not in ("htb", "hfsc", "noqueue"):
                why = f"mean {units.per_second(lost, 'packets')} dropped, its queue full"
                name = f"{row.kind} {row.handle} of {row.interface}"
                yield Reading("qdisc", "here", name, "reported", why, 1.0, None, _queued(entries),
                              cause="its queue full")  # fmt: skip
    for rate, entries in _classes(look):
        row = entries[-1].now
        if rate:
            name = f"{kinds.get(row.handle.partition(':')[0], 'htb')} class {row.handle}"
            shaped.append(_Shaper(name, row.handle, row.parent, rate, entries, row.leaf))
    passed = [one for one in shaped if one.leaf and _carries(look, one)]
    busiest = max(passed, key=lambda one: one.load, default=None)
    if busiest is not None:
        for one in shaped:
            if one is busiest or one in _above(busiest, shaped) or busiest in _above(one, shaped):
                late = one is busiest and _late(look, one, _above(one, shaped))
                waits = max(_queued(one.entries), _queued(busiest.entries))
                yield _shaper(look, one, waits, late=late)


class _Shaper(NamedTuple):
    """A qdisc or class with a configured rate, in bit/s. Packets wait in leaves only."""

    name: str
    handle: str
    parent: str
    rate: float
    entries: list[Entry[Any]]
    leaf: bool = True

    @property
    def load(self) -> float:
        """The rate through it, as a share of its own."""
        return _load(self.entries, self.rate)


def _carries(look: Look, one: _Shaper) -> bool:
    """Whether it passes as much as a pod's flow moves; otherwise it belongs to other traffic."""
    own = look.over != "flow" or look.namespace is None
    return own or one.load * one.rate >= MOVES * look.rate


def _above(one: _Shaper, shaped: list[_Shaper]) -> list[_Shaper]:
    """The shapers that its packets pass as well: its parent classes, and the qdisc of these."""
    out: list[_Shaper] = []
    parent = one.parent
    while len(out) < len(shaped):
        owners = (parent, f"{parent.partition(':')[0]}:")
        upper = next((other for name in owners for other in shaped if other.handle == name), None)
        if upper is None or upper is one or upper in out:
            break
        out.append(upper)
        parent = upper.parent
    return out


def _late(look: Look, one: _Shaper, above: Sequence[_Shaper]) -> bool:
    """Whether it passes less than its rate while packets always wait, and the device takes them.

    A class that borrows has only its share of a full one above it.
    """
    if not LEAST <= one.load < NEAR or _queued(one.entries) < STANDING:
        return False
    if _pauses(look) or any(upper.load >= NEAR for upper in above):
        return False
    ring = _byte_limit(look, look.nic.name) if look.nic is not None else None
    return ring is None or ring.held < FILLED


def _pauses(look: Look) -> bool:
    """Whether the sender has nothing outstanding in part of the time.

    Its clock runs always; queues are read once a second, so chance may find each burst in them.
    """
    sent, received = (look.rated(name) or 0.0 for name in ("bytes_acked", "bytes_received"))
    busy = look.rated("busy_time")
    return busy is not None and sent >= received and busy < 1e6 * STANDING


def _shaper(look: Look, one: _Shaper, waits: float, *, late: bool) -> Reading:
    used = one.load
    why = f"{_mean(used * one.rate, one.rate)} configured; packets "
    why += f"wait in {units.share(waits)} of the samples"
    name = f"{one.name} of {one.entries[-1].now.interface}"
    if late:
        why += ": it is served late, or its burst is too small for its rate"
        around = (0.9 * look.rate, 1.1 * look.rate)
        return Reading("qdisc", "here", name, "measured", why, 1.0, around, waits)
    held = max(waits, look.often("wmem_alloc", 4096)) if used >= NEAR else 0.0
    others = max(0.0, used * one.rate - HEADERS * look.rate) if look.over == "flow" else 0.0
    most = max(look.rate, one.rate - others)
    if others >= MUCH * one.rate:
        why += f"; others send {units.scaled(others, 'b/s')} by it{_beside(look, others)}"
    return Reading("qdisc", "here", name, "computed", why, min(1.0, used), (0.9 * most, most), held)


def _beside(look: Look, rest: float) -> str:
    """Whose connections send much of the rest; datagrams are not counted by program."""
    nic, own = (look.flow.nic, look.flow.id) if look.flow is not None else (None, None)
    names = {
        f"{one.process}[{one.pid}]" for one in look.facts.here().flows
        if one.pid is not None and one.nic == nic and one.id != own
        and 8 * (one.tx_per_s or 0.0) >= MUCH * rest
    }  # fmt: skip
    return f", such as {few(sorted(names), 2)}" if names else ""


def _mean(rate: float, most: float) -> str:
    """`mean 49.6 Mb/s, 99% of 50 Mb/s`: a share beside the two rates of which it is."""
    shown = units.scaled(rate, "b/s")
    return f"mean {shown}, {units.share(rate / most)} of {units.scaled(most, 'b/s')}"


def _queued(entries: list[Entry[Any]]) -> float:
    """The share of samples in which packets waited in a queue."""
    return share(bool(entry.now.backlog) for entry in entries)


def _load(entries: list[Entry[Any]], rate: float) -> float:
    """The rate through a queue, as a share of its configured rate."""
    return 8 * (mean(entry.rate("bytes") for entry in entries) or 0.0) / rate


def _flow_rate(look: Look) -> Iterator[Reading]:
    """The rate that fq allows each flow (maxrate)."""
    rates: list[Any] = [
        (entries[-1].now.flow_rate, entries[-1].now)
        for entries in _queues(look)
        if entries[-1].now.flow_rate
    ]
    if not rates:
        return
    rate, row = min(rates, key=lambda one: float(one[0]))
    used = look.rate / rate
    waits = max(look.often("notsent"), look.often("wmem_alloc", 4096))
    why = f"{_mean(look.rate, rate)} for each flow (maxrate)"
    held = waits if used >= PAID else 0.0
    capacity = (0.9 * rate, rate)
    if _paces_late(look, rate, used):
        why += "; packets always wait in it and both windows have room: it is served late"
        held, capacity = waits, (0.9 * look.rate, 1.1 * look.rate)
    yield Reading("qdisc", "here", f"fq {row.handle} of {row.interface}", "computed", why,
                  min(1.0, used), capacity, held)  # fmt: skip


def _filters(look: Look) -> Iterator[Reading]:
    """Filters of clsact that drop what leaves; they may drop what arrives instead: one count.

    TCP keeps a packet that its own host drops (tcp_write_xmit()): nothing is sent again.
    """
    for entries in _queues(look):
        row = entries[-1].now
        lost = mean(entry.rate("drops") for entry in entries) or 0.0
        if row.kind == "clsact" and lost >= COUNTED:
            name = f"filters of clsact {row.handle} of {row.interface}"
            cause = "while data waits to be sent"
            why = f"mean {units.per_second(lost, 'packets')} dropped, {cause}"
            yield Reading("qdisc", "here", name, "inferred", why, None, None,
                          look.often("notsent"), cause=cause)  # fmt: skip


def _paces_late(look: Look, rate: float, used: float) -> bool:
    """Whether fq alone holds a flow below its rate: TCP itself would send faster.

    What fq sends late by more than half a packet is lost for good (sch_fq.c, fq_dequeue()).
    """
    allowed = 8 * (mean(entry.now.pacing_rate for entry in look.tcp) or 0.0)
    if not LEAST <= used < PAID or allowed < rate or look.part("rwnd_limited") > FREE:
        return False
    filled = share((e.now.unacked or 0) >= REACHED * (e.now.cwnd or 1) for e in look.tcp)
    standing = any(_queued(entries) >= STANDING for entries in _queues(look))
    return standing and filled <= FREE and look.often("notsent") >= STANDING


def _ring(look: Look) -> Iterator[Reading]:
    nic = look.nic
    if nic is None or nic.kind != "nic":
        return
    lost = look.counted("tx_dropped") or 0.0
    full = lost >= COUNTED
    limited = _byte_limit(look, nic.name)
    if limited is not None and not full:
        yield limited
        return
    stands = None if limited or full else _stands(look, nic.name)
    if stands is not None:
        yield stands
        return
    if look.counted("tx_dropped") is None:
        return
    why = f"mean {units.per_second(lost, 'packets')} dropped on transmit"
    yield Reading("tx-ring", "here", f"transmit ring of {nic.name}", "reported", why,
                  1.0 if full else None, None, 0.8 if full else 0.0)  # fmt: skip


def _byte_limit(look: Look, interface: str) -> Reading | None:
    """The transmit queue that most often has as much in flight as its byte queue limit allows.

    Packets that wait in the qdisc meanwhile wait for the device.
    """
    queues = [
        (share(e.now.inflight >= REACHED * e.now.limit for e in entries), entries)
        for entries in look.window.of_interface(look.window.bql, interface)
    ]
    if not queues:
        return None
    full, entries = max(queues, key=lambda one: one[0])
    row = entries[-1].now
    waits = max(
        (_queued(one) for one in look.window.of_interface(look.window.qdiscs, interface)),
        default=0.0,
    )
    largest = row.limit_max is not None and row.limit >= row.limit_max
    name = f"transmit ring of {interface}, {row.queue}" + (", BQL limit_max" if largest else "")
    why = (
        f"its byte queue limit, {units.size(row.limit)}, is reached in {units.share(full)} of the "
    )
    why += f"samples; packets wait before it in {units.share(waits)}"
    held = min(full, waits)
    around = (0.9 * look.rate, 1.1 * look.rate) if held >= FILLED else None
    return Reading("tx-ring", "here", name, "measured", why, full, around, held)


def _stands(look: Look, interface: str) -> Reading | None:
    """Packets that wait most of the time, though the device is all that they can wait for."""
    every = list(_queues(look))
    rows = [entries[-1].now for entries in every]
    if any(one.rate or one.kind not in PROMPT for one in rows if one.parent != "ingress"):
        return None
    waits, entries = max(((_queued(one), one) for one in every), key=itemgetter(0), default=(0, []))
    if waits < FILLED:
        return None
    packets = mean(float(entry.now.qlen or 0) for entry in entries) or 0.0
    why = f"packets stand before it in {units.share(waits)} of the samples, {units.count(packets)} "
    why += "on average, in a qdisc that holds none back: the device takes no more"
    around = (0.9 * look.rate, 1.1 * look.rate)
    name = f"transmit ring of {interface}"
    return Reading("tx-ring", "here", name, "measured", why, waits, around, waits)


def _pause(look: Look) -> Iterator[Reading]:
    nic = look.nic
    frames = look.counted("pause_rx")
    if nic is None or not frames:
        return
    held = frames * PAUSE_BITS / nic.speed if nic.speed else 1.0
    why = f"the link partner sends {units.per_second(frames, 'pause frames')}"
    binds = frames >= COUNTED and held >= PAUSED
    yield Reading("pause", "there", f"link partner of {nic.name}", "reported", why, min(1.0, held),
                  None, 0.9 if binds else 0.0)  # fmt: skip
