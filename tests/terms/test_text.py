"""Text in cells and numbers with units."""

import unicodedata

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nettop.terms import text, units


@given(st.text(max_size=60))
def test_safe_text_can_do_nothing_to_a_terminal(raw: str) -> None:
    for char in text.safe(raw):
        assert char == " " or char.isprintable()
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def test_safe_shows_what_it_replaces() -> None:
    assert text.safe("\x1b[2J\x07") == "␛[2J␇"
    assert text.safe("a\u202eb") == "a\ufffdb"
    assert text.safe(b"\xff".decode("utf-8", "surrogateescape")) == "\ufffd"
    assert text.safe("漢字") == "漢字"


@given(st.text(alphabet=st.characters(max_codepoint=0x2FFF), max_size=40), st.integers(0, 30))
def test_fit_is_exact(raw: str, width: int) -> None:
    assert text.cells(text.fit(raw, width)) == width


@folded("sample", ["eth0", "漢字", "▇▁█▓", "⣿⠀", "e\u0301", "→✓✗µ", "ａ", "·…–"])
def test_cells_agree_with_the_painter(sample: str) -> None:
    assert text.cells(text.safe(sample)) == cell_len(text.safe(sample))


@given(
    st.lists(st.tuples(st.text(max_size=12), st.sampled_from(["", "bad", "dim"])), max_size=6),
    st.integers(1, 40),
)
def test_fit_line_is_exact_and_safe(parts: list[tuple[str, str]], width: int) -> None:
    row = text.fit_line(tuple(parts), width)
    assert text.line_cells(row) == width
    assert text.text_of(row).isprintable()


@given(st.text(max_size=40))
def test_ascii_keeps_the_width(raw: str) -> None:
    row = text.fit_line(((raw, ""),), 30)
    plain = text.plain(row)
    assert text.text_of(plain).isascii()
    assert text.line_cells(plain) == 30


@given(st.one_of(st.none(), st.floats(allow_nan=True)), st.integers(1, 40))
def test_a_bar_fills_its_width(fraction: float | None, width: int) -> None:
    filled, rest = text.bar(fraction, width)
    assert len(filled) + len(rest) == width


def test_an_unknown_bar_is_not_an_empty_one() -> None:
    assert text.bar(None, 4) == ("", "····")
    assert text.bar(0.0, 4) == ("", "────")


def test_stacked_parts_are_proportional() -> None:
    row = text.stacked([(50.0, "A", "a"), (25.0, "B", "b"), (None, "C", "c")], 8)
    assert text.text_of(row) == "AAAABB──"


def test_wrap_keeps_paragraphs() -> None:
    assert text.wrap("one two three\n\nfour", 8) == ["one two", "three", "", "four"]


@folded(
    ("bytes_per_s", "shown"),
    [
        (None, "–"),
        (0, "0 b/s"),
        (76.55e6, "612.4 Mb/s"),
        (1.17675e9, "9.41 Gb/s"),
        (125e6, "1 Gb/s"),
    ],
)
def test_rates(bytes_per_s: float | None, shown: str) -> None:
    assert units.Units().rate(bytes_per_s) == shown


def test_rates_in_bytes_and_binary_steps() -> None:
    assert units.Units(bits=False).rate(76.55e6) == "76.5 MB/s"
    assert units.Units(bits=False, iec=True).rate(2.0**20) == "1 MiB/s"


@folded(
    ("value", "shown"),
    [
        (None, "–"), (0.00021, "0.21 ms"), (45e-6, "45 µs"), (0.041, "41 ms"), (2.5, "2.5 s"),
        (192, "3 m 12 s"), (7500, "2 h 05 m"), (200000, "2 d 7 h"), (-3, "-3 s"), (0, "0 µs"),
    ],
)  # fmt: skip
def test_times(value: float | None, shown: str) -> None:
    assert units.seconds(value) == shown


@given(st.floats(-1e20, 1e20), st.sampled_from(["b/s", "", "pps"]))
def test_scaled_is_short(value: float, unit: str) -> None:
    assert len(units.scaled(value, unit)) <= len(unit) + 9


@given(st.floats(1, 9e17))
def test_scaled_tells_the_truth(value: float) -> None:
    number, unit = units.scaled(value, "B").split(" ")
    back = float(number) * 1000.0 ** " kMGTPE".index(unit[0] if len(unit) > 1 else " ")
    assert back == pytest.approx(value, rel=0.006)


def test_amounts_use_the_declared_unit() -> None:
    assert units.amount(4194304, "bytes") == "4 MiB"
    assert units.amount(0.97, "ratio") == "97%"
    assert units.amount(True) == "yes"
    assert units.amount(None, "bytes") == "–"
    assert units.amount((4, 5, 7)) == "4 5 7"
    assert units.amount(256, "descriptors") == "256 descriptors"


@given(st.integers(1, 2000), st.integers(1, 800))
def test_each_sample_of_a_young_graph_has_as_many_columns_as_fit(count: int, points: int) -> None:
    each = text.repeats(count, points)
    assert each // (each & -each) in (1, 3, 5, 7)  # 1 2 3 4 5 6 7 8 10 12 14 16 …
    assert each == 1 or each * max(count, text.FEWEST) <= points
    following = each + (1 << max(0, each.bit_length() - 3))
    assert following * max(count, text.FEWEST) > points


@folded(
    ("values", "points", "expected"),
    [
        ([1.0, 2.0], 48, [None] * 32 + [1.0] * 8 + [2.0] * 8),
        ([1.0, 2.0], 96, [None] * 64 + [1.0] * 16 + [2.0] * 16),
        ([1.0, 2.0], 47, [None] * 33 + [1.0] * 7 + [2.0] * 7),
        ([1.0, None, 3.0], 3, [1.0, None, 3.0]),
        ([1.0, 3.0, 5.0, None], 2, [2.0, 5.0]),
        ([None, None, 5.0, None], 2, [None, 5.0]),
        ([], 3, [None] * 3),
    ],
)
def test_values_are_repeated_or_squeezed_into_the_columns(
    values: list[float | None], points: int, expected: list[float | None]
) -> None:
    assert text.resample(values, points) == expected


@folded(
    ("width", "shown"),
    [
        (41, "Ring of eth0 is full: 7 lost (3 a second)"),
        (40, "Ring of eth0 is full: 7 lost"),
        (28, "Ring of eth0 is full: 7 lost"),
        (27, "Ring of eth0 is full"),
        (20, "Ring of eth0 is full"),
        (19, "Ring of eth0 is fu…"),
        (0, ""),
    ],
)
def test_a_text_without_room_ends_after_a_clause(width: int, shown: str) -> None:
    full = "Ring of eth0 is full: 7 lost (3 a second)"
    assert text.clauses(full, width) == shown


def test_a_first_clause_that_says_little_is_not_all_that_is_shown() -> None:
    assert text.clauses("cron: the table of interrupts is not readable", 30) == (
        "cron: the table of interrupts…"
    )
    assert text.clauses("iperf3[3:5], queue 4:2", 19) == "iperf3[3:5]"  # a colon without a space


@given(st.text(max_size=60), st.integers(0, 60))
def test_clauses_fit_and_are_the_begin_of_the_text(raw: str, width: int) -> None:
    shown = text.clauses(raw, width)
    assert text.cells(shown) <= width
    whole = text.crop(raw, text.cells(raw))
    assert whole.startswith(text.crop(shown, width).removesuffix("…"))


def test_a_number_is_not_parted_from_its_unit() -> None:
    assert text.continued("arrive in a trip of 48.2 ms", 24, 60, 1) == [
        "arrive in a trip of", "48.2 ms"
    ]  # fmt: skip
