"""What is typed, byte by byte: nothing ends the input, and the next `q` is a `q`."""

import contextlib
import os
import pty
import select
import threading
import tty
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from hang import HANG, until
from hypothesis import given
from hypothesis import strategies as st
from pty_terminal import Terminal, restored
from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.message import Message
from warm import Warm

from nettop.tui import browser
from nettop.tui.terminal import ROUNDS
from nettop.tui.terminal import Terminal as Driver
from nettop.tui.typed import WAITING, Typed

X10 = [
    b"\x1b[M" + bytes([button, x, y])
    for button in (0x20, 0x23, 0x60)
    for x in (0x21, 0x7E, 0x80, 0x98, 0xC3, 0xE9, 0xFF)
    for y in (0x21, 0x71, 0x80, 0xA9, 0xFF)
]
STRANGE = [
    b"\x1b[1114112u", b"\x1b[999999999999u", b"\x1b[55296u", b"\x1b[1;1;1114112u", b"\x1b[u",
    b"\x1b[<0;0;0M", b"\x1b[<999999999999999999999;1;1M", b"\x1b[<;;M", b"\x1b[M", b"\x1b[Mq",
    b"\x1b[200", b"\x1b[200~abc", b"\x1b[200~\x1b[", b"\x1bP+r\x1b\\", b"\x1b_x",
    b"\x1b[201~", b"\x1b[;R", b"\x1b[0;0R", b"\x1b[?2026;9$y", b"\x1b]11;r\x07",
]  # fmt: skip


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence whose rest has not come is over at the next look at the clock."""
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.0)


def keys(messages: Iterable[Message]) -> list[str]:
    return [one.key for one in messages if isinstance(one, events.Key)]


def silence(typed: Typed) -> list[Message]:
    """What comes when the reader has waited for more as long as it does."""
    return [message for _ in range(ROUNDS) for message in typed.tick()]


def quits_after(*pieces: bytes) -> bool:
    typed = Typed()
    for piece in pieces:
        list(typed.feed(piece))
    silence(typed)
    return (keys(typed.feed(b"q")) or [""])[-1] == "q"


# of each kind of byte some: control bytes, what begins, goes on and ends a sequence, parts of UTF-8
FIRST = (*range(0x20), *b" 059;<?AMOP[]^_aqu~\x7f", *b"\x80\x9b\xbf\xc2\xdf\xe0\xed\xf0\xf4\xff")


@pytest.mark.parametrize(
    "seconds", [FIRST, pytest.param(range(256), marks=pytest.mark.nightly)], ids=["some", "all"]
)
@folded("first", FIRST)
def test_no_byte_and_no_pair_takes_the_next_key(first: int, seconds: Iterable[int]) -> None:
    one = bytes([first])
    assert quits_after(one)
    for second in seconds:
        other = bytes([second])
        assert quits_after(one + other), (one, other)
        assert quits_after(one, other), (one, other)


@folded("sequence", [*X10, *STRANGE, "é€😀".encode()], ids=bytes.hex)
def test_no_sequence_cut_anywhere_takes_the_next_key(sequence: bytes) -> None:
    for first in range(len(sequence) + 1):
        assert quits_after(sequence[:first])
        for second in range(first, len(sequence) + 1):
            assert quits_after(sequence[:first], sequence[first:second], sequence[second:])


@folded("sequence", X10, ids=bytes.hex)
def test_a_mouse_report_of_an_old_terminal_is_no_key(sequence: bytes) -> None:
    for cut in range(2, len(sequence) + 1):  # a lone Esc is a key
        typed = Typed()
        assert keys([*typed.feed(sequence[:cut]), *typed.feed(sequence[cut:])]) == []
        assert keys(typed.tick()) == []


@given(st.lists(st.binary(max_size=8), max_size=8))
def test_no_bytes_take_the_next_key(pieces: list[bytes]) -> None:
    assert quits_after(*pieces)


PASTE = b"\x1b[200~"
BEGUN = [b"\x1b[", b"\x1b[<", b"\x1b]", b"\x1bP", b"\x1bX", b"\x1b^", b"\x1b_", PASTE]


@folded("begun", BEGUN, ids=bytes.hex)
@folded("interrupt", [b"\x03", b"\x1b[99;5u"], ids=["byte", "kitty"])
def test_ctrl_c_is_a_key_wherever_it_comes(begun: bytes, interrupt: bytes) -> None:
    for content in (b"1;2", b"5" * 10_000):
        assert keys(Typed().feed(begun + content + interrupt + b"\x1b\\")) == ["ctrl+c"]


@pytest.mark.parametrize("begun", BEGUN, ids=bytes.hex)
@pytest.mark.parametrize("end", [b"", b"\x18", b"\x1b\\"], ids=bytes.hex)
def test_what_is_longer_than_any_sequence_is_left_out_without_work(
    begun: bytes, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    feed = XTermParser.feed

    def counted(parser: XTermParser, data: str) -> Iterable[Message]:
        calls.append(data)
        return feed(parser, data)

    monkeypatch.setattr(XTermParser, "feed", counted)
    typed = Typed()
    found = [one for part in (begun, *[b"5" * 4096] * 15, end) for one in typed.feed(part)]
    found += silence(typed)
    assert keys(found) in ([], ["ctrl+x"], ["ctrl+shift+x"])
    assert len(calls) < 3
    assert keys(typed.feed(b"q")) == ["q"]


def test_of_a_flood_of_letters_the_last_are_taken() -> None:
    found = keys(Typed().feed(b"j" * 50_000 + b"\x03" + b"k" * 50_000 + b"q"))
    assert len(found) <= 2 * WAITING + 1
    assert "ctrl+c" in found
    assert found[-1] == "q"


def test_a_paste_is_one_message_of_a_bounded_length() -> None:
    found = list(Typed().feed(PASTE + b"a\x1b[Aq" * 2000 + b"\x1b[201~j"))
    assert [type(one) for one in found] == [events.Paste, events.Key]
    assert isinstance(found[0], events.Paste)
    assert found[0].text == ("aq" * 2000)[:4096]


def test_the_parts_of_a_paste_may_come_late() -> None:
    typed = Typed()
    found = [*typed.feed(PASTE + b"q"), *typed.tick(), *typed.feed(b"q\x1b[20")]
    assert not found
    assert [str(one) for one in typed.feed(b"1~")] == [str(events.Paste("qq"))]


def test_a_letter_in_pieces_is_that_letter() -> None:
    typed = Typed()
    found = [one for byte in "é€😀".encode() for one in typed.feed(bytes([byte]))]
    assert [one.character for one in found if isinstance(one, events.Key)] == ["é", "€", "😀"]


class Read:
    """The reader of the driver on a pseudo-terminal."""

    def __init__(self) -> None:
        self.tty, inner = pty.openpty()
        tty.setraw(inner)
        ends, self.end = os.pipe()
        self.handles = [self.tty, inner, ends, self.end]
        self.came, came = os.pipe()
        self.handles += [self.came, came]

        def process_message(message: Message) -> None:
            if keys([message]) == ["q"]:
                os.write(came, b"q")

        driver: Any = SimpleNamespace(fileno=inner, _ends=ends, process_message=process_message)
        self.thread = threading.Thread(target=Driver.run_input_thread, args=(driver,))
        self.thread.start()

    def quits(self) -> bool:
        """Press `q` until it comes; the first may end a sequence."""
        for _ in range(4):
            os.write(self.tty, b"q")
            if select.select([self.came], [], [], 20)[0]:
                os.read(self.came, 64)
                return True
        return False

    def close(self) -> None:
        os.write(self.end, b"\n")
        self.thread.join(HANG)
        for handle in self.handles:
            os.close(handle)


@pytest.fixture
def read() -> Iterator[Read]:
    one = Read()
    yield one
    one.close()


def test_the_reader_of_a_terminal_outlives_every_byte(read: Read) -> None:
    for sequence in [*(bytes([one]) for one in range(256)), *X10, *STRANGE]:
        os.write(read.tty, sequence)
        assert read.thread.is_alive(), sequence
    assert read.quits()


def test_the_reader_of_a_browser_outlives_every_packet() -> None:
    found: list[Message] = []
    driver: Any = SimpleNamespace(process_message=found.append)
    for packet in [*(bytes([one]) for one in range(256)), *X10, *STRANGE, b""]:
        browser.Browser._typed(driver, packet)
        browser.Browser._typed(driver, b"q")
        assert keys(found)[-1:] == ["q"]


@pytest.mark.parametrize(
    "sequence",
    [b"\xe9", b"\xf6", b"\xff", b"\x1b[M\x20\x98\x21", b"\x1b[1114112u", bytes(range(128, 256))],
    ids=bytes.hex,
)
def test_the_program_still_quits(sequence: bytes, tmp_path: Any, warm: Warm) -> None:
    one = Terminal(tmp_path, "--demo", warm=warm)
    try:
        one.read(b"Overview")
        os.write(one.tty, sequence)
        codes: list[int | None] = []

        def quits() -> bool:
            with contextlib.suppress(OSError):
                os.write(one.tty, b"q")  # the first may belong to a sequence without its end
            while one.take(0.3):
                pass
            codes.append(one.poll())
            return codes[-1] is not None

        until(quits)
        assert codes[-1] == 0
        restored(one.seen)
        assert b"Traceback" not in one.seen
    finally:
        one.close()
