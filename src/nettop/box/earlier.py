"""The moments before the screen was started, from the box of this host, for the key `←`.

Nothing of the box is read before that key goes beyond the screen's own beginning. Then a thread
reads some minutes around the time wanted; the last few such parts are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..terms.errors import sentence
from ..views.moments import Found
from ..views.scene import Scene

if TYPE_CHECKING:
    from .minutes import Minutes
    from .past import Past

LENGTH: Final = 120.0  # seconds of a part of the box that is read at once
KEPT: Final = 3  # parts
_TRIES: Final = 8  # parts without a scene that are passed before the search ends


class Earlier:
    """The memory of the box; `views.moments.Memory` describes its methods."""

    def __init__(
        self, find: Callable[[], Past | None], tables: Collection[str], done: Callable[[], None]
    ) -> None:
        """`find` gives the box; `tables` are those that panes draw.

        `done` is called from the thread when an answer has arrived.
        """
        self._find, self._tables, self._done = find, tables, done
        self._past: Past | None = None
        self._parts: dict[int, Minutes] = {}  # by number, the one used last at the end
        self._reported: set[str] = set()  # names of faults
        self._thread: threading.Thread | None = None
        self._answer: Found | None = None

    def near(self, wall: float, *, back: bool) -> Found | None:
        """The moment next to `wall`; None while it is being read."""
        if self._past is None:
            self._past = self._find()
        if self._past is None:
            return Found(wall)
        found = self._known(wall, back=back)
        if found is None and (self._thread is None or not self._thread.is_alive()):
            self._answer = None
            self._thread = threading.Thread(
                target=self._read, args=(self._past, wall, back), name="nettop-box", daemon=True
            )
            self._thread.start()
        return found

    def arrived(self) -> Found | None:
        """The answer that `near` did not have; given once."""
        answer, self._answer = self._answer, None
        return answer

    def scene(self, wall: float) -> Scene | None:
        """The latest moment of the part with that time that is not after it."""
        part = self._parts.get(_number(wall))
        return None if part is None else part.scene(wall)

    def _known(self, wall: float, *, back: bool) -> Found | None:
        """The answer from the parts that are kept."""
        number = _number(wall)
        for one in (number, number - 1 if back else number + 1):
            part = self._parts.get(one)
            if part is None:
                return None
            at = part.near(wall, back=back)
            if at is not None:
                return Found(wall, at, gap=part.gap(wall, at))
        return None

    def _read(self, past: Past, wall: float, back: bool) -> None:
        """Find the moment, and read the part it is in; the body of the thread."""
        try:
            found = self._search(past, wall, back=back)
        except Exception as error:  # what is on disk may be anything
            found = Found(wall, fault=sentence(error))
        self._answer = found
        self._done()

    def _search(self, past: Past, wall: float, *, back: bool) -> Found:
        from .minutes import load  # rules and collectors: not before the first paint

        at, fault = wall, ""
        for _ in range(_TRIES):
            next_at = past.before(at) if back else past.after(at)
            fault = fault or self._new_fault(past)
            if next_at is None and back:  # a step of a minute ends at the oldest moment
                return replace(self._search(past, 0.0, back=False), asked=wall, gap=False)
            if next_at is None:
                return Found(wall, fault=fault)
            number = _number(next_at)
            begin = number * LENGTH
            part = self._parts.get(number) or load(past, begin, begin + LENGTH, self._tables)
            kept = [*((n, p) for n, p in self._parts.items() if n != number), (number, part)]
            self._parts = dict(kept[-KEPT:])
            if part.other:
                past.faults.setdefault(part.other, "its moments are left out")
            fault = fault or self._new_fault(past)
            near = part.near(at, back=back)
            if near is not None:
                return Found(wall, near, gap=part.gap(wall, near), fault=fault)
            at = number * LENGTH - 1e-3 if back else (number + 1) * LENGTH
        return Found(wall, fault=fault)

    def _new_fault(self, past: Past) -> str:
        """A fault that was not reported yet; empty if there is none."""
        new = [(name, why) for name, why in past.faults.items() if name not in self._reported]
        self._reported.update(name for name, _ in new)
        more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
        return "".join(f"{name}: {why}{more}" for name, why in new[:1])


def _number(wall: float) -> int:
    return int(wall // LENGTH)
