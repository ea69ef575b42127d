"""The sending socket: application, send buffer, pacing, congestion window, the peer's window.

tcp_info has clocks of the time in which data was outstanding (busy_time), the peer's window was
full (rwnd_limited) or the send buffer was (sndbuf_limited): net/ipv4/tcp_output.c,
tcp_chrono_start(). They are shares of wall time here. A send buffer is full when less than a third
of it is free: then no writer is woken (include/net/sock.h, sk_stream_is_writeable()).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ....frame.rates import Entry
from ....terms import formulas, units
from ...kinds.metric import locking
from .. import Interval, Reading
from ..looks import Look, loses
from ..stage import Stage
from ..window import mean, share
from . import _peer_reader, _timer, queues
from ._peer_reader import STRETCHED, asked

STAGES: Final = (
    Stage("application", "the application", "the program offers no more data", "PROCESS",
          "nothing to fix: it sends all it has", precedence=180, sending=10, receiving=130,
          fault=False, implies="rcvbuf"),
    Stage("sndbuf", "the send buffer", "the send buffer of the socket is full", "SOCKET",
          "larger net.ipv4.tcp_wmem or SO_SNDBUF", precedence=120, sending=30, always=("tx",),
          fed=True, why="UDP send buffers full", most="net.ipv4.tcp_wmem"),
    Stage("nagle", "the small writes",
          "a part smaller than a segment waits for a delayed acknowledgement", "SOCKET",
          "one write a request, or TCP_NODELAY", precedence=165, sending=35,
          receiving=109),
    Stage("refused", "a drop on this host",
          "the packet filter or a queue of this host, which drops what the socket sends, or what "
          "keeps datagrams from a socket that has room", "SOCKET",
          "see `nettop why --to ADDRESS:PORT`", precedence=25, sending=38, receiving=112,
          short="local drop"),
    Stage("pacing", "the pacing limit",
          "the rate that the program or the congestion control allows", "PACING",
          "the program or the qdisc paces it", precedence=100, sending=40),
    Stage("cwnd", "the congestion window", "the congestion window", "CWND",
          "see loss and round trip (4 Flows)", precedence=170, sending=50, fed=True, grows=True,
          implies="path"),
    Stage("rwnd", "the peer's receive window", "the window that the receiver offers", "PEER",
          "tune the peer's receive buffer", precedence=110, sending=140, receiving=105, fed=True,
          grows=True, beyond=True, short="peer window"),
)  # fmt: skip
OFTEN: Final = 0.3  # of the time: a full send buffer may limit
FULL: Final = 2 / 3  # of the send buffer in use: writers are not woken
EMPTY: Final = 0.1  # of the send buffer unsent; less counts as nothing
WINDOW_FULL: Final = 0.9  # of the congestion window in flight
WINDOW_SENT: Final = 0.8  # of the peer's window in flight: a sender that paces does not fill it
PACED: Final = 0.8  # of the pacing limit: payload is less than what pacing counts
LATE: Final = 0.3  # of the pacing limit that is reached although data waits
FREE: Final = 0.25  # of the time that a window may be full, at most, where pacing is late
HALF: Final = 0.5  # of a window in use; below it no capacity is given on a short path
LONG: Final = 1000  # us; shorter round trips are mostly queues and CPU time
SLACK: Final = 2.0  # a window that allows so many times the rate does not limit it
PART: Final = 2  # segments in flight: a request that was written in parts
DELAYED: Final = 10_000  # us; a delayed acknowledgement comes after 40 ms (TCP_DELACK_MIN)
NEAR: Final = 5_000  # us; the shortest round trip of a path that explains no such delay
TRIED: Final = 2  # doublings of the timer: a full queue may refuse a segment once
SAMPLES: Final = 3  # of a socket: what waits in one may just have been written
SET: Final = 0.9  # of the largest buffer that autotuning makes


def readings(look: Look) -> Iterator[Reading]:
    """The stages of a TCP socket that sends."""
    if look.over != "flow" or not look.sends or not look.tcp:
        return
    reader = _peer_reader.reading(look, _waits(look))
    waits = asked(look)
    yield _application(look, waits.trips)
    yield from _small(look)
    yield from _refused(look)
    yield from _buffer(look, lets=reader is not None or waits.sleeps)
    yield from _pacing(look)
    yield from _congestion(look, slow_reader=reader is not None)
    if reader is not None:
        yield reader
    yield from _window(look)


def _application(look: Look, trips: float) -> Reading:
    """The program hands over less than everything behind it would take.

    `trips` is the share of time in which it waits for the next question of the other end. Linux
    before 4.6 does not report what waits (tcpi_notsent_bytes), before 4.10 no busy time.
    """
    idle = 1.0 - look.part("busy_time") if look.rated("busy_time") is not None else 0.0
    known = [entry.now for entry in look.tcp if entry.now.notsent is not None]
    held = max(idle, share(map(_room, known)), trips)
    why = f"nothing waits to be sent in {units.share(held)} of the time"
    if not known and not idle:
        why = "this kernel does not report what waits to be sent"
    used = held or None
    return Reading("application", "here", _program(look), "inferred", why, used, None, held)


def _small(look: Look) -> Iterator[Reading]:
    """A part of a request that waits until the part before it is acknowledged, which takes 40 ms.

    Nagle's algorithm holds it (tcp_nagle_test()), and the peer waits for the rest of the request.
    A cork holds it for 200 ms, with nothing to be acknowledged.
    """
    corked = look.rate and share(map(_corked, look.tcp))
    if corked and corked >= 0.5:
        why = (
            f"in {units.share(corked)} of the samples a part smaller than a segment waits, though "
        )
        why += (
            "nothing is in flight and the window is open: TCP_CORK or MSG_MORE holds it for 200 ms"
        )
        yield Reading("nagle", "here", f"writes of {_program(look)}", "measured", why, corked,
                      None, corked, how="corked")  # fmt: skip
        return
    rtt, least = look.now("rtt") or 0, look.now("min_rtt")
    held = share(
        0 < (one.now.notsent or 0) < (one.now.mss or 0) and 0 < (one.now.unacked or 0) <= PART
        for one in look.tcp
    )
    if held >= 0.5 and least is not None and least < NEAR and rtt > DELAYED:
        why = f"in {units.share(held)} of the samples a part smaller than a segment waits for an "
        why += f"acknowledgement; with those that come at once they take {units.seconds(rtt / 1e6)}"
        why += " on average"
        yield Reading("nagle", "here", f"writes of {_program(look)}", "measured", why, held,
                      None, held, how="delayed")  # fmt: skip


def _corked(entry: Entry[Any]) -> bool:
    """Whether the program holds back a part of a segment: the rule corked-data-waits."""
    row, mss = entry.now, entry.now.mss or 0
    probed = bool(row.unacked or row.probes)
    return 0 < (row.notsent or 0) < mss < (row.snd_wnd or 0) and not probed


def _refused(look: Look) -> Iterator[Reading]:
    """Segments that this host itself drops: nothing is in flight, and the window is open.

    A local drop ends tcp_write_xmit(), so the timer for probes of a closed window tries again
    (tcp_check_probe_timer() in include/net/tcp.h). What a queue does not take does not double it:
    tcp_send_probe0() in net/ipv4/tcp_output.c.
    """
    queued = len(look.tcp) >= SAMPLES
    held = share(
        bool(one.now.notsent)
        and not one.now.unacked
        and ((one.now.backoff or 0) >= TRIED or (queued and not one.now.backoff))
        and (one.now.snd_wnd or 0) >= (one.now.mss or 1)
        for one in look.tcp
    )
    if held >= 0.5 and not look.rate:
        why = f"in {units.share(held)} of the samples data waits, none is in flight, and the peer's"
        why += " window is open: this host drops what is sent"
        why = loses(look) or why
        what = "source address, filter or queue"
        yield Reading("refused", "here", what, "measured", why, held, None, held)


def _room(row: Any) -> bool:
    """Whether the program could write more and all full segments that it wrote were sent.

    Less than a segment waits for more data by Nagle's algorithm or TCP_CORK (tcp_nagle_test()).
    """
    return (row.notsent or 0) < (row.mss or 1) and not _full(row)


def _waits(look: Look) -> float:
    """The share of samples in which the congestion window or the send buffer is full."""
    return share(_filled(entry.now) or _full(entry.now) for entry in look.tcp)


def _filled(row: Any) -> bool:
    """Whether the congestion window is full and data waits."""
    return bool(row.cwnd and (row.unacked or 0) >= WINDOW_FULL * row.cwnd and row.notsent)


def _full(row: Any) -> bool:
    """Whether all of the send buffer is in flight: everything was sent and no more fits."""
    return _taken(row) and (row.notsent or 0) <= EMPTY * row.sndbuf


def _taken(row: Any) -> bool:
    """Whether so much of the send buffer is used that no writer is woken, sent or not."""
    return bool(row.sndbuf and row.wmem_queued and row.wmem_queued >= FULL * row.sndbuf)


def _buffer(look: Look, *, lets: bool) -> Iterator[Reading]:
    """The send buffer; `lets`: what waits in it waits for another, or no writer waits for room."""
    size = look.now("sndbuf")
    if not size:
        return
    clock = look.part("sndbuf_limited")
    filled = share(_full(entry.now) for entry in look.tcp)
    full = held = max(clock, filled)
    waits = min(1.0, full + look.part("rwnd_limited"))  # the kernel counts one or the other
    beyond = _beyond(look, size) if full >= EMPTY and waits >= 0.5 else ""
    if lets:
        held = 0.0
    elif beyond:
        name = "other end, or the path to it"
        yield Reading("peer", "there", name, "inferred", beyond, None, None, waits)
        held = 0.0
    triple = look.triples.get("tcp_wmem", ())
    most = triple[2] if len(triple) == 3 else None
    used = max(full, share(_taken(entry.now) for entry in look.tcp))  # by what waits later too
    fixed = used >= 0.5 and size < formulas.least_send_buffer(look.now("mss") or 0)
    chosen = most is not None and size < SET * most and (held >= 0.5 or fixed)
    owner = "set by the program (SO_SNDBUF)" if chosen else "net.ipv4.tcp_wmem"
    if not chosen and used >= 0.5 and most is not None and size < SET * most:
        owner += " or SO_SNDBUF"
    fills = chosen or most is None or (held >= OFTEN and used >= 0.5)  # and did not grow
    largest = size if fills else max(size, most or 0)
    name = f"send buffer {units.size(size)}, {owner}"
    what = "full" if round(used, 2) == round(full, 2) else "full of what is in flight"
    why = f"{units.size(size)} buffer {what} {units.share(full)} of the time"
    capacity = _around(look.rate) if held >= 0.5 else _per_trip(look, largest)
    kind = "reported" if clock >= 0.5 else "measured"
    yield Reading("sndbuf", "here", name, kind, why, full, capacity, held, piece=size / 3)


def _beyond(look: Look, size: float) -> str:
    """Why data in a full send buffer only waits for a later stage; empty if the buffer limits.

    At the shortest round trip the buffer would carry a multiple of the rate. Its data waits for a
    queue, or for a reader that gets no CPU.
    """
    rtt = mean(entry.now.rtt for entry in look.tcp)
    least = look.now("min_rtt")
    if not rtt or not least or rtt < STRETCHED * least:
        return ""
    if formulas.window_cap(size, least / 1e6) < STRETCHED * look.rate:
        return ""
    trips = units.seconds(rtt / 1e6), units.seconds(least / 1e6)
    return f"acknowledged after {trips[0]}, where the shortest round trip is {trips[1]}"


def _pacing(look: Look) -> Iterator[Reading]:
    most = look.now("max_pacing_rate")
    if not most:
        return
    limit = 8.0 * most
    used = min(1.0, look.rate / limit)
    waits = max(look.often("notsent"), look.part("sndbuf_limited"))
    why = f"SO_MAX_PACING_RATE is {units.scaled(limit, 'b/s')}; data waits {units.share(waits)}"
    held = waits if used >= PACED else 0.0
    capacity = (0.9 * limit, limit)
    name = "pacing limit of the socket"
    yield Reading("pacing", "here", name, "computed", f"{why} of the time", used, capacity, held)
    if LATE <= used < PACED * waits and _open(look):  # a writer that pauses leaves nothing to send
        yield _timer.reading(look, limit, waits)


def _open(look: Look) -> bool:
    """Whether both windows have room and nothing waits below TCP: then only pacing holds data.

    Where fq is the queue it paces in place of TCP (sk_pacing_status): packets wait in it.
    """
    below = 0.0 if queues.paces(look) else look.often("wmem_alloc", 4096)
    filled = share(_filled(entry.now) for entry in look.tcp)
    return max(filled, look.part("rwnd_limited"), below) <= FREE


def _congestion(look: Look, *, slow_reader: bool) -> Iterator[Reading]:
    cwnd, mss, rtt = look.now("cwnd"), look.now("mss"), look.now("rtt")
    if not cwnd or not mss or not rtt:
        return
    filled = share(_filled(entry.now) for entry in look.tcp)
    allowed = formulas.window_cap(cwnd * mss, rtt / 1e6)
    held = filled if allowed <= SLACK * look.rate and not slow_reader else 0.0
    most = f"{units.many(cwnd, 'segments')} in flight at most"
    why = f"{most}, full in {units.share(filled)} of the samples"
    used = min(1.0, look.rate / allowed) if allowed else None
    capacity = (0.75 * allowed, 1.25 * allowed) if used is not None and used >= HALF else None
    name = f"congestion window ({look.now('congestion') or 'TCP'})"
    if look.flow is not None and look.namespace is None:
        route = locking(look.facts.more.get("metric", ()), look.flow.remote, cwnd)
        why += f": the route to {route.to} locks it" if route is not None else ""
    piece = cwnd * mss / 3  # tcp_tso_win_divisor, net/ipv4/tcp_output.c
    yield Reading("cwnd", "here", name, "measured", why, used, capacity, held, piece=piece)


def _window(look: Look) -> Iterator[Reading]:
    """The peer's window: small for the round trip (rwnd), or closed by a slow reader (peer)."""
    if share(_unanswered(entry.now) for entry in look.tcp) >= 0.5:
        return  # what has no answer fills it, whoever reads
    held = look.part("rwnd_limited")
    offered, rtt = look.now("snd_wnd"), look.now("min_rtt") or look.now("rtt")
    allowed = formulas.window_cap(offered, rtt / 1e6) if offered and rtt else None
    if allowed and allowed <= SLACK * look.rate:
        held = max(held, share(_window_sent(entry.now) for entry in look.tcp))
    why = f"the peer's window was full {units.share(held)} of the time"
    piece = max((entry.now.snd_wnd or 0 for entry in look.tcp), default=0) / 2 or None
    if held >= 0.5 and _by_distance(look):
        yield Reading("rwnd", "there", "window that the peer offers", "reported", why, held,
                      _around(look.rate), held, piece=piece)  # fmt: skip
        return
    if held >= 0.5:
        name = "program at the other end"
        why = f"{why}: it reads no faster"
        yield Reading("peer", "there", name, "reported", why, held, _around(look.rate), held,
                      piece=piece)  # fmt: skip
        return
    known = allowed and (rtt >= LONG or allowed <= look.rate / HALF)
    capacity = (0.75 * allowed, 1.25 * allowed) if allowed and known else None
    reach = _grows(look, allowed, rtt) if allowed and rtt else None
    yield Reading("rwnd", "there", "window that the peer offers", "reported", why, held, capacity,
                  held, reach, piece=piece)  # fmt: skip


def _unanswered(row: Any) -> bool:
    """Whether segments are repeated without an answer, and the window is open."""
    return bool(row.backoff and row.unacked and (row.snd_wnd or 0) >= (row.mss or 1))


def _window_sent(row: Any) -> bool:
    """Whether about all of the peer's window is in flight and data waits.

    The kernel's clock runs only while the window stops a segment: where the sender paces (BBR)
    that is less than the time.
    """
    flying = (row.unacked or 0) * (row.mss or 0)
    return bool(row.snd_wnd and flying >= WINDOW_SENT * row.snd_wnd and row.notsent)


def _by_distance(look: Look) -> bool:
    """Whether the window is in flight, not unread at the peer: then it is small for the round trip.

    A reader that is behind acknowledges all and offers no window: nothing is in flight.
    """
    rtt = look.now("min_rtt") or look.now("rtt")
    if not rtt or look.often("unacked") < 0.5:
        return False
    offered = max((entry.now.snd_wnd or 0 for entry in look.tcp), default=0)
    return bool(
        rtt >= LONG or (offered and formulas.window_cap(offered, rtt / 1e6) <= SLACK * look.rate)
    )


def _per_trip(look: Look, size: float) -> Interval | None:
    """What a buffer carries in a round trip.

    A writer that waits is woken when a third is free. A packet of up to 64 KiB is begun while a
    byte is free (sk_stream_memory_free()).
    """
    trip = look.now("min_rtt") or look.now("rtt")
    if not trip:
        return None
    whole = formulas.window_cap(size, trip / 1e6)
    return (0.65 * whole, 1.3 * whole) if trip >= LONG or whole <= look.rate / HALF else None


def _grows(look: Look, allowed: float, rtt: float) -> Interval | None:
    """The size to which a window that is not full may grow; None on a short path.

    The peer chose the scale of its window for the largest buffer that it may have
    (tcp_select_initial_window()): within a factor of two. About half of a buffer is window.
    """
    if rtt < LONG:
        return None
    most = formulas.window_cap(formulas.largest_window(look.now("snd_wscale") or 0), rtt / 1e6)
    return max(allowed, most / 4), max(allowed, most)


def _around(rate: float) -> Interval:
    return 0.9 * rate, 1.1 * rate


def _program(look: Look) -> str:
    flow = look.flow
    if flow is None or flow.pid is None:
        return "the program"
    return f"{flow.process}[{flow.pid}]"
