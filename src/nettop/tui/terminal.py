"""The terminal's driver: Textual's own, but it sleeps until a key comes.

Textual's looks ten times a second whether there is one: a tenth of what the whole screen costs.
"""

from __future__ import annotations

import codecs
import os
import select
from typing import Any, Final

from textual import constants
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

ROUNDS: Final = (
    2  # after a key: was that Esc, or the beginning of more? Then there is nothing to time
)


class Terminal(LinuxDriver):
    """Reads keys as LinuxDriver does; a pipe wakes the reader when it shall end."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """As LinuxDriver; the pipe lasts as long as the program, through every suspension."""
        super().__init__(*args, **named)
        self._ends, self._end = os.pipe()

    def run_input_thread(self) -> None:
        """Keys to messages until woken, or until the terminal is gone."""
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")().decode
        rounds = ROUNDS
        while True:
            waiting = constants.ESCAPE_DELAY if rounds else None
            rounds = max(0, rounds - 1)
            ready = select.select([self.fileno, self._ends], [], [], waiting)[0]
            if self._ends in ready:
                os.read(self._ends, 1)
                return
            if self.fileno in ready:
                text = decode(os.read(self.fileno, 4096))
                if not text:
                    return
                rounds = ROUNDS
                for message in parser.feed(text):
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def disable_input(self) -> None:
        """Wake the reader, so that LinuxDriver's waiting for its end is short."""
        reader = self._key_thread
        if reader is not None and reader.is_alive() and not self.exit_event.is_set():
            os.write(self._end, b"\n")
        super().disable_input()
