"""The path: how much a congestion control carries at its loss and round trip.

Loss-based controls: MSS / RTT x 1.22 / sqrt(p) (Mathis, Semke, Mahdavi, Ott 1997). BBR paces at the
bandwidth that it measured, also where nothing is lost. What the receiver reports twice (DSACK, RFC
2883) was not lost. What a queue of this host drops is not lost on the path: cake and other queues
that manage delay drop before they are full.

TCP hands over no more while its packets wait below it (tcp_small_queue_check() in
net/ipv4/tcp_output.c). Where no queue of this end has them, one beyond it does: that of the host
around a container, or a shaper behind a bridge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....terms import formulas, units
from ...flow_words import QUIET
from .. import Reading
from ..following import BINDS
from ..looks import Look, loses
from ..stage import Stage
from ..window import mean
from . import queues
from ._peer_reader import STRETCHED, asked

STAGES: Final = (
    Stage("path", "the path", "the network between both hosts", "PATH",
          "look for loss and queues both ways", precedence=160, sending=130,
          receiving=30, fed=True, between=True, implies="cwnd"),
    Stage("peer", "the peer", "the other host", "PEER", "look at the other end: not this host",
          precedence=190, sending=150, receiving=20, always=("rx", "tx"), fault=False, beyond=True,
          implies="rwnd"),
    Stage("unknown", "an unknown cause", "no stage explains the rate", "PEER",
          "look at the other end, or for longer", precedence=200, sending=160, receiving=10,
          fault=False, beyond=True),
)  # fmt: skip
LOSSY: Final = 1e-4  # of the segments lost: from here on the path limits by loss
FILLED: Final = 0.9  # of the congestion window in flight on average: BBR leaves half of it empty
QUEUED: Final = 1.5  # round trip / shortest round trip: below it no queue fills the window
FLIGHT: Final = 0.6  # of the congestion window in flight on average: it limits
WINDOW: Final = 0.2  # of the time limited by the peer's window or the send buffer; below it: free
REACHED: Final = 0.7  # of the bandwidth that BBR measured: it is reached
SPREAD: Final = 1.4  # the formula is right within this factor
HEAVY: Final = 0.02  # of the segments lost: timeouts, which the formula leaves out, cost much too
LONG: Final = 1000  # us; on shorter round trips the CPU may limit the rate that BBR measures
OWN: Final = 0.5  # of the lost segments: a queue of this host drops as many packets
STANDING: Final = 0.9  # of the samples with packets below TCP; a sender without limit has fewer
NEAR: Final = 10_000  # us of the shortest round trip: the other end is in the own network, or near
SLOW: Final = 300_000  # us of the round trip to there; a delayed acknowledgement comes sooner
PAUSE: Final = 0.25  # of that round trip since data last came, on the mean: the sender pauses
TICK: Final = 10_000  # us: the time since data last came is counted in ticks of the kernel
FLAPS: Final = 2  # changes of the state of the link in the window: once down, and up again
COUNTED: Final = 10  # retransmissions: the share of fewer losses may be chance
# segments behind a gap in a round trip, of a sender that its losses hold: those of one window for
# each loss, about 1.5 by Mathis' formula; of many more, it does not slow down at losses
BEHIND: Final = (1.0, 20.0)


def readings(look: Look) -> Iterator[Reading]:
    """The path of a TCP flow that sends; without loss only where BBR paces, or a queue holds."""
    if look.over != "flow" or not look.sends or not look.tcp:
        return
    known = list(_modelled(look))
    beyond = None if any(one.held >= BINDS for one in known) else _beyond(look) or _late(look)
    yield from known if beyond is None else (beyond,)


def gaps(look: Look, free: float) -> Iterator[Reading]:
    """Losses before a socket that receives; `free`: the share of time in which no data waits here.

    Only the sender knows what it lost. Drops of this host at the port of the socket that account
    for the gaps are the cause; else they arise on the way, or by reordering there.
    """
    behind, arrived = look.rated("rcv_ooopack") or 0.0, look.rated("data_segs_in") or 0.0
    trip = _trip(look) / 1e6
    least, most = BEHIND
    if not least <= behind * trip <= most or behind < LOSSY * arrived or look.flow is None:
        return
    why = f"{units.share(min(1.0, behind / arrived))} of the segments arrive behind a gap"
    lost = OWN * behind / (arrived * trip)  # a second
    own, filters = loses(look, lost), queues.dropping(look, lost)
    if own or filters:
        own = own or f"the filters of tc there drop about as many packets as are lost ({filters})"
        yield Reading("refused", "here", filters or "packet filter or queue", "measured",
                      f"{own}; {why}", None, None, free)  # fmt: skip
        return
    yield Reading("path", "there", f"path from {look.flow.remote}", "inferred",
                  f"{why}: lost or reordered before this socket; the sender slows down at losses",
                  None, None, free)  # fmt: skip


def _trip(look: Look) -> float:
    """The round trip of a receiver in us; 0: it is not known.

    Its own measure is from an acknowledgement to the next data (tcp_rcv_rtt_measure_ts()). Of a
    sender that pauses that is the pause, many times the shortest; a queue that stands has none.
    """
    least = float(look.now("min_rtt") or 0)
    trip = mean(entry.now.rcv_rtt for entry in look.tcp) or least
    age = 1e3 * (mean(entry.now.last_received for entry in look.tcp) or 0.0)
    pauses = age >= max(TICK, PAUSE * trip)
    return least if least and trip >= STRETCHED * least and pauses else trip


def _modelled(look: Look) -> Iterator[Reading]:
    """By loss, or by what BBR measured."""
    lost, sent = _lost(look), look.rated("segs_out") or 0.0
    rtt = mean(entry.now.rtt for entry in look.tcp)
    mss = look.now("mss")
    if not sent or not rtt or not mss:
        return
    ratio = min(1.0, lost / sent)
    bbr = str(look.now("congestion")).startswith("bbr")
    lossy = ratio >= LOSSY and lost >= 0.05
    if not lossy and not (bbr and rtt >= LONG):
        return
    speed = (
        8.0 * (look.now("delivery_rate") or 0) if bbr
        else formulas.loss_bound(mss, rtt / 1e6, ratio) or 0.0
    )  # fmt: skip
    full = _window_used(look)
    lose, trip = f"{ratio:.2%} of the segments lost", f"{units.seconds(rtt / 1e6)} round trip"
    why = f"{lose} at {trip}"
    if not lossy and rtt >= STRETCHED * (least := look.now("min_rtt") or rtt):
        why += f", where {units.seconds(least / 1e6)} is the shortest: packets wait on the way "
        why += "there, or acknowledgements on the way back"
    model = "BBR's estimate" if bbr else "Mathis' formula"
    waits = look.often("notsent")
    # what BBR measures below a full window or send buffer is the rate of these
    free = lossy or max(map(look.part, ("rwnd_limited", "sndbuf_limited"))) < WINDOW
    reached = bbr and free and (ratio >= HEAVY or _paced(look, speed))  # free: its window has room
    held = max(full, waits) if (full >= FLIGHT or reached) and waits >= 0.5 else 0.0
    small = full >= FILLED and rtt <= QUEUED * (look.now("min_rtt") or 0)
    if not lossy and (small or asked(look).trips):
        held = 0.0  # BBR measured the rate of a window that something holds small, or of pieces
    if not lossy and not held:
        return
    known = bbr or held or (_counted(look) >= COUNTED and ratio <= HEAVY)
    capacity = (speed / SPREAD, speed * SPREAD) if speed and known else None
    used = min(1.0, look.rate / speed) if speed else None
    if not held and used == 1.0:  # more passes than the model allows, and nothing waits
        used = None
    if lossy and held and (changes := _flaps(look)) >= FLAPS and look.nic is not None:
        link = f"link of {look.nic.name}"
        yield Reading("wire", "here", link, "reported", f"the {link} changed its state "
                      f"{changes} times, between up and down; {why}", used, None, held)  # fmt: skip
        return
    queue = queues.dropping(look, OWN * lost) if lossy and held else None
    if queue is not None:
        around = (0.9 * look.rate, 1.1 * look.rate) if held >= BINDS else None
        yield Reading("qdisc", "here", queue, "reported", f"{why}, as many as it drops", used,
                      around, held)  # fmt: skip
        return
    peer = look.flow.remote if look.flow else "the peer"
    why = f"{lose} on the path or at {peer}, {trip}" if lossy else why
    yield Reading("path", "there", f"path to {peer} ({model})", "computed", why, used, capacity,
                  held)  # fmt: skip


def _beyond(look: Look) -> Reading | None:
    """A queue that this end does not see, which holds the packets of the flow; None: there is none.

    All windows have room, data waits, and its packets wait below TCP for many round trips.
    """
    rtt, least = mean(entry.now.rtt for entry in look.tcp), look.now("min_rtt")
    held = min(look.often("notsent"), look.often("wmem_alloc", 4096))
    if not rtt or not least or rtt < STRETCHED * least or held < STANDING:
        return None
    windows = max(map(look.part, ("rwnd_limited", "sndbuf_limited")))
    if windows >= WINDOW or _window_used(look) >= FLIGHT or queues.standing(look):
        return None
    waiting = mean(entry.now.wmem_alloc for entry in look.tcp) or 0.0
    why = f"{units.size(waiting)} of its packets wait below TCP, in no queue that this end sees; "
    why += f"acknowledged after {units.seconds(rtt / 1e6)}, where the shortest round trip is "
    why += units.seconds(least / 1e6)
    around = (0.9 * look.rate, 1.1 * look.rate)
    return Reading("path", "there", "queue beyond this end", "measured", why, held, around, held)


def _late(look: Look) -> Reading | None:
    """What holds the few bytes of a conversation on a short path; None: its answers come in time.

    The other end acknowledges at once, or after a timer of at most 200 ms (TCP_DELACK_MAX); a radio
    that sleeps, or a host that does, takes longer, and the timeouts of this end show it.
    """
    rtt, least, busy = look.now("rtt"), look.now("min_rtt"), look.part("busy_time")
    if not rtt or not least or least > NEAR or rtt < SLOW:
        return None
    if busy < BINDS or look.rate >= QUIET or not look.now("total_retrans"):
        return None
    radio = look.nic is not None and look.nic.kind == "wireless"
    name = (
        f"radio of {look.nic.name}, or the other end"
        if look.nic and radio
        else "way to the other end, or that end"
    )
    why = f"what it sends waits for an acknowledgement in {units.share(busy)} of the time: that "
    why += f"takes {units.seconds(rtt / 1e6)}, where the shortest round trip is "
    why += units.seconds(least / 1e6)
    return Reading("path", "there", name, "measured", why, busy, None, busy)


def _flaps(look: Look) -> int:
    """How often the link of the interface went down or up in the window."""
    past = look.window.nics.get(look.nic.name, ()) if look.nic is not None else ()
    counts = [one.total.carrier_changes or 0 for _, one in past]
    return int(counts[-1] - counts[0]) if counts else 0


def _paced(look: Look, speed: float) -> bool:
    """Whether BBR sends about what it measured, by the last delivery or by its pacing."""
    pacing = 8 * (mean(entry.now.pacing_rate for entry in look.tcp) or 0.0)
    return any(one and look.rate >= REACHED * one for one in (speed, pacing))


def _lost(look: Look) -> float:
    again = look.rated("total_retrans") or 0.0
    return max(0.0, again - (look.rated("dsack_dups") or 0.0))


def _counted(look: Look) -> int:
    """The retransmissions in the window."""
    last, first = (look.tcp[place].now.total_retrans or 0 for place in (-1, 0))
    return max(0, last - first)


def _window_used(look: Look) -> float:
    return mean(
        min(1.0, (entry.now.unacked or 0) / entry.now.cwnd) if entry.now.cwnd else None
        for entry in look.tcp
    ) or 0.0  # fmt: skip
