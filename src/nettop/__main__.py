"""Entry point of the process: `nettop` and `python -m nettop`.

Neither SIGINT nor a lack of memory or of open files prints a traceback from the first line of this
module on; Python's own start before that cannot be changed from here. While the command runs
`files/interrupt.py` raises KeyboardInterrupt, so that the command can clean up; before and
afterwards it kills the process.
"""

# `signal` imports `enum`, which takes milliseconds: an interrupt then would print a traceback
from _signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

if getsignal(SIGINT) is default_int_handler:  # it is SIG_IGN in a background job of a shell
    signal(SIGINT, SIG_DFL)

import os
import sys
from types import TracebackType

from nettop import scarce

AGAIN = 0.02  # seconds
LEAST = 64 << 20  # bytes of address space (ulimit -v); with too little Python itself crashes


def _escaped(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Print nothing for an uncaught KeyboardInterrupt; Python then ends by the signal."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)


def _ignored(unraisable: "sys.UnraisableHookArgs") -> None:
    """Send SIGINT again if a destructor or callback swallowed the KeyboardInterrupt."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    from threading import Timer

    Timer(AGAIN, os.kill, [os.getpid(), SIGINT]).start()


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        return _main()
    except BaseException as error:
        if not (why := scarce(error)):
            raise
    try:
        os.write(2, f"nettop: {why}\n".encode())
    except OSError:  # it is closed
        return 3
    return 3


def _main() -> int:
    from resource import RLIMIT_AS, getrlimit

    if 0 <= getrlimit(RLIMIT_AS)[0] < LEAST:
        raise MemoryError
    from nettop import cli
    from nettop.files import interrupt, streams

    sys.excepthook, sys.unraisablehook = _escaped, _ignored
    streams.adopt()
    interruptible = getsignal(SIGINT) is SIG_DFL
    if interruptible:
        signal(SIGINT, interrupt.handler)
    code = cli.main()
    if interruptible:
        signal(SIGINT, SIG_DFL)
    return code


if __name__ == "__main__":
    sys.exit(main())
