"""A signal that ends a program ends the screen cleanly; `os._exit` ends one that hangs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

from .working import Actions

# sent by a user, a terminal or a service manager to end a program, or with that default action
ENDING = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGIO, signal.SIGPWR,
)  # fmt: skip
PATIENCE = 3.0  # seconds in which Textual must end after a signal
END = 15.0  # seconds in which a running change or test must end


def install(leave: Callable[[int], None], actions: Callable[[], Actions | None]) -> None:
    """Call `leave(exit code)` on a signal. Does nothing outside the main thread."""
    loop = asyncio.get_running_loop()

    def ended(number: int) -> None:
        threading.Thread(target=last, args=(number,), name="nettop-last", daemon=True).start()
        leave(128 + number)

    def last(number: int) -> None:
        time.sleep(PATIENCE)
        running = actions()
        if running is not None:  # let a running change end first
            running.wait(END)
        os._exit(128 + number)

    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
        for number in ENDING:
            loop.add_signal_handler(number, ended, number)
