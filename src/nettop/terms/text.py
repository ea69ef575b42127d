"""Text in terminal cells: safe printing of host data, cropping, padding, bars and graphs.

A `Line` is ((text, role), …). Panes write Unicode; `plain` turns a line into ASCII of the same
width for locales that have nothing else.
"""

import locale
import math
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from . import braille

Line = tuple[tuple[str, str], ...]

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
LEVELS: Final = "▁▂▃▄▅▆▇█"
NAMED: Final = 3  # names of a list that are told, where nothing else is said
_LOST: Final = "\ufffd"
_VARIATION: Final = range(0xFE00, 0xFE10)
_VARIATIONS: Final = re.compile("[\ufe00-\ufe0f]")


@lru_cache(maxsize=1024)
def safe(text: str) -> str:
    """The text without anything that a terminal could interpret or reorder.

    Control characters show as their pictures (`␛`), undecodable bytes, bidirectional marks, joiners
    and variation selectors as `�`: one cell each.
    """
    if text.isprintable() and (
        text.isascii() or (unicodedata.is_normalized("NFC", text) and not _VARIATIONS.search(text))
    ):
        return text
    out = []
    for char in unicodedata.normalize("NFC", text):
        code = ord(char)
        if code < 0x20:
            out.append(chr(0x2400 + code))
        elif code == 0x7F:
            out.append("\u2421")
        elif char == " " or (char.isprintable() and code not in _VARIATION):
            out.append(char)
        else:
            out.append(" " if unicodedata.category(char) == "Zs" else _LOST)
    return "".join(out)


@lru_cache(maxsize=1024)
def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cells(text: str) -> int:
    """How many terminal cells a safe text fills."""
    return len(text) if text.isascii() else _wide(text)


@lru_cache(maxsize=1024)
def _wide(text: str) -> int:
    return sum(map(_cell, text))


@lru_cache(maxsize=1024)
def _measured(text: str) -> tuple[str, int]:
    """A text made safe, and its width; cached, because bars and names recur in every frame."""
    text = safe(text)
    return text, cells(text)


def crop(text: str, width: int) -> str:
    """At most `width` cells of the text; a `…` marks cropped text."""
    if len(text) <= width and text.isascii() and text.isprintable():  # nearly every text
        return text
    text = safe(text)
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    out, used = [], 0
    for char in text:
        step = _cell(char)
        if used + step > width - 1:
            break
        out.append(char)
        used += step
    return "".join(out) + "…"


_CLAUSE: Final = re.compile(r"(?=[:;,] | [(·])")
_BREAK: Final = re.compile(r"(?<!\d) ")  # a number is not parted from its unit
_HALF: Final = 2  # whole clauses are used if they fill at least 1/_HALF of the width


def clauses(text: str, width: int) -> str:
    """At most `width` cells: the first clauses of a text that are whole, else the text cropped."""
    if cells(text) <= width:
        return text
    parts = (text[: at.start()] for at in _CLAUSE.finditer(text))
    fitting = (one for one in parts if cells(one) <= width and one.count("(") == one.count(")"))
    best = max(fitting, key=len, default="")
    return best if cells(best) * _HALF >= width else crop(text, width)


_ASIDE: Final = re.compile(r" \([^()]*\)|\[\d+\]")  # a remark; the number of a process


def concise(text: str, width: int) -> str:
    """The longest form of a sentence that fits: whole, without asides, its first clauses.

    What to do comes first in it, and the reason behind a colon, so that it says what to do.
    """
    return text if cells(text) <= width else clauses(_ASIDE.sub("", text), width)


def continued(text: str, room: int, width: int, more: int) -> list[str]:
    """The text in a line of `room` cells and up to `more` of `width`, cut as by `clauses`."""
    if cells(text) <= room or not more:
        return [clauses(text, room)]
    ends = (at.start() for at in _BREAK.finditer(text))
    spaces = (end for end in ends if cells(text[:end]) <= room)
    end = max(spaces, default=0)
    later = wrap(text[end:], width)
    last = clauses(" ".join(later[more - 1 :]), width)
    return [text[:end], *later[: more - 1], *filter(None, [last])]


@lru_cache(maxsize=1024)  # most cells of a table are the same in the next frame
def fit(text: str, width: int, align: str = "<") -> str:
    """Exactly `width` cells: cropped or padded, aligned `<`, `>` or `^`."""
    text = crop(text, width)
    gap = width - (len(text) if text.isascii() else cells(text))
    if gap <= 0:
        return text
    if align == ">":
        return " " * gap + text
    if align == "^":
        return " " * (gap // 2) + text + " " * (gap - gap // 2)
    return text + " " * gap


def line(*parts: str | tuple[str, str]) -> Line:
    """A line of plain texts and (text, role) pairs; empty ones are left out."""
    pairs = [part if isinstance(part, tuple) else (part, "") for part in parts]
    return tuple([pair for pair in pairs if pair[0]])


def line_cells(row: Line) -> int:
    """The width of a line."""
    return sum([cells(text) for text, _ in row])


def text_of(row: Line) -> str:
    """The line without its roles."""
    return "".join(text for text, _ in row)


@lru_cache(maxsize=512)  # most lines of a screen are the same in the next one
def fit_line(row: Line, width: int, role: str = "") -> Line:
    """The line made safe and exactly `width` cells wide; padding carries `role`."""
    out: list[tuple[str, str]] = []
    left = width
    for raw, kind in row:
        text, wide = (raw, len(raw)) if raw.isascii() and raw.isprintable() else _measured(raw)
        if wide > left:
            if left > 0:
                out.append((crop(text, left), kind))
            left = max(0, left - cells(out[-1][0])) if out else left
            break
        out.append((text, kind))
        left -= wide
    if left > 0:
        out.append((" " * left, role))
    return tuple(out)


def ends(left: Line, right: Line, width: int) -> Line:
    """Two lines in one: the second at the right edge where there is room, else dropped."""
    gap = width - line_cells(left) - line_cells(right)
    if gap < 1:
        return fit_line(left, width)
    return (*left, (" " * gap, ""), *right)


def over(row: Line, role: str) -> Line:
    """The whole line in one role (a selected row), keeping the marks of good, warn and bad."""
    keep = {"good", "warn", "bad"}
    return tuple((text, f"{role}-{kind}" if kind in keep else role) for text, kind in row)


def wrap(text: str, width: int) -> list[str]:
    """Paragraphs broken at spaces to at most `width` cells; a word too long is cropped."""
    return [*_wrapped(text, width)]


@lru_cache(maxsize=256)  # most sentences of a screen are those of the last one
def _wrapped(text: str, width: int) -> tuple[str, ...]:
    out: list[str] = []
    for paragraph in text.split("\n\n"):
        current = ""
        for word in paragraph.split():
            piece = crop(word, max(1, width))
            if current and cells(current) + 1 + cells(piece) > width:
                out.append(current)
                current = piece
            else:
                current = f"{current} {piece}" if current else piece
        if current:
            out.append(current)
        out.append("")
    return tuple(out[:-1])


def bar(fraction: float | None, width: int) -> tuple[str, str]:
    """A bar as (filled, rest), to an eighth of a cell; unknown is all rest, of dots."""
    if fraction is None or math.isnan(fraction):
        return "", "·" * width
    eighths = round(max(0.0, min(1.0, fraction)) * width * 8)
    if eighths == 0 and fraction > 0:
        eighths = 1
    full, part = divmod(eighths, 8)
    filled = "█" * full + (EIGHTHS[part] if part else "")
    return filled, "─" * (width - len(filled))


def stacked(shares: Iterable[tuple[float | None, str, str]], width: int) -> Line:
    """A bar of several parts, each (percent, glyph, role); every part above half a cell is seen."""
    out: list[tuple[str, str]] = []
    total, used = 0.0, 0
    for percent, glyph, role in shares:
        if not percent:
            continue
        total += percent
        upto = min(width, round(total * width / 100))
        if upto > used:
            out.append((glyph * (upto - used), role))
            used = upto
    if used < width:
        out.append(("─" * (width - used), "idle"))
    return tuple(out)


def level(percent: float | None) -> str:
    """One character for a load: `▁` … `█`; `·` when unknown."""
    if percent is None:
        return "·"
    return LEVELS[min(7, max(0, int(percent * 8 / 100)))]


FEWEST: Final = 6  # samples: the time axis of a graph has room for at least as many


def repeats(count: int, points: int) -> int:
    """The number of points of a graph that each of `count` samples takes, of `points` in all.

    It is 1 to 8, 10, 12, 14, 16, 20 and so on: three bits of what fits. The time scale rarely
    changes while a graph fills up, and four fifths of the points are used from four per sample on.
    """
    fits = max(1, points // max(FEWEST, count))
    rest = max(0, fits.bit_length() - 3)
    return fits >> rest << rest


def resample(values: Sequence[float | None], points: int) -> list[float | None]:
    """The values in `points` bins, the last at the end: repeated, or squeezed by their mean.

    A bin without a value is None.
    """
    if len(values) <= points:
        each = repeats(len(values), points)
        rest: list[float | None] = [None] * (points - each * len(values))
        return rest + [value for value in values for _ in range(each)]
    out: list[float | None] = []
    for index in range(points):
        lo, hi = index * len(values) // points, (index + 1) * len(values) // points
        known = [v for v in values[lo:hi] if v is not None]
        out.append(sum(known) / len(known) if known else None)
    return out


_ASCII: Final = {
    **dict(zip(EIGHTHS[1:], "#######" + "#", strict=True)),
    **dict(zip(LEVELS, "_,-=+*%#", strict=True)),
    "▓": "i", "▒": "s", "░": "u", "▚": "t", "·": ".", "…": "~", "–": "-", "—": "-", "─": "-",
    "│": "|", "┃": "|", "━": "=", "┊": ":", "▶": ">", "→": ">", "←": "<", "↑": "^", "↓": "v",
    "▲": "^", "▼": "v", "●": "*", "○": "o", "◆": "*", "◇": "o", "✗": "x", "✓": "v", "⚠": "!",
    "µ": "u", "×": "x", "≥": ">", "≤": "<", "±": "~", "■": "#", "□": ".", "▌": "|", "▸": ">",
    "╭": "+", "╮": "+", "╰": "+", "╯": "+",
    "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+",
    "₀": "0", "’": "'", "“": '"', "”": '"', "²": "2", "⟂": "|", "↺": "r", "⏸": "=", "≠": "#",
}  # fmt: skip


@lru_cache(maxsize=1024)
def _ascii(text: str) -> str:
    out = []
    for char in text:
        if char.isascii():
            out.append(char)
        elif char in _ASCII:
            out.append(_ASCII[char])
        elif 0x2800 <= ord(char) < 0x2900:
            out.append(braille.ascii_of(char))
        else:
            out.append("?" * _cell(char))
    return "".join(out)


def plain(row: Line) -> Line:
    """The line in ASCII, cell for cell."""
    return tuple((text if text.isascii() else _ascii(text), role) for text, role in row)


_TAKEN: Final = ("C.UTF-8", "C.utf8")  # values that Python itself may have set


def ascii_only(configured: bool | None = None) -> bool:
    """Whether only ASCII can be printed here: as configured, else as the locale says.

    In the C locale Python uses UTF-8 and sets LC_CTYPE accordingly (PEP 538, 540).
    """
    if configured is not None:
        return configured
    everything, kind, default = map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))
    if (everything or ("" if kind in _TAKEN else kind) or default) in ("C", "POSIX"):
        return True
    encoding = getattr(sys.stdout, "encoding", "") or locale.getpreferredencoding(
        do_setlocale=False
    )
    return "utf" not in encoding.lower()


def lacking(error: UnicodeError) -> tuple[str, int]:
    """What is printed instead of characters that an encoding lacks (a handler of `codecs`)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _ascii(error.object[error.start : error.end]), error.end


def listed(texts: Iterable[str], last: str) -> str:
    """`a, b and c`, where `last` is the word before the last of them."""
    *most, end = texts
    return f"{', '.join(most)} {last} {end}" if most else end


def few(names: Iterable[str], most: int) -> str:
    """`a, b and 2 more`: the first of these names without empty ones, and how many others."""
    named = [name for name in names if name]
    others = len(named) - most
    return ", ".join(named[:most]) + (f" and {others} more" if others > 0 else "")


def most(counts: Counter[str], named: int = NAMED) -> str:
    """The names with the highest counts, and how many others there are."""
    return few((name for name, _ in counts.most_common()), named)


def version(release: str) -> tuple[int, int] | None:
    """The version (major, minor) in a kernel release; None if there is none."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", release, re.ASCII)
    return (int(found[1]), int(found[2])) if found else None
