"""/proc/interrupts from one reading to the next: what is taken over is what would be parsed."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import Memory, interrupts

COUNTS = st.integers(0, 40) | st.sampled_from([10**9 - 1, 10**9, 2**32 - 1])


@dataclass(frozen=True)
class Line:
    """A line; `wide`: each count takes eleven bytes, as the kernel prints it."""

    label: str
    counts: tuple[int, ...]
    tail: str
    wide: bool = True

    @property
    def text(self) -> str:
        form = "{:>11}" if self.wide else " {}"
        return f"{self.label:>4}:{''.join(map(form.format, self.counts))}{self.tail}"

    @property
    def by_cpu(self) -> dict[int, int]:
        return {3 * cpu: count for cpu, count in enumerate(self.counts) if count}


class Source:
    """The text of the file, now."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.cpus = 1

    def data(self, path: str) -> bytes:
        assert path == "/proc/interrupts"
        head = "     " + "".join(f"{f'CPU{3 * cpu}':<11}" for cpu in range(self.cpus))
        return "\n".join([head, *(line.text for line in self.lines), ""]).encode()


TAILS = {"  PCI-MSI 1-edge      eth0-rx-0": ("PCI-MSI 1-edge", "eth0-rx-0"),
         "  GICv3 27 Level     eth1": ("GICv3 27 Level", "eth1")}  # fmt: skip


def lines(cpus: int) -> st.SearchStrategy[Line]:
    counts = st.lists(COUNTS, min_size=cpus, max_size=cpus).map(tuple)
    return st.builds(
        Line, st.integers(0, 200).map(str), counts,
        st.sampled_from(sorted(TAILS)), st.booleans(),
    )  # fmt: skip


def changed(data: st.DataObject, line: Line) -> Line:
    """The line with some other counts, at times with another width or tail."""
    counts = list(line.counts)
    for cpu in data.draw(st.sets(st.integers(0, len(counts) - 1), max_size=len(counts))):
        counts[cpu] = data.draw(COUNTS)
    line = replace(line, counts=tuple(counts))
    odd = data.draw(st.integers(0, 9))
    return replace(line, wide=not line.wide) if odd == 0 else (
        replace(line, tail=data.draw(st.sampled_from(sorted(TAILS)))) if odd == 1 else line
    )  # fmt: skip


@given(st.data())
def test_each_reading_has_the_counts_of_the_text(data: st.DataObject) -> None:
    source = Source()
    memory: Memory = {}
    source.cpus = data.draw(st.sampled_from([1, 2, 3, 13, 14, 40]))
    source.lines = data.draw(st.lists(lines(source.cpus), min_size=1, max_size=4))
    for _ in range(4):
        here: Any = source
        rows = interrupts.update(here, memory)
        for row, line in zip(rows, source.lines, strict=True):
            counts = {cpu: count for cpu, count in row.by_cpu.items() if count}
            assert (row.irq, counts, row.total) == (line.label, line.by_cpu, sum(line.counts))
            assert (row.chip, row.name) == TAILS[line.tail]
        source.lines = [changed(data, line) for line in source.lines]
        if data.draw(st.integers(0, 4)) == 0 and len(source.lines) > 1:
            del source.lines[data.draw(st.integers(0, len(source.lines) - 1))]
