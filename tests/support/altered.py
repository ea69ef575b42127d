"""A source whose answers can be changed one at a time, and the changes worth trying."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from nettop.host.netlink.codec import Request

ABSENT = None  # in place of an answer: no such file
Answer = Any  # bytes, text or names
LINES, WORDS, BYTES = 3, 10, 160


class Altered:
    """Another source, of which the answer `name` is `answer`; all answers are kept."""

    def __init__(self, source: Any, name: str = "", answer: Answer = ABSENT) -> None:
        self.source, self.name, self.answer = source, name, answer
        self.kept: dict[str, Answer] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def _ask(self, name: str, ask: Callable[[], Answer]) -> Answer:
        if name == self.name:
            if self.answer is ABSENT:
                raise FileNotFoundError(2, "No such file or directory", name)
            return self.answer
        found = self.kept[name] = ask()
        return found

    def data(self, path: str) -> bytes:
        found = self._ask(path, lambda: self.source.data(path))
        return found.encode() if isinstance(found, str) else found

    def text(self, path: str) -> str:
        found = self._ask(path, lambda: self.source.text(path))
        return found.decode("utf-8", "surrogateescape") if isinstance(found, bytes) else found

    def listing(self, path: str) -> list[str]:
        return list(self._ask(f"{path}/", lambda: self.source.listing(path)))

    def link(self, path: str) -> str:
        return str(self._ask(f"{path} (link)", lambda: self.source.link(path)))

    def netlink(self, request: Request) -> bytes:
        return bytes(self._ask(f"netlink {request.name}", lambda: self.source.netlink(request)))

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        ask = lambda: self.source.statistics(interface, request, name)  # noqa: E731
        return bytes(self._ask(f"ioctl {name}", ask))


def others(name: str, answer: Answer) -> Iterator[tuple[str, Answer]]:
    """Other answers, each with a name: absent, empty, without a part, with another figure."""
    yield "absent", ABSENT
    if name.startswith(("netlink ", "ioctl ")):
        yield from _bytes(bytes(answer))
    elif isinstance(answer, list):
        for place in range(min(LINES, len(answer))):
            yield f"without {answer[place]}", answer[:place] + answer[place + 1 :]
        yield "with 9999", [*answer, "9999"]
    elif name.endswith("(link)"):
        yield "elsewhere", "../../other0"
    else:
        text = answer.decode("utf-8", "surrogateescape") if isinstance(answer, bytes) else answer
        yield from _text(text)


def _bytes(whole: bytes) -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    for size in (8, 16, len(whole) // 2, len(whole) - 1):
        if 0 < size < len(whole):
            yield f"first {size} bytes", whole[:size]
    for at in range(0, min(BYTES, len(whole)), 4):
        yield f"byte {at} + 1", whole[:at] + bytes([(whole[at] + 1) % 256]) + whole[at + 1 :]


def _text(text: str) -> Iterator[tuple[str, str]]:
    yield "empty", ""
    lines = text.splitlines(keepends=True)
    for place in range(min(LINES, len(lines))):
        yield f"without line {place}", "".join(lines[:place] + lines[place + 1 :])
    words = [found.span() for found in re.finditer(r"[^\s:,]+", text)]
    for start, end in words[:WORDS]:
        word = text[start:end]
        yield f"without {word!r} at {start}", text[:start] + text[end:]
        other = str(2 * int(word) + 1) if word.isdecimal() else "x9"
        yield f"{word!r} at {start} is {other}", text[:start] + other + text[end:]
