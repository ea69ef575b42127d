"""The process around the command line: `nettop` and `python -m nettop`.

An interrupt is quiet at every moment. Before a command runs it ends the process at once; while one
runs it is a KeyboardInterrupt, so that what was begun is put in order; after it the signal kills.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

INTERRUPTED = 130  # 128 + SIGINT, as the shell has it
AGAIN = 0.02  # seconds


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _escaped(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """An interrupt that nobody caught needs no words: Python dies of the signal then."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)


def _ignored(told: sys.UnraisableHookArgs) -> None:
    """An interrupt inside a destructor or a callback is lost there: it comes once more."""
    if not issubclass(told.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(told)
        return
    from threading import Timer

    Timer(AGAIN, os.kill, [os.getpid(), signal.SIGINT]).start()


def main() -> int:
    """Run the command that the process was started for; its exit code."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:  # a shell's background job is not
        signal.signal(signal.SIGINT, _leave)
    from nettop import cli
    from nettop.files import streams

    sys.excepthook, sys.unraisablehook = _escaped, _ignored
    streams.adopt()
    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = cli.main()
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code


if __name__ == "__main__":
    sys.exit(main())
