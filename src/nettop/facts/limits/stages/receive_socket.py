"""The receiving socket: its reader, its buffer, and what lies before it.

Unread data means that the program reads no faster. The buffer limits if the queue is empty and the
window allows just about the present rate at the receiver's own round trip (tcp_rcv_rtt_measure()).
On a path that is shorter than the kernel can measure, the window is open again once its reader has
had a CPU: the buffer limits if the queue is again and again as long as the window, and the reader
runs for a moment each time, since sender and reader then wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ....collect.drop_reasons import words
from ....terms import formulas, units
from ...flow_words import EVERYWHERE, end
from .. import Reading
from ..feeding import cause
from ..following import BINDS
from ..interfaces import stack
from ..looks import Look
from ..stage import Stage
from ..window import mean, share
from . import cpu, path, queues
from ._peer_reader import STRETCHED

STAGES: Final = (
    Stage("rcvbuf", "the receive buffer", "the receive buffer of the socket", "SOCKET",
          "a larger buffer, or read sooner", precedence=130, receiving=110, always=("rx",),
          implies="application", why="socket buffers full", most="net.ipv4.tcp_rmem",
          lost_here=("rcvq_drops", "socket_backlog_drops", "udp_rcvbuf_errors",
                     "udp_memory_errors")),
)  # fmt: skip
UNREAD: Final = 0.25  # of the receive buffer: as the rule application-does-not-read
CHANCE: Final = 0.1  # of the samples: a reader that takes what it asked for leaves less
REPEATED: Final = 0.25  # of the samples: it is behind again and again, not once by chance
FILLED: Final = 0.4  # of the buffer arrives in a round trip as payload: the window is full
# of the buffer that is offered as window: half (tcp_adv_win_scale 1, up to Linux 6.5), then by the
# size of packets in memory (scaling_ratio in include/linux/tcp.h)
OFFERED: Final = (0.5, 0.7)
FIXED: Final = 0.9  # of the largest buffer that autotuning makes
KEPT: Final = 0.55  # of a buffer: autotuning makes it twice what arrives in a round trip, and more
SCALED: Final = 0.6  # of the largest window that can be offered arrives in a round trip
HELD: Final = 0.2  # of the buffer is offered: automatic tuning offers half, and a third as it grows
LONG: Final = 1e-3  # seconds; the receiver's figure of shorter round trips is unreliable
OFTEN: Final = 0.3  # of the samples the whole window is unread: the sender stands again and again
# seconds; a thread that runs for less at a time has slept, since the scheduler leaves it so long
# (sysctl_sched_base_slice in kernel/sched/fair.c)
SLICE: Final = 0.7e-3
_FULL: Final = "SOCKET_RCVBUFF"
TYPED: Final = 400_000  # bit/s: someone who types gets less
PIECES: Final = (0.4, 1.1)  # of the time is the wait for the first byte of a piece
# of requests in two parts, as in the rule: answers a second, segments of a request, and
# acknowledgements for each answer; a round trip in seconds, and the least delay of the timer
ANSWERS: Final = (4.0, 27.0)
PARTS: Final = 1.5
ALIKE: Final = 0.75
NEAR: Final = 0.005
DELAY: Final = 0.04
SILENT: Final = 0.005  # seconds: ages are in ticks, of 4 ms at 250 Hz
_WAITS: Final = ("established", "close-wait")  # states of a connection that was not accepted


def readings(look: Look) -> Iterator[Reading]:
    """The stages of a socket that receives."""
    if look.over == "socket" and not look.sends:
        yield from _datagrams(look)
    elif look.over == "flow" and not look.sends and look.tcp:
        yield from _stream(look)


def _listens(look: Look) -> str:
    """The program that listens at the local end of a connection, as name[pid] if it is known.

    Of several (SO_REUSEPORT) that with most connections to accept.
    """
    local, _, port = look.target.partition(">")[0].rpartition(":")
    found = [
        one for one in look.facts.more.get("listener", ())
        if look.namespace is None and one.pid and str(one.port) == port
        and one.local in (local.strip("[]"), *EVERYWHERE)
    ]  # fmt: skip
    one = max(found, key=lambda one: one.waiting, default=None)
    return f"{one.process}[{one.pid}]" if one is not None else "the program that listens"


def _stream(look: Look) -> Iterator[Reading]:
    flow = look.flow
    size = look.now("rcvbuf") or 0
    around = (0.9 * look.rate, 1.1 * look.rate)
    behind = share(
        bool(e.now.rcvbuf and (e.now.rmem_alloc or e.now.recv_q) >= UNREAD * e.now.rcvbuf)
        for e in look.tcp
    )
    unread = look.often("recv_q")
    if all(not e.now.inode and e.now.state in _WAITS for e in look.tcp):
        yield Reading(
            "application", "here", _listens(look), "measured",
            "the connection waits in the accept queue: the program has not accepted it", 1.0,
            (look.rate, look.rate), 1.0,
        )  # fmt: skip
        return
    if short := _short(look):
        yield Reading(
            "rcvbuf", "here", f"memory of TCP sockets that cgroup {short} allows", "measured",
            "its sockets get no more memory: segments that arrive are dropped, and sent again",
            1.0, around, 1.0,
        )  # fmt: skip
        return
    waiting = mean(entry.now.recv_q for entry in look.tcp) or 0.0
    name = f"{flow.process}[{flow.pid}]" if flow is not None and flow.pid else "the program"
    # a reader that sleeps while data waits does so by choice; else it waits for a core, or runs
    known = cpu.threads(look, flow.pid) if flow is not None and flow.pid is not None else []
    sleeps = 1.0 - max((one.used for one in known), default=0.0)
    rests = unread == 1.0 and not look.rate  # the same few bytes lie there all the time
    stands = max(behind, unread if behind >= REPEATED or rests else 0.0)
    held = min(sleeps, stands)
    why = f"{units.size(waiting)} wait to be read, on average"
    asks = _asks_late(look, unread)
    if asks > held:
        held, why = asks, "it asks for more only after it waited for something else"
    yield from _halves(look)
    pieces = _pieces(look)
    if pieces > held:
        held = pieces
        why = f"it sends {units.per_second(look.rated('data_segs_out') or 0.0, 'requests')}, and "
        why += f"each is followed by {units.seconds((look.now('rtt') or 0) / 1e6)} without data"
        yield Reading("request", "here", name, "measured", why, held, None, held)
    yield Reading("application", "here", name, "measured", why, held or None,
                  around if held >= 0.5 else None, held)  # fmt: skip
    if size:
        busiest = max(known, key=lambda one: one.used, default=None)
        closed = _closed(look, size, busiest) if held < BINDS else 0.0
        buffer = _buffer(look, size, unread, closed)
        # a reader that waits for its next piece leaves most of the buffer empty
        yield replace(buffer, capacity=None) if pieces and not buffer.held else buffer
    free = 1.0 - max(stands, unread / 2, asks, pieces)
    yield from path.gaps(look, free)
    yield from _acknowledgements(look, free)
    late = _answers_late(look, name)
    why = late or "no data waits at this end: look at the sender"
    yield Reading("peer", "there", "other end, or the path to it", "inferred", why, None, None,
                  free, how="late" if late else "")  # fmt: skip


def _acknowledgements(look: Look, free: float) -> Iterator[Reading]:
    """The shapers of this host in whose queue its acknowledgements wait: the sender waits for them.

    The round trip of the receiver has that wait. `free`: the share of time without unread data.
    """
    trip, least = mean(entry.now.rcv_rtt for entry in look.tcp) or 0.0, look.now("min_rtt")
    if not least or trip / 1e6 < LONG or trip < STRETCHED * least:
        return
    for one in stack(look):
        for full in queues.shapers(replace(one, direction="tx", rate=0.0)):
            why = f"its acknowledgements wait there: {units.seconds(trip / 1e6)} from one to the "
            why += "data that it asks for, where the shortest round trip is "
            why += f"{units.seconds(least / 1e6)}; {full.because}"
            yield replace(full, because=why, capacity=None, held=min(full.held, free))


def _answers_late(look: Look, name: str) -> str:
    """How long each answer of the other end takes where that fills most of the time; else empty.

    Data was sent when the last data had come, or later (tcpi_last_data_sent is no larger), and then
    nothing came for longer than a tick of the kernel's clock and a round trip.
    """
    asked, trip = look.rated("data_segs_out") or 0.0, (look.now("rtt") or 0) / 1e6
    ages = ((one.now.last_sent, one.now.last_received) for one in look.tcp)
    least = 1e3 * (SILENT + trip)
    waits = share(None not in (sent, came) and sent <= came >= least for sent, came in ages)
    if look.flow is None or not asked or waits < BINDS or asked * trip >= PIECES[0]:
        return ""
    return (
        f"{name} waits {units.share(waits)} of the time, {units.seconds(waits / asked)} for each "
        f"answer of {end(look.flow.remote, look.flow.remote_port)}, {units.seconds(trip)} away"
    )


def _halves(look: Look) -> Iterator[Reading]:
    """Requests of the other end whose second part waits for a delayed acknowledgement of this one.

    As the rule requests-arrive-in-two-parts: two segments for each answer, with an acknowledgement
    by the timer (net/ipv4/tcp_timer.c, tcp_delack_timer_handler()) between them.
    """
    answers, came = look.rated("data_segs_out") or 0.0, look.rated("data_segs_in") or 0.0
    alone = (look.rated("segs_out") or 0.0) - answers
    late = (look.facts.host.delayed_acks or 0.0) if look.namespace is None else 0.0
    if not ANSWERS[0] < answers < ANSWERS[1] or came <= PARTS * answers:
        return
    if min(alone, late) <= ALIKE * answers or (look.now("min_rtt") or 0) / 1e6 >= NEAR:
        return
    held = min(1.0, answers * DELAY)
    why = f"{units.per_second(came, 'segments')} arrive for {units.per_second(answers, 'answers')},"
    why += f" and {units.per_second(late, 'acknowledgements')} are delayed: the rest of a request"
    why += " waits for that of its beginning"
    yield Reading("nagle", "there", "writes of the other end", "measured", why, held, None, held)


def _short(look: Look) -> str:
    """The cgroup that refuses memory to the program of a flow; empty: none does."""
    pid = look.flow.pid if look.flow is not None else None
    found = (one for one in look.facts.more.get("memcg", ()) if one.short and pid in one.pids)
    return next((str(one.cgroup) for one in found), "")


def _pieces(look: Look) -> float:
    """The share of time in which a reader waits for the first byte of each piece; 0: it does not.

    It asks for the next piece when it has the last one: each request is followed by a round trip in
    which nothing comes. More requests than round trips are on their way together.
    """
    asked, trip = look.rated("data_segs_out") or 0.0, (look.now("rtt") or 0) / 1e6
    if (look.now("min_rtt") or 0) / 1e6 <= LONG or look.rate < TYPED or look.often("recv_q") >= 0.5:
        return 0.0
    part = asked * trip
    return max(BINDS, min(1.0, part)) if PIECES[0] <= part <= PIECES[1] else 0.0


def _asks_late(look: Look, unread: float) -> float:
    """The share of time in which a reader that asks for each piece waits for something else.

    It sends a request, reads the answer at once, so that none waits, and sleeps before the next
    request. A reader that asks for nothing and finds nothing when it wakes waits for the sender.
    One that was followed through a pipe to a program which does not keep up may be seen to read.
    """
    asked = mean(entry.rate("bytes_acked") for entry in look.tcp) or 0.0
    found = cause(look) if asked and unread < BINDS else None
    known = found is not None and (unread < CHANCE or "pipe" in found.joint)
    return found.share if found is not None and known else 0.0


def _closed(look: Look, size: int, reader: cpu.Thread | None) -> float:
    """The share of samples in which all of a window was unread that its reader empties at once.

    0 if that is rare, if the reader never sleeps, or if a round trip is long enough to be judged.
    The sender stands while the window is closed, and the reader sleeps once the queue is empty: a
    larger buffer lets both work at a time. A reader without a pause would fill that one too.
    """
    if reader is None or not reader.runs or reader.ran >= SLICE * reader.runs:
        return 0.0
    if look.rate < 8 * FILLED * size * reader.runs:
        return 0.0
    full = share(
        bool(e.now.rcv_ssthresh) and e.now.recv_q >= FIXED * e.now.rcv_ssthresh for e in look.tcp
    )
    return full if full >= OFTEN else 0.0


def _buffer(look: Look, size: int, unread: float, closed: float) -> Reading:
    triple = look.triples.get("tcp_rmem", ())
    most = triple[2] if len(triple) == 3 else None
    trip = (mean(entry.now.rcv_rtt for entry in look.tcp) or 0.0) / 1e6
    flying = formulas.bdp(look.rate, trip)
    final = most is None or size >= FIXED * most or size < triple[1] * 2
    scale = 0 if look.now("wscale") is False else look.now("rcv_wscale")
    window = float("inf") if scale is None else formulas.largest_window(scale)
    offered = look.now("rcv_ssthresh") or size  # more is not offered, though the buffer has room
    held = offered < min(HELD * size, window) and flying >= SCALED * offered
    window = offered if held else window
    unscaled = window < OFFERED[0] * size  # the rest of the buffer cannot be offered
    kept = flying >= KEPT * size and all(entry.now.rcvbuf == size for entry in look.tcp)
    filled = kept or (final and flying >= FILLED * size)
    if unscaled:
        filled = flying >= SCALED * window
    closed = closed if final and trip < LONG else 0.0
    full = bool(closed) or (trip >= LONG and filled and unread < 0.5)
    owner = "net.ipv4.tcp_rmem" if most is not None and size >= FIXED * most else "SO_RCVBUF"
    name = f"receive buffer {units.size(size)}" + (f", {owner}" if full else "")
    if held:
        name = f"receive window {units.size(window)} of a buffer of {units.size(size)}"
    elif unscaled:
        name = f"receive window {units.size(window)} at the most, by {_scaled(look)}"
    why = f"{units.size(flying)} arrive in a round trip of {units.seconds(trip)}"
    if closed:
        why = f"the whole window is unread in {units.share(closed)} of the samples, though its "
        why += "reader empties it each time that it runs"
    largest = size if full or most is None else max(size, most)
    # the queue of what limits now is part of `trip`; the handshake was measured without it
    alone = min(trip, (look.now("min_rtt") or 0.0) / 1e6 or trip)
    capacity = (0.9 * look.rate, 1.1 * look.rate) if full else None
    if capacity is None and alone >= LONG:
        whole = formulas.window_cap(largest, alone)
        bound = formulas.window_cap(window, alone)
        capacity = min(OFFERED[0] * whole, SCALED * bound), min(OFFERED[1] * whole, bound)
    used = min(1.0, flying / (window if unscaled else size)) if trip >= LONG else None
    kind = "measured" if closed else "computed"
    piece = min(OFFERED[0] * size, window) / 2  # of a small window, tcp_bound_to_half_wnd()
    return Reading("rcvbuf", "here", name, kind, why, closed or used, capacity,
                   1.0 if full else 0.0, piece=piece)  # fmt: skip


def _scaled(look: Look) -> str:
    """What decided the scale of the window: `window` of the route, if one limits flows there."""
    to = look.target.partition(">")[2].rpartition(":")[0].strip("[]")
    for one in look.facts.more.get("metric", ()):
        if one.window and to in one.peers:
            return f"`window {one.window}` of the route {one.to} (ip route change without it)"
    return "its scale"


def _datagrams(look: Look) -> Iterator[Reading]:
    """A UDP socket that drops: its reader is behind always (application) or in bursts (rcvbuf).

    What the kernel refuses for another reason has nothing to do with the reader.
    """
    lost = mean(entry.rate("drops") for entry in look.udp) or 0.0
    waits = share(bool(entry.now.recv_q) for entry in look.udp)
    flow = look.flow
    name = f"{flow.process}[{flow.pid}]" if flow is not None and flow.pid else "the program"
    room, means = _for_want_of_room(look)
    if room > 0.0:
        why = f"mean {units.per_second(room * lost, 'datagrams')} dropped, the buffer full"
        yield Reading("rcvbuf", "here", "receive buffer of the socket", "reported", why, 1.0, None,
                      room * (1.0 - waits / 2), cause="the buffer full")  # fmt: skip
    if room < 1.0:
        why = f"mean {units.per_second((1.0 - room) * lost, 'datagrams')} refused: {means}"
        yield Reading("refused", "here", "what keeps datagrams from the socket", "reported", why,
                      None, None, 1.0 - room, cause=means)  # fmt: skip
    yield Reading("application", "here", name, "measured",
                  f"datagrams wait to be read in {units.share(waits)} of the samples", waits, None,
                  waits if waits >= 0.8 else waits / 2)  # fmt: skip


def _for_want_of_room(look: Look) -> tuple[float, str]:
    """The share of the drops of a UDP socket for which its buffer was full; why the others are.

    net/ipv4/udp.c counts each of them in the drops of the socket. The reasons of the kernel at its
    port decide; without them RcvbufErrors of the host does, which only a full buffer raises.
    """
    if look.namespace is not None or look.flow is None:
        return 1.0, ""
    seen = look.window.refused.get(str(look.flow.local_port), {})
    others = {what: packets for what, packets in seen.items() if what[0] != _FULL}
    if seen:
        first = max(others, key=lambda what: others[what], default=(_FULL, ""))
        return 1.0 - sum(others.values()) / sum(seen.values()), words(*first).means
    if look.udp and look.udp[-1].rate("drops") and look.facts.host.udp_rcvbuf_errors == 0:
        return 0.0, "a filter of the socket, a policy of IPsec, a checksum or the memory of UDP"
    return 1.0, ""
