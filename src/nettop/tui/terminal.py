"""The terminal's driver: Textual's, but it sleeps until a key comes, and handles stop and continue.

Textual's driver polls for keys ten times per second, which is a tenth of the cost of the whole
screen. It also starts again at every SIGCONT, even while it runs: then a second thread reads keys,
only one of both is told to end, and the program waits forever for the other. Here the event loop
handles SIGTSTP and SIGCONT one after the other, and the reader ends before it is started again.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

from textual import constants, events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from . import internals
from .board import Tick
from .gate import QUERY
from .notes import note
from .typed import Ahead, Typed

OWED: Final = 2.0  # seconds to wait for the last replies of a terminal, less than signals.PATIENCE
ROUNDS: Final = 2  # timeouts after input: a lone Esc is a key only when nothing follows it


class Terminal(LinuxDriver):
    """Reads keys as LinuxDriver; a byte in a pipe ends the reader."""

    def __init__(
        self, app: App[int], *, debug: bool = False, mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """As LinuxDriver, with a pipe that stays open until the program ends."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._ends, self._end = os.pipe()
        self._ahead = Ahead(app, super().process_message)
        self._post = app.post_message
        self._lent = False  # the shell has the terminal
        self._stops = False  # the process is about to stop, with its job
        self._rests = False  # it is closed, and will be used again
        self._owed = 0  # queries without a reply
        self._replies = threading.Condition()
        self._answers = False  # the terminal has replied once
        self._asked = 0.0  # monotonic seconds of the first query
        self._rounds = asyncio.get_running_loop()
        self._rounds.add_signal_handler(signal.SIGTSTP, self._suspend)
        self._rounds.add_signal_handler(signal.SIGCONT, self._continue)

    @property
    def _runs(self) -> bool:
        """Whether nettop uses the terminal now: the reader thread runs."""
        reader = internals.reader(self)
        return reader is not None and reader.is_alive()

    def _lend(self) -> None:
        if self._runs:
            self.suspend_application_mode()
            internals.signal_resume(self)
            self._lent = True

    def _suspend(self) -> None:
        """SIGTSTP: give the terminal back and stop."""
        self._lend()
        self._stops = True
        self._then(self._stop)

    def _then(self, act: Callable[[], None], turns: int = 3) -> None:
        """Act some turns of the loop later: it has then handled the signals that came before."""
        if turns:
            self._rounds.call_soon(self._then, act, turns - 1)
        else:
            act()

    def _stop(self) -> None:
        """Stop the job: what started nettop and waits for it, such as `make run`, stops too.

        The kernel stops no process of an orphaned group (kernel/exit.c), such as a session leader:
        there is no shell that could continue it.
        """
        if self._stops:
            self._stops = False
            self._rounds.remove_signal_handler(signal.SIGTSTP)
            os.killpg(0, signal.SIGTSTP)
            self._rounds.add_signal_handler(signal.SIGTSTP, self._suspend)
            self._then(self._go_on)

    def _go_on(self) -> None:
        """Take the terminal again if no SIGCONT came, because nothing was stopped."""
        if self._lent and not self._stops:
            self._continue()
            self._post(Tick(note("no shell could continue nettop: it goes on", "warn")))

    def _continue(self) -> None:
        """SIGCONT: take the terminal again, also after SIGSTOP, which cannot be handled."""
        self._stops = False
        self._lend()
        if self._lent:
            self._lent = False
            self.resume_application_mode()

    def start_application_mode(self) -> None:
        """As LinuxDriver, which only stops the process where it is in the background."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if not self._runs:
            self._lent = True
            internals.signal_resume(self)

    def write(self, data: str) -> None:
        """As LinuxDriver; nothing while the shell has the terminal: all is drawn afterwards."""
        if not self._lent:
            if queries := data.count(QUERY):
                with self._replies:
                    self._owed += queries
                    self._asked = self._asked or time.monotonic()
            super().write(data)

    def run_input_thread(self) -> None:
        """Turn keys into messages until a byte comes through the pipe or the terminal is gone."""
        typed = Typed()
        rounds = ROUNDS
        while True:
            waiting = constants.ESCAPE_DELAY if rounds else None
            rounds = max(0, rounds - 1)
            ready = select.select([self.fileno, self._ends], [], [], waiting)[0]
            if self._ends in ready:
                os.read(self._ends, 1)
                return
            if self.fileno in ready:
                data = os.read(self.fileno, 4096)
                if not data:
                    return
                rounds = ROUNDS
                for message in typed.feed(data):
                    self.process_message(message)
            else:
                for message in typed.tick():
                    self.process_message(message)

    def process_message(self, message: Message) -> None:
        """As LinuxDriver, after what was typed before is handled."""
        if isinstance(message, events.CursorPosition):
            with self._replies:
                self._owed = max(0, self._owed - 1)
                self._answers = True
                self._replies.notify()
        self._ahead.add(message)

    def _settle(self) -> None:
        """Wait for the last replies, which the shell would take for typed letters.

        Not for those of a terminal that has never replied, not even to the first query.
        """
        end = OWED + (time.monotonic() if self._answers else self._asked)
        with self._replies:
            while self._owed and self._runs and time.monotonic() < end:
                self._replies.wait(0.1)
            self._owed = 0

    def disable_input(self) -> None:
        """End the reader, so that LinuxDriver waits for it only shortly."""
        if self._runs and not self.exit_event.is_set():
            self._settle()
            os.write(self._end, b"\n")
        super().disable_input()

    def suspend_application_mode(self) -> None:
        """As LinuxDriver, which closes the driver for that time too."""
        self._rests = True
        super().suspend_application_mode()
        self._rests = False

    def close(self) -> None:
        """As LinuxDriver; at the end, no signal wakes the event loop any more.

        A loop that ends closes its sockets before it removes its handlers (asyncio/unix_events.py,
        close()): a signal in between would print a traceback.
        """
        super().close()
        if not self._rests:
            signal.set_wakeup_fd(-1)
