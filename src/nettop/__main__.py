"""Entry point of the process: `nettop` and `python -m nettop`.

SIGINT never prints a traceback. Before the command runs it ends the process at once; while the
command runs it raises KeyboardInterrupt, so that the command can clean up; afterwards it kills.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

INTERRUPTED = 130  # 128 + SIGINT, the shell's exit code
AGAIN = 0.02  # seconds


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _escaped(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Print nothing for an uncaught KeyboardInterrupt; Python then ends by the signal."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)


def _ignored(unraisable: sys.UnraisableHookArgs) -> None:
    """Send SIGINT again if a destructor or callback swallowed the KeyboardInterrupt."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    from threading import Timer

    Timer(AGAIN, os.kill, [os.getpid(), signal.SIGINT]).start()


def main() -> int:
    """Run the command line; returns the exit code."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:  # false for a background job of a shell
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
