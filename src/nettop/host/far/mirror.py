"""The last answer to each request, the same at both ends, so that only changes are sent.

A counter file or a list of sockets mostly keeps its length: then the difference is an exclusive or,
which is nearly all zeros. Else unchanged lines are left out. An answer is `+` and its bytes, or
`!`, the number of the error and its sentence.
"""

from typing import Dict, List, Optional, Tuple

from nettop.host.far.wire import LINES as MOST
from nettop.host.far.wire import Ask, UnreadableError

GONE, WHOLE, XOR, LINES, CUT = 0, 1, 2, 3, 4  # forms of a change
_SAME = b"\0"
ENTRY = 256  # bytes of memory of an answer beside its text: its key and the entry of the table
KEPT = 128  # batches after which an answer that nobody asked for is forgotten
_PIECE = 1 << 20  # bytes that are compared at once
_SWEEP = 32  # batches between two sweeps


class Mirror:
    """Answers by request. The reader forgets old ones, and tells the other end which."""

    def __init__(self) -> None:
        """No answer yet."""
        self.answers: Dict[Ask, bytes] = {}
        self._used: Dict[Ask, int] = {}
        self.number = 0
        self.size = 0  # bytes that all answers take

    def begin(self) -> List[Ask]:
        """The next batch; the requests and patterns that were not part of one for long."""
        self.number += 1
        if self.number % _SWEEP:
            return []
        oldest = self.number - KEPT
        forgotten = [ask for ask, used in self._used.items() if used < oldest]
        for ask in forgotten:
            self.remove(ask)
        return forgotten

    def use(self, ask: Ask) -> None:
        """The request or pattern is part of this batch."""
        self._used[ask] = self.number

    def change(self, ask: Ask, now: bytes) -> Optional[Tuple[int, bytes]]:
        """How the other end gets `now`; None if it has it."""
        old = self.answers.get(ask)
        if old == now:
            return None
        self._keep(ask, now)
        return _difference(old, now) if old is not None else (WHOLE, now)

    def remove(self, ask: Ask) -> None:
        """There is no answer any more: a process ended."""
        old = self.answers.pop(ask, None)
        if old is not None:
            self.size -= ENTRY + len(ask[1]) + len(old)
        self._used.pop(ask, None)

    def _keep(self, ask: Ask, now: bytes) -> None:
        old = self.answers.get(ask)
        self.size += len(now) - len(old) if old is not None else ENTRY + len(ask[1]) + len(now)
        self.answers[ask] = now

    def apply(self, ask: Ask, form: int, body: bytes) -> None:
        """Take a change from the other end; UnreadableError if it fits no answer."""
        if form == GONE:
            self.remove(ask)
        elif form == WHOLE:
            self._keep(ask, body)
        elif form in (XOR, LINES) and ask in self.answers:
            self._keep(ask, _patched(self.answers[ask], form, body))
        else:
            raise UnreadableError("a change of an answer that was never sent")


def _difference(old: bytes, now: bytes) -> Tuple[int, bytes]:
    if len(old) == len(now):
        return XOR, _xor(old, now)
    if b"\0" in now or now.count(b"\n") > MOST:
        return WHOLE, now
    before, after = old.split(b"\n"), now.split(b"\n")
    if len(before) != len(after) or len(after) < 2:
        return WHOLE, now
    return LINES, b"\n".join([_SAME if a == b else b for a, b in zip(before, after)])


def _patched(old: bytes, form: int, body: bytes) -> bytes:
    if form == XOR:
        if len(body) != len(old):
            raise UnreadableError("a change of another length than its answer")
        return _xor(old, body)
    if max(old.count(b"\n"), body.count(b"\n")) > MOST:
        raise UnreadableError("a change of more than {:,} lines".format(MOST))
    before, after = old.split(b"\n"), body.split(b"\n")
    if len(before) != len(after):
        raise UnreadableError("a change of another number of lines than its answer")
    return b"\n".join([a if b == _SAME else b for a, b in zip(before, after)])


def _xor(one: bytes, other: bytes) -> bytes:
    parts = []
    for at in range(0, len(one), _PIECE):
        part, with_ = one[at : at + _PIECE], other[at : at + _PIECE]
        bits = int.from_bytes(part, "little") ^ int.from_bytes(with_, "little")
        parts.append(bits.to_bytes(len(part), "little"))
    return b"".join(parts)
