"""The driver of a screen in a browser: Textual's own, but keys and mouse are all it takes.

What was typed comes from a stranger's side of a pipe. So a paste is not taken, no sequence may
begin in one message and end in another, and no more is read than the screen has worked off. The end
of the pipe is a hangup, as with a terminal.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, Final

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WebDriver

TAKEN: Final = (events.Key, events.MouseEvent, events.CursorPosition)


class Browser(WebDriver):
    """Reads packets from standard input, writes packets to standard output."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """As WebDriver, but a reader that waits for a packet does not keep the process."""
        super().__init__(*args, **named)
        self._key_thread.daemon = True

    def run_input_thread(self) -> None:
        """Packets to messages until the server hangs up."""
        packets = ByteStream()
        while data := os.read(0, 4096):
            for kind, payload in packets.feed(data):
                if kind == "D":
                    self._typed(payload.decode())
                else:
                    self._on_meta(kind, payload)
            self._settle()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGHUP)

    def _typed(self, text: str) -> None:
        if not text:
            return
        parser = XTermParser()
        for message in (*parser.feed(text), *parser.feed("")):  # "" ends it: a lone Esc is the key
            if isinstance(message, TAKEN):
                self.process_message(message)

    def _settle(self) -> None:
        """Wait until the screen has seen what was read."""
        done = threading.Event()
        self._app.call_later(done.set)
        while not done.wait(0.5) and not self.exit_event.is_set():
            pass

    def _enable_bracketed_paste(self) -> None:
        """Pastes are not taken: do not ask the browser to mark them."""
