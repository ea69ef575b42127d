"""Questions by TCP that get no answer: on connections that this host opened nothing comes.

The other end has acknowledged all that was sent, so its host and the way work; its program does not
answer. A request is sent, and then the program waits for data: `tcpi_last_data_sent` of struct
tcp_info is younger than `tcpi_last_data_recv`, which counts from the handshake where nothing came
yet (net/ipv4/tcp_input.c, tcp_finish_connect()). Who only sends, such as a log, looks the same
between two pieces, so a question on a connection that never brought data is sent at once after it
was opened, or a thread is seen to wait for the answer (`facts`).

A program that gives up closes its connection. If the other end does not close it too, as each
program does that reads the end, it stays in FIN_WAIT2 for about a minute: those were not answered.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import sockets_tcp, threads
from ._table import Memory, Table, recall
from ._tcp_row import PackedRow

TABLE: Final = Table(every=1.0, optional=True, memory="sockets")

LOOK: Final = 10.0  # seconds: as rules judge losses
LATE: Final = 2.0  # seconds: less is a slow answer
AT_ONCE: Final = 1.0  # seconds from the handshake to the last data that was sent
YOUNG: Final = 60.0  # seconds since the handshake: each question has a connection of its own
SYN: Final = 1  # byte that tcpi_bytes_acked counts for the handshake
MOST: Final = 4  # programs whose threads are looked at for that
_OPEN: Final = ("established", "fin-wait-2")  # the latter: it has said that its question is whole

End = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One end at which connections wait for their first data, or were closed without an answer."""

    server: str = label("address of the other end")
    port: int = label("its port")
    waiting: int = gauge(
        "connections on which nothing ever came, two seconds or more after data was sent",
        "connections",
    )  # fmt: skip
    fresh: int = gauge(
        "of these, those opened in the last minute on which all was sent at once", "connections",
        default=0,
    )  # fmt: skip
    longest: float | None = maybe("longest of these waits", "s")
    given_up: int = gauge(
        "questions of which this end closed the connection in the last ten seconds, and the other "
        "end neither answered nor closed it", "connections", default=0,
    )  # fmt: skip
    left: int = gauge(
        "connections that this end has closed and the other has not, within a minute",
        "connections", default=0,
    )  # fmt: skip
    answered: bool = gauge("data came from it in the last ten seconds", default=False)
    inodes: tuple[int, ...] = gauge("sockets of the connections that wait", default=())


@dataclass(frozen=True, slots=True)
class _Question:
    """A connection with data that the other end has, and to which it sent none since."""

    end: End
    inode: int
    since: float  # seconds of the source's clock: data was last sent
    opened: float | None  # the same, of the handshake; None: data came before
    at_once: bool


@dataclass
class Known:
    """The connections of the last reading."""

    reading: int = 0  # of the sockets
    rows: dict[bytes, sockets_tcp.Row] = field(default_factory=dict)  # by cookie
    asked: dict[bytes, _Question] = field(default_factory=dict)  # the same
    heard: dict[End, float] = field(default_factory=dict)  # when data last came from each end
    given_up: list[tuple[float, End]] = field(default_factory=list)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The ends of this namespace that leave questions unanswered; none before sockets were read.

    OSError when there is no /proc: then no program is known that asks.
    """
    if threads.Moving not in memory:
        source.listing("/proc")
    known, sockets = recall(memory, Known), recall(memory, sockets_tcp.Known)
    moving, at = recall(memory, threads.Moving), source.now()
    if sockets.reading != known.reading:
        known.reading = sockets.reading
        _follow(known, sockets, at)
    waits: dict[End, list[_Question]] = {}
    for one in known.asked.values():
        if one.opened is not None and at - one.since >= LATE:
            waits.setdefault(one.end, []).append(one)
    given_up = Counter(end for _, end in known.given_up)
    ends = sorted({*waits, *given_up})
    left = Counter(map(sockets_tcp.other_end, sockets.left.values())) if ends else Counter[End]()
    rows = [
        Row(
            *end, len(there := waits.get(end, [])), sum(_fresh(one, at) for one in there),
            max((at - one.since for one in there), default=None), given_up[end], left[end],
            at - known.heard.get(end, at - LOOK) < LOOK, tuple(one.inode for one in there),
        )
        for end in ends
    ]  # fmt: skip
    holders = (moving.holders.get(inode) for row in rows for inode in row.inodes)
    moving.asking = tuple(dict.fromkeys(pid for pid in holders if pid is not None))[:MOST]
    return rows


def _fresh(one: _Question, at: float) -> bool:
    return one.at_once and one.opened is not None and at - one.opened < YOUNG


def _follow(known: Known, sockets: sockets_tcp.Known, at: float) -> None:
    """The questions after a reading of the sockets; those of a packed row are not known."""
    rows = {
        cookie: row for cookie, (*_, row) in sockets.seen.items() if not isinstance(row, PackedRow)
    }
    doors = {row.local_port for row in rows.values() if row.state == "listen"}
    asked: dict[bytes, _Question] = {}
    for cookie, row in rows.items():
        if row.state not in _OPEN or row.local_port in doors or not row.inode:
            continue
        if known.rows.get(cookie) is row:  # its times are those of an earlier reading
            if cookie in known.asked:
                asked[cookie] = known.asked[cookie]
            continue
        end = row.remote, row.remote_port
        if row.bytes_received and row.last_received is not None:
            known.heard[end] = max(at - row.last_received / 1e3, known.heard.get(end, 0.0))
        if (question := _question(row, end, at)) is not None:
            asked[cookie] = question
    known.given_up = [(then, end) for then, end in known.given_up if at - then < LOOK]
    known.given_up += [(at, one.end) for cookie, one in known.asked.items()
                       if cookie not in rows and cookie in sockets.left]  # fmt: skip
    known.rows, known.asked = rows, asked


def waits(row: sockets_tcp.Row) -> float | None:
    """Seconds since the last question; None where data is on its way, or the last data came."""
    sent, received = row.last_sent, row.last_received
    if sent is None or received is None or row.unacked or row.send_q or row.notsent or row.recv_q:
        return None
    heard = bool(row.bytes_received or row.rcv_ooopack)
    says = bool(row.bytes_sent or (row.bytes_acked or 0) > SYN)
    if not says or sent > received or (heard and sent == received):
        return None
    return sent / 1e3


def _question(row: sockets_tcp.Row, end: End, at: float) -> _Question | None:
    """The question of a row, if it has one."""
    since, received = waits(row), row.last_received
    if since is None or received is None:
        return None
    heard = bool(row.bytes_received or row.rcv_ooopack)
    opened = received / 1e3
    return _Question(
        end, row.inode, at - since, None if heard else at - opened, opened - since <= AT_ONCE
    )
