"""What is typed: the bytes of a terminal as messages of Textual.

No byte ends the input. A byte that is not UTF-8 is shown as U+FFFD, as in a terminal of another
encoding; a sequence that Textual cannot take is left out.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from textual.message import Message

from . import internals

_X10: Final = (
    b"\x1b[M"  # before the three bytes of a mouse report of a terminal without SGR reports
)


class Typed:
    """Decodes one stream; needs `terminal` or `browser` of `internals`."""

    def __init__(self) -> None:
        """Nothing was typed yet."""
        self._parser = internals.parser()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._last = b""  # bytes that may begin a mouse report
        self._left = 0  # bytes of one that are to come

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages of some more bytes; a part of a letter or sequence waits for its rest."""
        for character in self._text(data):
            yield from self._parsed(partial(self._parser.feed, character))

    def tick(self) -> Iterable[Message]:
        """Those of a sequence whose rest did not come in time: a lone Esc is a key."""
        return self._parsed(self._parser.tick)

    def end(self) -> Iterable[Message]:
        """Those of what waits: nothing more comes."""
        return self._parsed(partial(self._parser.feed, ""))

    def _parsed(self, work: Callable[[], Iterable[Message]]) -> list[Message]:
        try:
            return list(work())
        except Exception:  # such as a key whose number is that of no character
            self._parser = internals.parser()
            return []

    def _text(self, data: bytes) -> str:
        """The characters; a byte of a mouse report is one each, whatever comes after it."""
        text = ""
        while data:
            if self._left:
                end = min(self._left, len(data))
                text += "".join(chr(max(byte, ord(" "))) for byte in data[:end])
                self._left -= end
            else:
                both = self._last + data
                found = both.find(_X10)
                end = len(data) if found < 0 else found + len(_X10) - len(self._last)
                text += self._decode(data[:end])
                self._last = both[1 - len(_X10) :] if found < 0 else b""
                self._left = 3 if found >= 0 else 0
            data = data[end:]
        return text
