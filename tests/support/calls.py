"""A function that keeps what it was called with."""

from collections.abc import Callable
from typing import Any


def keeping(calls: list[Any], answer: Any = None) -> Callable[..., Any]:
    """A function that appends its arguments to `calls` (a tuple if several); returns `answer`."""

    def called(*words: Any) -> Any:
        calls.append(words[0] if len(words) == 1 else words)
        return answer

    return called
