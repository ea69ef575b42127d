"""A function that keeps what it was called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def keeping(calls: list[Any], answer: Any = None) -> Callable[..., Any]:
    """It adds its arguments to `calls`, one alone as itself, and returns `answer`."""

    def called(*words: Any) -> Any:
        calls.append(words[0] if len(words) == 1 else words)
        return answer

    return called
