"""Error messages of one sentence."""

import errno
from collections.abc import Iterable
from typing import Final

_ABSENT: Final = {errno.ENOENT, errno.ENODEV, errno.ESRCH}


class Refused(Exception):  # noqa: N818
    """One sentence for the user and the exit code: 2 usage, 3 could not look, 4 not done."""

    def __init__(self, sentence: str, code: int = 2) -> None:
        """`sentence` names the cause and what to do."""
        super().__init__(sentence)
        self.code = code


def sentence(error: BaseException) -> str:
    """One sentence for an exception: the kernel's message and the file, or its own message."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
    if error.args and isinstance(error.args[0], str):  # str(KeyError) would be its repr
        return error.args[0]
    return str(error) or type(error).__name__


def absent(error: BaseException) -> bool:
    """Whether an error says that there is no such file, device or process.

    Any other error says that a request failed: what it asked for may exist.
    """
    return isinstance(error, OSError) and error.errno in _ABSENT


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` to append to a sentence; empty when no known name is similar."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {matches[0]}?)" if matches else ""
