"""The driver of a screen in a browser: Textual's web driver, restricted to keys and mouse.

The input is untrusted. Pastes are ignored, an escape sequence must end in the packet in which it
begins, and a packet is read only after the screen has handled the previous one. The end of the pipe
is a hangup, as with a terminal.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import suppress
from typing import Final

from textual import events
from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.message import Message

from ..serving import child
from . import internals
from .typed import WAITING, Typed, interrupts

ACCEPTED: Final = (events.Key, events.MouseEvent, events.CursorPosition)


class Browser(WebDriver):
    """Reads packets from standard input, writes packets to standard output."""

    def __init__(
        self, app: App[int], *, debug: bool = False, mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """As WebDriver; the process can end while the reader waits for a packet."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._shown = app
        reader = internals.reader(self)
        if reader is not None:
            reader.daemon = True

    def run_input_thread(self) -> None:
        """Turn packets into messages until the server closes the pipe."""
        if internals.has("browser"):
            self._read()
        else:
            super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGHUP)

    def write(self, data: str) -> None:
        """As WebDriver; ignored after the server has ended."""
        with suppress(BrokenPipeError):
            super().write(data)

    def write_meta(self, data: dict[str, object]) -> None:
        """As `write`; Textual also writes metadata when it ends."""
        with suppress(BrokenPipeError):
            super().write_meta(data)

    def process_message(self, message: Message) -> None:
        """Pass only accepted messages to the screen."""
        if isinstance(message, ACCEPTED):
            super().process_message(message)

    def _read(self) -> None:
        data = bytearray()
        while more := os.read(0, 4096):
            data += more
            for kind, payload in child.taken(data):
                if kind == b"D":
                    self._typed(payload)
                else:
                    meta = json.loads(payload)
                    self.on_meta(meta["type"], meta)
            self._settle()

    def _typed(self, data: bytes) -> None:
        typed = Typed()
        messages = [*typed.feed(data), *typed.tick()]  # a lone Esc is the key
        first = [one for one in messages if interrupts(one)][:1]
        for message in first + messages[-WAITING:]:  # as in a terminal, the last that were typed
            self.process_message(message)

    def _settle(self) -> None:
        """Wait until the screen has handled the messages."""
        done = threading.Event()
        self._shown.call_later(done.set)
        while not done.wait(0.5) and not self.exit_event.is_set():
            pass

    def _enable_bracketed_paste(self) -> None:
        """Do nothing: pastes are ignored, so the browser need not mark them."""
