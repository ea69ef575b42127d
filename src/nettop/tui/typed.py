"""What is typed: the bytes of a terminal as messages of Textual.

No byte ends the input. A byte that is not UTF-8 is shown as U+FFFD, as in a terminal of another
encoding. Textual gets whole sequences only (ECMA-48, 5.4 and 5.6); one that it does not know, one
that is longer than any key, and the string of a reply are left out. What is begun and not ended is
over after a silence, and Ctrl-C is a key wherever it comes.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from textual import events
from textual.app import App
from textual.message import Message

from . import internals

_X10: Final = (
    b"\x1b[M"  # before the three bytes of a mouse report of a terminal without SGR reports
)
_ESC: Final = "\x1b"
_INTERRUPT: Final = "\x03"
_LONGEST: Final = 32  # characters of a sequence: Textual knows none that is longer
_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"
_PASTED: Final = 4096  # characters of a paste: the rest is left out
_SILENT: Final = 2  # silences after which a paste is over: its parts may come late
_END: Final = "\x1b\\"  # ST, the end of a string
_BEGUN: Final = re.compile(r"\x1b(\[(\[|M.{0,2}|[0-?]*[ -/]*)?|[]PX^_O])?", re.DOTALL)
_STRING: Final = re.compile(r"\x1b[]PX^_]")  # OSC, DCS, SOS, PM, APC
_CONTROL: Final = re.compile(r"\x1b\[[0-?]*[ -/]*")
_STRING_ENDS: Final = "\x07\x18\x1a"  # BEL, CAN, SUB
WAITING: Final = 128  # messages: more than a filter or an address has letters
_RUNS: Final = re.compile(r"[^\x00-\x1f]+|.", re.DOTALL)
_TURNS: Final = 1000  # of the event loop: a widget that closes never empties its queue


# nettop shows the same with and without the focus; Textual would style all widgets again
_UNSEEN: Final = (events.AppFocus, events.AppBlur)


def interrupts(message: Message) -> bool:
    """Whether it is Ctrl-C, which no other input may delay."""
    return isinstance(message, events.Key) and message.key == "ctrl+c"


class Typed:
    """Decodes one stream; needs `terminal` or `browser` of `internals`."""

    def __init__(self) -> None:
        """Nothing was typed yet."""
        self._parser = internals.parser()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._last = b""  # bytes that may begin a mouse report
        self._left = 0  # bytes of one that are to come
        self._begun = ""  # a sequence without its end
        self._paste: list[str] | None = None  # the characters of a paste without its end
        self._silent = 0  # silences since something came

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages of some more bytes; a part of a letter or sequence waits for its rest.

        Of more letters in a row than may wait, the last are taken.
        """
        self._silent = 0
        for run in _RUNS.findall(self._text(data)):
            plain = not self._begun and self._paste is None
            for character in run[-WAITING:] if plain else run:
                yield from self._taken(character)

    def tick(self) -> list[Message]:
        """Nothing more came for a while: a lone Esc is a key, and what was begun is over."""
        self._silent += 1
        self._last, self._left = b"", 0
        begun, self._begun = self._begun, ""
        messages = self._whole(begun)
        if self._silent >= _SILENT:
            self._paste = None
        return messages

    def _taken(self, character: str) -> list[Message]:
        """The messages of one more character."""
        begun, self._begun = self._begun, ""
        both = begun + character
        if character == _INTERRUPT:
            return self._whole(character)
        if character == _ESC:
            self._begun = _ESC
            return self._whole(begun)
        if _STRING.match(begun):
            self._begun = "" if character in _STRING_ENDS else begun[:2] + character
            return []
        if _BEGUN.fullmatch(both):
            self._begun = both[: _LONGEST + 1]
            return []
        if _CONTROL.fullmatch(begun) and not " " <= character <= "~":
            return [*self._whole(begun), *self._whole(character)]
        return self._whole(both)

    def _whole(self, sequence: str) -> list[Message]:
        """The messages of a character or sequence, which may be one that was not ended."""
        pasted = self._paste
        if sequence == _PASTE:
            self._paste = []
            return []
        if sequence == _PASTE_END:
            self._paste = None
            return [] if pasted is None else [events.Paste("".join(pasted))]
        if pasted is not None and len(sequence) == 1 and sequence != _INTERRUPT:
            pasted.extend(sequence if len(pasted) < _PASTED else "")
            return []
        known = 0 < len(sequence) <= _LONGEST and sequence != _END
        messages = self._parsed(sequence) if known else []
        return messages if pasted is None else [one for one in messages if interrupts(one)]

    def _parsed(self, sequence: str) -> list[Message]:
        """What Textual makes of it: of one that it does not know, only Alt and a character."""
        try:
            messages = list(self._parser.feed(sequence))
            rest = list(internals.ended(self._parser))
        except Exception:  # such as a key whose number is that of no character
            self._parser = internals.parser()
            return []
        return [*messages, *rest] if len(sequence) <= len(_END) else messages

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


class Ahead:
    """What is typed ahead: faster than the screen handles it.

    The screen gets a batch after it has handled the last one, and draws once per batch. What comes
    meanwhile waits; of more than `WAITING` messages the oldest are left out, so that the last key
    still comes soon. Ctrl-C does not wait. `send` queues a message in `app`, from any thread and in
    order.
    """

    def __init__(self, app: App[int], send: Callable[[Message], None]) -> None:
        """Nothing waits."""
        self._app = app
        self._send = send
        self._waiting: deque[Message] = deque(maxlen=WAITING)
        self._busy = False  # the screen has a batch that it has not handled
        self._lock = threading.Lock()

    def add(self, message: Message) -> None:
        """Send the message now or after the batch that the screen handles.

        Of movements of the mouse that wait one after the other, the last is enough.
        """
        if interrupts(message):
            self._send(message)
            return
        if isinstance(message, _UNSEEN):
            return
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(message, events.MouseMove) and isinstance(last, events.MouseMove):
                self._waiting.pop()
            self._waiting.append(message)
            busy = self._busy
        if not busy:
            self._next()

    def _next(self) -> None:
        with self._lock:
            batch = [*self._waiting]
            self._waiting.clear()
            self._busy = bool(batch)
            for message in batch:
                self._send(message)
            if batch:
                self._send(events.Callback(callback=self._follow))

    async def _follow(self) -> None:
        """Let the widgets that have the keys hand them upwards; then come after the keys."""
        app = self._app
        widgets = [app.focused or app.screen, app.screen]
        for _ in range(_TURNS):
            await asyncio.sleep(0)
            if not any(widget.message_queue_size for widget in widgets):
                break
        app.call_later(self._next)
