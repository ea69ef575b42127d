"""The switch of an experiment: changes settings through the journal and always restores them.

Every write is journaled with a tag of the experiment. If nettop is killed, crashes or loses its
terminal, a separate process (the keeper) reverts all open changes with that tag:
`python -I -m nettop.trials.lever FOLDER TAG [SECONDS]`. With SECONDS it does so too if nettop says
nothing for this time, as one that is stopped. Like a guard, both need neither the journal nor
nettop's own files for that.

A setting also tells which end sends in its test: what a host receives is set where it receives.
"""

import contextlib
import errno
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, Protocol, Self

from .. import settings
from ..changes import Change, Result
from ..changes.apply import Terms, apply
from ..changes.chain import READY
from ..changes.entry import JournaledChange
from ..changes.guard import PATIENCE, STOPS, once_more
from ..changes.journal import Book, Busy, Journal
from ..changes.memory import Memory
from ..changes.plan import CARRIER, plan
from ..changes.ready import lift, load, ready
from ..changes.undo import put_back, undo
from ..host.source import Live
from ..settings import Host
from . import tool
from .result import Options

_SEE, _HOLD, _END = b"s", b"h", b"e"  # what nettop tells the keeper
_PAUSES: Final = (0, 1, 2, 4, 8, 16, 32)  # seconds before the tries of the keeper to revert
PAUSE: Final = {"none": 0.3, "queues": 2.0, "link": 4.0}  # seconds after a change, by risk


class LeverError(Exception):
    """A change could not be made or reverted; one sentence says why."""


class Lever(Protocol):
    """Switches a host between states; state 0 is the original one."""

    pause: float  # seconds to wait after a change

    def put(self, state: int) -> None:
        """Bring the host into this state; LeverError if that fails."""

    def restore(self) -> None:
        """Bring the host back to state 0; LeverError if that fails."""


class Proved(Lever, Protocol):
    """A lever with one change, which can be kept. It is entered, and restored at its exit."""

    where: str  # the prefix of the host that is changed; empty: this host

    @property
    def way(self) -> str:
        """The words that run the nettop there, whose journal has what was kept."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The change of each setting; empty if the host has these settings already."""

    def keep(self, state: int) -> tuple[Result, ...]:
        """Apply a state permanently; the results."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def pause(risks: Sequence[str]) -> float:
    """Seconds to wait after changes of these risks."""
    return max((PAUSE[risk] for risk in risks), default=PAUSE["none"])


def row(setting: str, before: str, after: str, shell: str) -> dict[str, Any]:
    """A tested change, for documents."""
    address = settings.parse(setting)
    return {
        "setting": setting, "before": settings.data(address, before),
        "after": settings.data(address, after), "risk": settings.risk(address), "shell": shell,
    }  # fmt: skip


class Switch:
    """A lever for settings of this host: state 0 is the original one, then each set of changes."""

    where = way = ""

    def __init__(
        self, states: Sequence[Sequence[tuple[str, str]]], finding: str, host: Host | None = None,
        exactly: Sequence[Change] = (), silence: float | None = None,
    ) -> None:  # fmt: skip
        """`states` are the settings and values of states 1, 2, …; `finding` is for the journal.

        `exactly`: the last state, as changes with old values and devices that must still be there.
        `silence`: seconds without `hold` until the keeper reverts; None: without a limit.

        ValueError: a setting cannot be written, so it cannot be tested.
        """
        self.host = host or Host.at()
        self.journal = Journal()
        self.memory = Memory(self.journal)
        self.finding = finding
        self.tag = f"{os.getpid()}-{time.time_ns()}"
        self.silence = silence
        self.states = [plan(wanted, self.host.source) for wanted in states]
        self.states += [tuple(exactly)] if exactly else []
        self.now = 0
        self.pause = pause([settings.risk(c.address) for s in self.states for c in s])
        self._keeper: socket.socket | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of the last state."""
        return self.states[-1]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The changes of the last state, for documents."""
        return [
            row(c.setting, c.before, c.after, settings.shell(c.address, c.after, Live()))
            for c in self.changes
        ]

    def __enter__(self) -> Self:
        load()
        argv = [sys.executable, "-I", "-m", __name__, self.journal.folder, self.tag]
        argv += [] if self.silence is None else [str(self.silence)]
        self._keeper, theirs = socket.socketpair()
        self._keeper.settimeout(READY)
        with theirs:
            self._process = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
                start_new_session=True, cwd="/",
            )  # fmt: skip
        self._tell(_SEE)
        return self

    def hold(self) -> None:
        """The changes stay in place for another `silence`; LeverError if they do not."""
        self._tell(_HOLD)

    def _tell(self, word: bytes) -> None:
        """Wait until the keeper knows the journal as it is; LeverError if it does not answer."""
        self.memory.entries()
        if self._keeper is None:
            return
        with contextlib.suppress(OSError):
            self._keeper.sendall(word)
            if self._keeper.recv(1) == word:
                return
        raise LeverError("the process that would revert the changes of a killed nettop has ended")

    def __exit__(self, *_: object) -> None:
        self.restore()
        if self._keeper is not None:
            with self._keeper, contextlib.suppress(OSError):
                self._keeper.sendall(_END)
            self._process.wait()

    def put(self, state: int) -> None:
        """Revert the current state, then apply the changes of `state`; LeverError."""
        if state == self.now:
            return
        self.restore()
        if state:
            self._apply(self.states[state - 1], self.tag)
            self.now = state

    def _apply(self, changes: Sequence[Change], keeper: str = "") -> tuple[Result, ...]:
        terms = Terms(finding=self.finding, keeper=keeper, confirm=0.0, arm=self._arm)
        results = apply(changes, self.host, self.journal, terms)
        self._tell(_SEE)
        for result in results:
            if result.state not in ("applied", "rounded", "unchanged"):
                raise LeverError(f"{result.setting}: {result.because or result.state}")
        return results

    def _arm(self, *_: object) -> None:
        """OSError unless the keeper knows the journal as it is."""
        try:
            self._tell(_SEE)
        except LeverError as error:
            raise OSError(errno.ESRCH, str(error)) from None

    def restore(self) -> None:
        """Undo the open changes of this experiment; LeverError if another program changed one."""
        self.now = 0
        for result in restore(self.memory, self.tag, self.host):
            if result.state == "conflict":
                raise LeverError(f"cannot restore {result.setting}: {result.because}")

    def keep(self, state: int) -> tuple[Result, ...]:
        """Apply a state permanently, with the finding in the journal; the results."""
        self.restore()
        return self._apply(self.states[state - 1])


def restore(journal: Book, tag: str, host: Host) -> tuple[Result, ...]:
    """Undo every open entry of the journal with this tag, newest first."""
    ids = [entry.id for entry in _held(journal.entries(), tag)]
    return undo(journal, host, ids) if ids else ()


def _held(entries: Sequence[JournaledChange], tag: str) -> list[JournaledChange]:
    """The open entries with this tag."""
    return [entry for entry in entries if entry.open and entry.keeper == tag]


def watch(folder: str, tag: str, silence: str = "") -> None:
    """Read the journal at each word of standard input, and answer it; restore at the end of it.

    With `silence` also if no word comes: for this time after a `hold`, for CARRIER more while a
    change is made, and at first for READY more.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    ready()
    memory = Memory(Journal(folder))
    patience = READY + float(silence) if silence else None
    while (word := _word(patience)) in (_SEE, _HOLD):
        changes = [entry for entry in memory.entries() if entry.keeper == tag]
        if silence and (changes or word == _HOLD):
            patience = float(silence) + (0 if word == _HOLD else CARRIER)
        with contextlib.suppress(OSError):  # nettop was killed: the next word is the end
            os.write(1, word)
    if word != _END:
        _restore(memory, tag)
    lift()
    memory.record(time.sleep)


def _word(patience: float | None) -> bytes:
    """The next byte of standard input; nothing at its end, after `patience` and for an error."""
    with contextlib.suppress(OSError):
        if select.select([0], [], [], patience)[0]:
            return os.read(0, 1)
    return b""


def _restore(memory: Memory, tag: str) -> None:
    """Try until nothing fails, also what a stopped nettop writes later.

    Gives up where another program changed a value.
    """
    numbers = {entry.id for entry in _held(memory.entries(), tag)}
    for tries in count():
        with contextlib.suppress(OSError):
            time.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
        try:
            results = (*_put_back(memory, tag), *once_more(memory, numbers))
        except Exception:  # noqa: S112 - whatever fails is tried again
            continue
        if tries >= len(_PAUSES) or not any(result.state == "conflict" for result in results):
            return


def _put_back(memory: Memory, tag: str) -> tuple[Result, ...]:
    """As `restore`, without the lock if a nettop that is stopped holds it."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(Busy):
            held.enter_context(memory.lock(PATIENCE))
        entries = memory.entries()
        return put_back(memory, Host.at(), entries, _held(entries, tag), follow=True)


if __name__ == "__main__":
    watch(*sys.argv[1:])


_WORD = re.compile(r"[-_./@]")


def side(setting: str) -> str:
    """`rx` or `tx`: what the setting acts on; empty: on both, or on neither.

    `setting` is an address, or the template of one in a rule. What its kind declares as SIDE comes
    before the words in its name and in the name of its queue.
    """
    kind, _, rest = setting.partition(".")
    name, _, target = rest.partition("@")
    own = getattr(settings.kind(kind), "SIDE", {})
    if isinstance(own, str):
        return own
    if name in own:
        return str(own[name])
    found = {"rx", "tx"}.intersection(_WORD.split(f"{name}/{target.partition('/')[2]}"))
    return found.pop() if len(found) == 1 else ""


def reverse(names: Iterable[str], *, away: bool = False) -> bool | None:
    """Whether the other end must send so that data passes these settings; None: either may.

    `away`: they are settings of the other end.
    """
    sides = {side(name) for name in names} - {""}
    return (sides == {"rx"}) != away if len(sides) == 1 else None


def facing(tested: str, options: Options, names: Iterable[str], *, away: bool = False) -> Options:
    """The options of the tool `tested`; a direction that they do not say is that of `reverse`."""
    if options.reverse is not None or options.bidirectional:
        return options
    able = "reverse" in tool(tested).TAKES.split()
    return replace(options, reverse=reverse(names, away=away)) if able else options
