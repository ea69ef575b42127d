"""Hard interrupts by line and CPU: /proc/interrupts.

kernel/irq/proc.c, show_interrupts(), and each architecture's arch_show_interrupts(). The header
names the *online* CPUs (numbers may have holes). Each line has a label, a 32-bit count for each of
these CPUs and, for a device, the chip with pin and trigger, two spaces, and the actions. The chip
may contain spaces or be absent (ARM boards, s390). A line may have no action. `ERR` and `MIS` have
a single count.

On large hosts the file has megabytes, of which little changes: only lines that differ from the last
reading are parsed, and an unchanged row is the same object as before.

/sys/kernel/irq/N/per_cpu_count has the same counts for one line, but reading one such file takes as
long as three lines here (5.5 µs against 1.8 µs with 2 CPUs, 38 µs against 6.6 µs with 8 emulated
CPUs), and it lacks lines without a number (NMI, LOC, RES), which the sum of a CPU needs.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import pairwise
from typing import Final

from ..files.bounds import BOUNDS, count, exceeded
from ..frame.fields import counter, gauge, label, light, vector
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines
from ._table import Memory, Table, recall

TABLE: Final = Table(may_rest=True, keep_open=("/proc/interrupts",), timeless=True)


_WIDTH: Final = 11  # of a count, with the space before it
_MOST: Final = 1 << 64
_LABEL: Final = 64  # bytes; the longest are four letters or a number
_FEW: Final = 12  # counts of a line; if more of them changed, parsing the whole line is faster
_NEWLINE: Final = ord("\n")
_SPARE: Final = 64  # names kept of removed lines, in addition to one per present line

_Names = dict[tuple[str, str], tuple[str | None, str]]  # chip and action by number and end of line

_WORD: Final = re.compile(r"\S+")
_PIN: Final = re.compile(r"\d+-[A-Za-z][\w.-]*")  # 81921-edge, 1-ioapic-edge
_TRIGGER: Final = re.compile(r"[A-Za-z][\w.-]*")  # Level, edge
_XEN: Final = ("-event", "-virq", "-ipi")
_WHOLE: Final = ("-edge", "-level", "-fasteoi", "-msi", "-msi-x", "-noname")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One interrupt line. `name` is as the kernel writes it: actions joined by commas, or empty."""

    irq: str = label("interrupt number, or letters such as NMI, LOC, IPI0")
    name: str = label("action, e.g. eth0-rx-0; for letters their meaning")
    chip: str | None = gauge("interrupt chip, pin and trigger, e.g. PCI-MSI 81921-edge")
    by_cpu: Mapping[int, int] = vector("interrupts each CPU took", "interrupts")
    total: int | None = counter("interrupts on all CPUs", "interrupts")


@dataclass
class _Last:
    """The last reading; row and fixed width belong to the line of the same index."""

    header: bytes = b""
    cpus: tuple[int, ...] = ()
    fixed: set[int] = field(default_factory=set)  # lines whose columns have a fixed width
    names: _Names = field(default_factory=dict)  # splitting one costs as much as 30 counts
    lines: list[bytes] = field(default_factory=list)
    rows: list[Row | None] = field(default_factory=list)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every line. OSError without the file, ValueError for another format."""
    data = source.data("/proc/interrupts")
    first = data[: data.find(b"\n")] if b"\n" in data else data
    last = recall(memory, _Last)
    if not first or last.header != first:  # a CPU came or went
        last = memory[_Last] = _Last(first, header(first.decode("utf-8", "replace")))
    cpus, fixed, names = last.cpus, last.fixed, last.names
    lines, rows = list(last.lines), list(last.rows)
    at, whole, place = len(first) + 1, len(data), 0
    while at < whole:
        past = lines[place] if place < len(lines) else b""
        end = at + len(past)
        if not past or not data.startswith(past, at) or (end < whole and data[end] != _NEWLINE):
            end = data.find(b"\n", at)
            end = whole if end < 0 else end
            line = data[at:end]
            old = rows[place] if place < len(rows) else None
            new = _step(line, past, cpus, old) if old and place in fixed else None
            if new is None:
                if (place + 1) * max(8, len(cpus)) > BOUNDS["counts"].most:
                    raise exceeded("counts", "/proc/interrupts")
                with suppress(ValueError):
                    new = row(line, cpus, names)
                fixed.discard(place)
                if _is_fixed(line, cpus):
                    fixed.add(place)
            lines[place : place + 1] = [line]
            rows[place : place + 1] = [new]
        at, place = end + 1, place + 1
    del lines[place:], rows[place:]
    last.lines, last.rows = lines, rows
    if len(names) > 2 * len(lines) + _SPARE:
        names.clear()
    return _known(lines, rows)


def _known(lines: list[bytes], rows: list[Row | None]) -> Sequence[Row]:
    """The rows; a line that has none, and is not empty, could not be read."""
    known = [one for one in rows if one is not None]
    if len(known) == len(rows):
        return known
    wrong = [line for line, one in zip(lines, rows, strict=True) if one is None and line.strip()]
    return _lines.without(
        known, [f"/proc/interrupts: not a line of counts: {line[:60]!r}" for line in wrong]
    )


def parse(text: str) -> Sequence[Row]:
    """The rows of the whole text; ValueError without a header of CPUs."""
    lines = text.encode("utf-8", "surrogateescape").split(b"\n")
    cpus = header(lines[0].decode("utf-8", "replace"))
    names: _Names = {}
    return _lines.rows(lines[1:], lambda line: row(line, cpus, names), "/proc/interrupts")


def header(text: str) -> tuple[int, ...]:
    """The CPU numbers of the columns; ValueError for another first line."""
    words = text.split()
    if not words or not all(re.fullmatch(r"CPU\d{1,6}", word) for word in words):
        raise ValueError("/proc/interrupts has no header of CPUs")
    return tuple(int(word[3:]) for word in words)


def row(line: bytes, cpus: tuple[int, ...], names: _Names) -> Row | None:
    """The row of one line; None for an empty line, ValueError for another format.

    `names` are known splits of the end of a line; a new one is added.
    """
    label_, colon, rest = line.partition(b":")
    if not colon or len(label_) > _LABEL:
        if line.strip():
            raise ValueError(f"/proc/interrupts has a line without a label: {line[:60]!r}")
        return None
    words = rest.split(None, len(cpus))
    tail = words.pop() if len(words) > len(cpus) else b""
    if len(words) < len(cpus) or not words[-1].isdigit():
        return _short(label_, rest, cpus, names)
    counts = {cpu: int(word) for cpu, word in zip(cpus, words, strict=True) if word != b"0"}
    irq = label_.strip().decode("ascii", "replace")
    total = sum(counts.values())
    if not 0 <= total < _MOST:
        raise ValueError(f"/proc/interrupts: {irq[:20]!r} has a count of more than 64 bits")
    chip, name = _named(irq, tail, names)
    return Row(irq, name, chip, counts, total)


def _is_fixed(line: bytes, cpus: tuple[int, ...]) -> bool:
    """Whether each count takes eleven bytes, as in device lines (kernel/irq/proc.c)."""
    begin = line.find(b":") + 1
    end = begin + _WIDTH * len(cpus)
    whole = line[end - 1 : end].isdigit() and not line[end : end + 1].isdigit()
    return whole and len(line[begin:end].split()) == len(cpus)


def _step(line: bytes, past: bytes, cpus: tuple[int, ...], old: Row) -> Row | None:
    """`old` with the few counts that changed; None if the whole line must be parsed."""
    begin = line.find(b":") + 1
    end = begin + _WIDTH * len(cpus)
    if len(line) != len(past) or line[:begin] != past[:begin] or line[end:] != past[end:]:
        return None
    counts = dict(old.by_cpu)
    at = begin
    for _ in range(_FEW):
        if line[at:end] == past[at:end]:
            return Row(old.irq, old.name, old.chip, counts, sum(counts.values()))
        at = _differs(line, past, at, end)
        word = line[at : at + _WIDTH]
        if not word.startswith(b" ") or not word.lstrip(b" ").isdigit():
            return None
        counts[cpus[(at - begin) // _WIDTH]] = int(word)
        at += _WIDTH
    return None


def _differs(line: bytes, past: bytes, low: int, high: int) -> int:
    """The position of the first count that changed, by binary search."""
    while high - low > _WIDTH:
        middle = low + (high - low) // _WIDTH // 2 * _WIDTH
        if line[low:middle] == past[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _named(irq: str, tail: bytes, names: _Names) -> tuple[str | None, str]:
    text = tail.decode("utf-8", "surrogateescape").rstrip()
    known = names.get((irq, text))
    if known is None:
        known = names[irq, text] = _split(irq, text)
    return known


def _split(irq: str, text: str) -> tuple[str | None, str]:
    """Chip and action; lines named by letters have a description instead of both."""
    if not irq.isdigit():
        return None, " ".join(text.split())
    text = text.strip()
    end = _chip_end(text)
    return (" ".join(text[:end].split()), text[end:].strip()) if end else (None, text)


def _chip_end(text: str) -> int:
    """Where the chip with its pin and trigger ends; 0 if the line names none.

    Linear in the length of the line, because a damaged file may have very long lines.
    """
    words = list(_WORD.finditer(text))
    gaps = [text[a.end() : b.start()] for a, b in pairwise(words)]
    for place, word in enumerate(words[1:], 1):
        if _PIN.fullmatch(word[0]):  # IO-APIC 2-edge, xen-pirq 1-ioapic-edge
            return word.end()
        pin = word[0].isdecimal() and gaps[place : place + 1] == [" "]
        if pin and _TRIGGER.fullmatch(words[place + 1][0]):  # GICv3 27 Level
            return words[place + 1].end()
    if len(words) > 1 and words[1][0] in _XEN:  # xen-dyn -event
        return words[1].end()
    if words and words[0][0].endswith(_WHOLE) and words[0][0] not in _WHOLE:
        return words[0].end()  # PCI-MSI-edge, before Linux 3.19
    for word, gap in zip(words[1:], gaps[1:], strict=False):
        if word[0].isdecimal() and len(gap) > 1:  # MIPS 7, without a trigger
            return word.end()
    return words[0].end() if gaps and len(gaps[0]) > 1 else 0  # GIC, PCI-MSI, without a pin


def _short(label_: bytes, rest: bytes, cpus: tuple[int, ...], names: _Names) -> Row:
    """A line with fewer counts than CPUs: one for all (ERR), or none (FIQ)."""
    words = rest.split()
    counts = []
    for word in words[: len(cpus)]:
        if not word.isdigit():
            break
        counts.append(count(word))
    irq = label_.strip().decode("ascii", "replace")
    if len(counts) > 1:
        raise ValueError(f"/proc/interrupts: {irq[:20]!r} has {len(counts)} of {len(cpus)} counts")
    chip, name = _named(irq, b" ".join(words[len(counts) :]), names)
    return Row(irq, name, chip, {}, counts[0] if counts else None)
