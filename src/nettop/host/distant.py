"""Another host as a source: its files, netlink answers and clock, through a reader there.

Nothing is written there or here. Requests go in batches: `fetch` asks for many at once, and what is
asked until the next `fetch` of a frame is answered from them. A request that was not foreseen costs
a round trip of its own. `rehearse` shows what some work will ask, without asking.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from ..files import bounds
from . import patterns, prefix
from .connection import ANSWER, HELLO, Connection, connect
from .far import mirror, wire
from .far.wire import Ask
from .netlink import codec, route
from .netlink.codec import Request
from .patterns import FILE, FOLDER, IOCTL, LINK, NETLINK
from .source import NONE, HostLostError, Lead

Connect = Callable[[bytes, bool], Connection]  # a first batch; whether it is the first attempt
CLOSING: Final = 0.5  # seconds to wait for an answer at the end
EXTRA: Final = 4  # round trips between two frames for processes that were not foreseen
WAITS: Final = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)  # seconds between attempts to connect


class Distant:
    """A host behind a command prefix. HostLostError when it cannot be read."""

    live = False
    ends = opening = False
    ages = NONE

    def __init__(self, connect: Connect, prefix: tuple[str, ...] = ()) -> None:
        """`connect` starts a reader. `prefix`: the words that run a command there."""
        self.prefix = prefix
        self.woken = threading.Event()
        self._connect = connect
        self._lock = threading.RLock()
        self._attempts, self._again = 0, 0.0
        self._asked: dict[Ask, None] = {}
        self._missed: dict[Ask, None] | None = None  # during a rehearsal: what is not known yet
        self._extra = EXTRA
        self._connection: Connection | None = None
        self._lost = ""
        self._far, self._wall, self._near = 0.0, 0.0, time.monotonic()  # clocks there, and ours
        self._begin(first=True)
        self.host = self._name()

    def _begin(self, *, first: bool) -> None:
        """Start a reader, whose first answer is that of `_SEED`."""
        batch = list(_SEED)
        self._connection = self._connect(wire.pack_asks(batch), first)
        self.name = self._connection.name
        self._mirror = mirror.Mirror()
        self._known: set[Ask] = set()  # requests and patterns that this frame has answers to
        self._cut: set[Ask] = set()  # patterns with too many matches in this frame
        self._overfull: set[Ask] = set()  # those that ever had: processes are asked one by one
        self._exchange(batch, self._connection.answer)

    def _name(self) -> str:
        try:
            return self.text("/proc/sys/kernel/hostname").strip()[:256] or self.name
        except OSError:
            return self.name

    @property
    def batches(self) -> Distant:
        """Requests are sent in batches."""
        return self

    @property
    def root(self) -> bool:
        """Whether the reader runs as root."""
        return self._connection is not None and self._connection.root

    # -- the clock of that host --------------------------------------------------------------------

    def now(self) -> float:
        """Monotonic seconds there, as of the last answer and our own clock since."""
        return self._far + (time.monotonic() - self._near)

    def wall(self) -> float:
        """Seconds since 1970 there."""
        return self._wall + (time.monotonic() - self._near)

    def wait(self, seconds: float) -> bool:
        """Sleep, or less when `woken` is set."""
        if self.woken.wait(max(0.0, seconds)):
            self.woken.clear()
        return True

    # -- batches -----------------------------------------------------------------------------------

    def fetch(self, asks: Iterable[Ask], lead: Lead | None = None) -> float:
        """Begin a frame: ask for all of these; the seconds of the clock there. HostLostError.

        The requests of `lead` are answered first; all are sent at once, in one round trip.
        """
        with self._lock:
            self._reconnect()
            wanted = self._general(asks)
            if patterns.ALL in wanted:
                wanted |= dict.fromkeys(patterns.DETAILS)
            self._extra = 0
            self._known, self._cut = set(), set()
            if lead is None or not lead.asks:
                self._ask(wanted)
            else:
                lead.before()
                more = [ask for ask in wanted if ask not in lead.asks]
                self._ask(lead.asks, more, lead.answered)
            return self._far

    def end(self) -> None:
        """The frame is complete: single processes may be asked about until the next one."""
        self._extra = EXTRA

    def add(self, asks: Iterable[Ask]) -> None:
        """Ask for these too, in the same frame."""
        with self._lock:
            self._reconnect()
            self._ask(self._general(asks))

    def _general(self, asks: Iterable[Ask]) -> dict[Ask, None]:
        """The patterns of requests that belong to one, and the other requests."""
        return dict.fromkeys(patterns.general(ask, self._overfull) for ask in asks)

    def asked(self) -> Collection[Ask]:
        """What was asked since this was last called."""
        with self._lock:
            asked, self._asked = self._asked, {}
        return asked

    def rehearse(self, work: Callable[[], object]) -> Collection[Ask]:
        """Do `work` with the answers of this frame; returns what it asked beyond them.

        For `work`, an answer that is not known is a file that does not exist.
        """
        with self._lock:
            missed: dict[Ask, None] = {}
            self._missed = missed
            try:
                work()
            finally:
                self._missed = None
        return missed

    def close(self) -> None:
        """End the reader; also while an answer is awaited that does not come."""
        held = self._lock.acquire(timeout=CLOSING)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if held:
            self._lock.release()

    def _reconnect(self) -> None:
        """Connect again if the connection broke, at first at once, then less and less often."""
        if self._connection is not None and not self._connection.idle:
            return
        if self._connection is not None:  # nobody asked for long: it may have ended
            self.close()
        if time.monotonic() < self._again:
            raise HostLostError(self._lost)
        attempts = self._attempts
        try:
            self._begin(first=False)
        except HostLostError as error:
            if self._attempts == attempts:
                self._fail(error)
            raise
        self._attempts, self._lost = 0, ""

    def _fail(self, error: HostLostError) -> None:
        self.close()
        self._lost = str(error)
        self._again = time.monotonic() + WAITS[min(self._attempts, len(WAITS) - 1)]
        self._attempts += 1

    def _ask(
        self, asks: Iterable[Ask], more: Iterable[Ask] = (),
        answered: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        """One round trip; `answered` is called between the answers to `asks` and to `more`."""
        connection = self._connection
        if connection is None:
            raise HostLostError(self._lost or f"{self.name} is not connected")
        first, second = (sorted(batch, key=patterns.order) for batch in (asks, more))
        packed = [
            wire.pack_asks(batch) for batch in (first, second)[: 1 if answered is None else 2]
        ]
        self._exchange(first, lambda: connection.exchange(*packed))
        if answered is not None:
            try:
                answered()
            finally:  # what is on its way is taken in any case
                self._exchange(second, connection.answer)

    def _exchange(self, batch: list[Ask], answered: Callable[[], bytes]) -> None:
        """Take the answer to a batch."""
        self._mirror.number += 1
        sent = time.monotonic()
        try:
            answer = answered()
            took = time.monotonic() - sent
            pids = self._take(answer, batch, sent + ANSWER)
        except HostLostError as error:
            self._fail(error)
            raise
        except wire.UnreadableError as error:
            lost = HostLostError(f"{self.name} sent an invalid answer: {error}")
            self._fail(lost)
            raise lost from None
        self._near = time.monotonic() - took / 2
        for ask in batch:
            if not patterns.is_pattern(ask) or b"/!" not in ask[1]:
                self._known.add(ask)
                continue
            for pid in pids:
                self._known.add((ask[0], ask[1].replace(b"!", b"%d" % pid)))

    def _take(self, answer: bytes, batch: list[Ask], until: float) -> list[int]:
        """Apply an answer; the processes that were looked into.

        UnreadableError, also where it has too many parts for the time `until`, or for the memory.
        """
        number, far, wall, pids, at = wire.unpack_head(answer)
        left = list(map(patterns.most_changes, batch))
        if number != self._mirror.number:
            raise wire.UnreadableError("it answers another batch")
        for ref, form, name, body in wire.unpack_changes(answer, at):
            if time.monotonic() > until:
                raise wire.UnreadableError(f"it takes more than {ANSWER:g} s")
            if ref == wire.FORGOTTEN:
                self._mirror.remove((name[:1], name[1:]))
                continue
            if ref >= len(batch):
                raise wire.UnreadableError("it answers a request that was not sent")
            ask = batch[ref]
            left[ref] -= 1
            if left[ref] < 0:
                raise wire.UnreadableError("it answers a request too often")
            if form == mirror.CUT:  # a name that is not among these is asked for by itself
                self._cut.add(ask)
                self._overfull.add(ask)
                continue
            if patterns.is_pattern(ask) != bool(name) or (
                name and not patterns.matches(ask[1], name)
            ):
                raise wire.UnreadableError("it names a file that was not asked for")
            one = (ask[0], name) if name else ask
            self._mirror.apply(one, form, body)
            try:
                if self._mirror.size > bounds.BOUNDS["far"].most:
                    raise bounds.exceeded("far")
                if ask[0] == NETLINK:
                    codec.must_be_few(self._mirror.answers.get(one, b""))
            except OSError as error:
                raise wire.UnreadableError(str(error.strerror)) from None
        self._far, self._wall = far, wall
        return pids

    # -- reading -----------------------------------------------------------------------------------

    def _answer(self, ask: Ask, path: str) -> bytes:
        """The raw answer; OSError as it was raised there."""
        with self._lock:
            self._asked[ask] = None
            if not self._has(ask):
                if self._missed is not None:
                    self._missed[ask] = None
                    raise FileNotFoundError(errno.ENOENT, "not asked yet", path)
                self._ask_alone(ask, path)
            answer = self._mirror.answers.get(ask)
        if answer is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path or None)
        if answer[:1] == b"+":
            return answer[1:]
        number, _, text = answer[1:].partition(b" ")
        code = int(number) if number.isdigit() and len(number) < 5 else errno.EIO
        raise OSError(code, text[:300].decode("utf-8", "replace"), path or None)

    def _has(self, ask: Ask) -> bool:
        """Whether this frame has the answer, or knows that there is none."""
        if ask in self._known:
            return True
        if ask[0] not in (FILE, FOLDER, LINK):
            return False
        return any(
            pattern in self._known and (pattern not in self._cut or ask in self._mirror.answers)
            for pattern in patterns.those_of(ask)
        )

    def _ask_alone(self, ask: Ask, path: str) -> None:
        """A round trip for a request that was not foreseen.

        In a frame none is made for a single process: it seems to have ended until the next frame,
        which asks this and what follows it.
        """
        asks = patterns.following(ask)
        if len(asks) > 1 and not self._extra:
            self._asked |= dict.fromkeys(asks)
            raise FileNotFoundError(errno.ENOENT, "not read in this sample", path)
        self._extra -= len(asks) > 1
        self.add(asks)

    def data(self, path: str) -> bytes:
        """The file's bytes."""
        body = self._answer((FILE, os.fsencode(path)), path)
        bound = "interrupts" if path == "/proc/interrupts" else "host-file"
        if len(body) > bounds.BOUNDS[bound].most:
            raise bounds.exceeded(bound, path)
        bounds.must_have_lines(body, path)
        return body

    def text(self, path: str) -> str:
        """The file's text."""
        return self.data(path).decode("utf-8", "surrogateescape")

    def listing(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        names = self._answer((FOLDER, os.fsencode(path.rstrip("/") or "/")), path)
        if names.count(b"\n") > bounds.BOUNDS["listing"].most:
            raise bounds.exceeded("listing", path)
        return names.decode("utf-8", "surrogateescape").split("\n")[:-1]

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        return os.fsdecode(self._answer((LINK, os.fsencode(path)), path))

    def netlink(self, request: Request) -> bytes:
        """The answer of the kernel there; PermissionError for another network namespace."""
        if request.space is not None:  # the reader enters none: it would answer for its own
            why = "other network namespaces are not entered through --host"
            raise PermissionError(errno.EPERM, why, request.space.path)
        return self._answer(_message(request), "")

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:  # noqa: ARG002
        """The answer of the driver there."""
        device = os.fsencode(interface)
        if not device or len(device) > 15 or b"\0" in device:
            raise OSError(errno.ENODEV, "no such interface", interface)
        payload = b"%s\0%d\0%s" % (device, len(request), request.rstrip(b"\0"))
        answer = self._answer((IOCTL, payload), "")
        if len(answer) != len(request):
            raise ValueError("the driver's answer is cut off")
        return answer

    def counted(self, what: str) -> str:  # noqa: ARG002
        """Refused: that would load a program into the kernel there."""
        raise PermissionError(errno.EPERM, "no program is loaded into the kernel of another host")

    def end_counting(self, what: str) -> None:
        """No program was loaded."""

    def keep_ages(self, ages: Mapping[str, float]) -> None:
        """Nothing is recorded."""

    def keep_open(self, paths: Collection[str]) -> None:
        """The reader opens each file when it is asked."""


def _message(request: Request) -> Ask:
    head = f"{request.family}\0{request.kind}\0{'d' if request.dump else ''}\0"
    return NETLINK, head.encode("ascii") + request.body


_CPU: Final = b"/sys/devices/system/cpu"
_SEED: Final = (  # lists on which much else depends: they save a round trip of the first frame
    (FILE, b"/proc/sys/kernel/hostname"),
    (FOLDER, b"/proc"),
    (FOLDER, b"/sys/class/net"),
    (FOLDER, _CPU),
    (FILE, _CPU + b"/online"),
    (FOLDER, _CPU + b"/cpu0/cpuidle"),
    _message(route.LINKS),
)


def behind(text: str, *, asks: bool = False, patience: float = HELLO) -> Distant:
    """The host behind a command prefix; its start may ask on the terminal only if `asks`.

    `patience`: seconds for that start, which may be infinite; later ones have HELLO.
    """
    words = prefix.parse(text)

    def begin(batch: bytes, first: bool) -> Connection:
        wait = patience if first else HELLO
        return connect(words, batch, first=first and asks, patience=wait)

    return Distant(begin, words)
