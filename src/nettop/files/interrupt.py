"""Signals that stop nettop: SIGINT is remembered, and all wait while something is written.

SIGINT raises KeyboardInterrupt, and is remembered, because Python can replace that exception.

C code of Python that is interrupted may raise another exception. `type` raises RuntimeError, with
the interrupt as its cause, if `__set_name__` is interrupted (Objects/typeobject.c). `from x import
y` raises TypeError, without a reference to the interrupt, if it is interrupted while it formats an
ImportError (import_from of Python/ceval.c). Code that catches `Exception` asks `replaced` about it.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from signal import default_int_handler
from types import FrameType
from typing import Final

_ARRIVED: Final[list[int]] = []  # signals since the start, or since the last `handled`


def handler(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; the handler of a signal."""
    _ARRIVED.append(number)
    default_int_handler(number, frame)


def handled() -> None:
    """Forget the interrupt: the command caught KeyboardInterrupt and goes on."""
    _ARRIVED.clear()


def replaced(error: Exception) -> bool:
    """Whether Python raised this error in place of a KeyboardInterrupt.

    True if an interrupt is a cause of the error. Also true if the program was interrupted and the
    error does not have the interrupt as its context, as an error raised during cleanup has.
    """
    causes = list(_chain(error, "__cause__"))
    if any(isinstance(one, KeyboardInterrupt) for one in causes):
        return True
    contexts = _chain(error, "__context__")
    return bool(_ARRIVED) and not any(isinstance(one, KeyboardInterrupt) for one in contexts)


def _chain(error: BaseException, link: str) -> Iterator[BaseException]:
    """The error and those before it; Python keeps these chains free of cycles."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = getattr(one, link)


STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP of this thread to the end of the block."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
