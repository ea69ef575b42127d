"""What is read and rated by column is equal to what is read and rated line by line."""

import gzip
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import cpu, softnet
from nettop.collect._table import Memory
from nettop.frame.fields import altered, columns, values
from nettop.frame.pairs import entries
from nettop.frame.rates import Counted, Entry, per_second, rates
from nettop.host.recording import Replay

HOSTS = Path(__file__).parents[1] / "hosts"

TICKS = st.integers(0, 10**12)
NAMES = st.lists(st.integers(0, 8000), min_size=1, max_size=6, unique=True)
ODD = st.sampled_from(["", "cpu3 1 2 3 4", "cpux 1 2 3 4 5 6 7 8 9 10", "page 1", "cpu9999999 1"])


@st.composite
def stats(draw: st.DrawFn) -> list[str]:
    """Two readings of /proc/stat: mostly of today's format, sometimes of an old one or damaged."""
    names, width = draw(NAMES), draw(st.sampled_from([10, 10, 10, 9, 4]))
    texts = []
    for _ in range(2):
        lines = [f"cpu{n} {' '.join(str(draw(TICKS)) for _ in range(width))}" for n in names]
        if draw(st.integers(0, 5)) == 0:
            lines.insert(draw(st.integers(0, len(lines))), draw(ODD))
        texts.append("\n".join(["cpu" + " 0" * width, *lines, "intr 7 0", "ctxt 9", ""]))
    return texts


def _tried(read: object) -> object:
    """The rows, or the error as text."""
    try:
        return read() if callable(read) else None
    except ValueError as error:
        return str(error)


@given(stats())
def test_proc_stat_by_column_is_proc_stat_by_line(texts: list[str]) -> None:
    before: dict[int, cpu.Row] = {}
    rows: list[cpu.Row] = []
    for text in texts:
        head = text[: text.find("\nintr ") + 1]
        right = _tried(lambda head=head, before=before: cpu.by_line(head, before))
        found = _tried(lambda text=text, rows=rows: cpu.parse(text, rows))
        assert found == right
        rows = right if isinstance(right, list) else []
        before = {row.cpu: row for row in rows}


@pytest.mark.parametrize("slip", [0, 1, 999, 1001])
def test_idle_that_slips_back_is_held_in_columns_too(slip: int) -> None:
    lines = "cpu" + " 9" * 10 + "\ncpu0 1 1 1 {} 5000 1 1 1 1 1\nintr 1\n"
    (old,) = cpu.parse(lines.format(5000))
    (row,) = cpu.parse(lines.format(5000 - slip), [old])
    (right,) = cpu.by_line(lines.format(5000 - slip).split("intr")[0], {0: old})
    assert row == right
    assert row.idle == (50.0 if slip < 1000 else 39.99)


WORD = st.integers(0, 2**32 - 1).map("{:08x}".format)
DAMAGED = st.sampled_from(
    ["0000000", "000000001", "0000 000", "00 00 00", "zzzzzzzz", "-0000001", "0x000001"]
)


@given(
    st.lists(st.lists(WORD, min_size=15, max_size=15), min_size=1, max_size=4),
    st.sampled_from([11, 13, 15, 15, 15, 15]), st.one_of(st.none(), DAMAGED), st.integers(0, 14),
)  # fmt: skip
def test_softnet_at_once_is_softnet_line_by_line(
    table: list[list[str]], columns: int, damaged: str | None, place: int
) -> None:
    for number, words in enumerate(table):
        words[12] = f"{number:08x}"
        words[columns:] = []
    if damaged is not None:
        table[0][min(place, columns - 1)] = damaged
    text = "".join(" ".join(words) + "\n" for words in table)
    online = f"0-{len(table) - 1}"
    archive = (
        f"c\n-- /proc/net/softnet_stat --\n{text}-- /sys/devices/system/cpu/online --\n{online}\n"
    )
    known = tuple(range(len(table)))
    right = _tried(lambda: softnet.rows(softnet.split(text), known if columns < 13 else ()))
    assert _tried(lambda: softnet.update(Replay(archive), Memory())) == right


@pytest.mark.parametrize("damaged", ["00 00 00", "0000 000", "+0000001"])
def test_a_damaged_column_of_softnet_is_not_read_at_once(damaged: str) -> None:
    words = ["00000001"] * 15
    words[6] = damaged
    text = " ".join(words) + "\n"
    archive = f"c\n-- /proc/net/softnet_stat --\n{text}"
    right = softnet.rows(softnet.split(text))
    assert softnet.update(Replay(archive), Memory()) == right


COUNTS = st.one_of(st.none(), st.integers(0, 100))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[cpu.Row], list[cpu.Row]]:
    """Two readings of a long table: mostly simple, some with unknown or smaller counters."""
    odd = draw(st.booleans())
    absent = draw(st.booleans())
    first, second = [], []
    for number in range(draw(st.integers(1, 7))):
        old = [draw(COUNTS) if odd else number for _ in range(9)]
        new = [draw(COUNTS) if odd else number + 3 for _ in range(9)]
        if absent:
            old[8] = new[8] = None
        first.append(cpu.Row(number, *old))  # type: ignore[arg-type]
        second.append(cpu.Row(number, *new))  # type: ignore[arg-type]
    if draw(st.booleans()):
        second[0] = first[0]
    if draw(st.booleans()):
        second[-1] = cpu.Row(second[-1].cpu, *[0.0] * 9)
    return first, second


@given(tables(), st.sampled_from([0.0, 0.5, 2.0]))
def test_rates_by_column_are_the_rates_of_each_row(
    both: tuple[list[cpu.Row], list[cpu.Row]], seconds: float
) -> None:
    first, second = both
    begun = entries(columns(cpu.Row, first), [], 0.0)
    table = entries(columns(cpu.Row, second), begun, seconds)
    assert isinstance(table, Counted)
    right = [per_second(old, new, seconds) for old, new in zip(first, second, strict=True)]
    names = ("cpu", *(f.name for f in fields(cpu.Row)[1:]))
    found = rates(table, *names)
    assert list(zip(*found, strict=True)) == [
        tuple(values(row).values()) for row in right if row is not None
    ]
    assert [entry.per_s for entry in table] == right
    assert table == entries(second, [Entry(row) for row in first], seconds)
    assert table != begun[1:]
    assert rates(begun, *names) == [()] * len(names)


def test_a_cpu_that_went_offline_has_no_rates_of_another() -> None:
    def rows(*cpus: int) -> list[cpu.Row]:
        return [cpu.Row(n, *[float(n)] * 9) for n in cpus]

    before = entries(columns(cpu.Row, rows(0, 1, 2)), [], 0.0)
    table = entries(columns(cpu.Row, rows(0, 2, 3)), before, 1.0)
    assert rates(table, "cpu", "user") == [[0, 2], [0.0, 0.0]]
    again = entries(columns(cpu.Row, rows(0, 2, 3)), table, 1.0)
    assert rates(again, "cpu", "user") == [[0, 2, 3], [0.0, 0.0, 0.0]]


def test_columns_that_did_not_change_are_the_same_objects() -> None:
    first = columns(cpu.Row, [cpu.Row(n, *[0.0] * 9) for n in range(3)])
    same = columns(cpu.Row, list(first)).like(first)
    assert same is first
    moved = columns(cpu.Row, [altered(row, idle=1.0) for row in first]).like(first)
    kept = [f.name for f in fields(cpu.Row) if moved.column(f.name) is first.column(f.name)]
    assert set(kept) == {f.name for f in fields(cpu.Row)} - {"idle"}


def test_a_recorded_host_of_1152_cpus_has_the_same_rates_either_way() -> None:
    archive = gzip.decompress((HOSTS / "big-1152.host.gz").read_bytes()).decode()
    source, memory = Replay(archive), (Memory(), Memory())
    before: dict[int, cpu.Row] = {}
    compared = 0
    while True:
        text = source.text("/proc/stat")
        right = cpu.by_line(text[: text.find("\nintr ") + 1], before)
        assert cpu.update(source, memory[0]) == right
        before = {row.cpu: row for row in right}
        rows = softnet.update(source, memory[1])
        assert rows == softnet.rows(softnet.split(source.text("/proc/net/softnet_stat")))
        compared += len(right)
        if not source.wait(1.0):
            break
    assert compared > 3000
