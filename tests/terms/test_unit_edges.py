"""Where a number gets another unit, another prefix or another number of decimals."""

import pytest
from folded import folded

from nettop.terms import units


@folded(("value", "si", "iec"), [
    (None, "–", "–"), (0, "0 B", "0 B"), (0.5, "0.5 B", "0.5 B"),
    (-0.004, "0 B", "0 B"), (-2, "-2 B", "-2 B"),
    (999.94, "999.9 B", "999.9 B"), (999.95, "1 kB", "1000 B"), (1000, "1 kB", "1000 B"),
    (1023.94, "1.02 kB", "1024 B"), (1023.95, "1.02 kB", "1 KiB"), (-1e6, "-1 MB", "-976.6 KiB"),
    (999.94e3, "999.9 kB", "976.5 KiB"), (999.96e3, "1 MB", "976.5 KiB"),
    (1e9, "1 GB", "953.7 MiB"),
    (1e12, "1 TB", "931.3 GiB"), (1e15, "1 PB", "909.5 TiB"), (1e18, "1 EB", "888.2 PiB"),
    (1e21, "1000 EB", "867.4 EiB"), (1e22, "10000 EB", "8674 EiB"),
])  # fmt: skip
def test_prefixes(value: float | None, si: str, iec: str) -> None:
    assert (units.scaled(value, "B"), units.scaled(value, "B", iec=True)) == (si, iec)


@folded(("value", "text"), [
    (0.0, "0"), (0.00499, "0"), (0.005, "0.01"), (-0.005, "-0.01"), (0.5, "0.5"), (9.0, "9"),
    (9.994, "9.99"), (10.0, "10"), (10.06, "10.1"), (99.96, "100"), (100.0, "100"),
    (999.9, "999.9"),
    (1000.0, "1000"), (1000.6, "1001"), (12345.6, "12346"),
])  # fmt: skip
def test_digits(value: float, text: str) -> None:
    assert units.digits(value) == text


@folded(("value", "text"), [
    (None, "–"), (-1.5, "-1.5 s"), (0, "0 µs"), (45e-6, "45 µs"), (99e-6, "99 µs"),
    (0.0001, "0.1 ms"), (0.2e-3, "0.2 ms"), (0.999, "999 ms"), (1, "1 s"), (59.94, "59.9 s"),
    (60, "1 m 00 s"), (192, "3 m 12 s"), (3599, "59 m 59 s"), (3600, "1 h 00 m"),
    (7500, "2 h 05 m"), (172_799, "47 h 59 m"), (172_800, "2 d 0 h"), (180_000, "2 d 2 h"),
])  # fmt: skip
def test_seconds(value: float | None, text: str) -> None:
    assert units.seconds(value) == text


@folded(("value", "text"), [
    (None, "–"), (0, "0%"), (0.04, "0%"), (0.05, "0.1%"), (0.6, "0.6%"), (9.94, "9.9%"),
    (9.95, "10%"), (78.4, "78%"), (-0.6, "-0.6%"), (-9.96, "-10%"),
])  # fmt: skip
def test_percent(value: float | None, text: str) -> None:
    assert units.percent(value) == text


@folded(("ratio", "text"), [
    (None, "–"), (0, "0%"), (1e-9, "<0.1%"), (0.00049, "<0.1%"), (0.0005, "0.1%"), (0.5, "50%"),
    (1, "100%"), (-0.1, "-10%"),
])  # fmt: skip
def test_share(ratio: float | None, text: str) -> None:
    assert units.share(ratio) == text


@folded(("value", "text"), [
    (None, "–"), (0, "0 lost/s"), (0.04, "0.0 lost/s"), (9.94, "9.9 lost/s"), (9.96, "10.0 lost/s"),
    (10, "10 lost/s"), (1204, "1,204 lost/s"),
])  # fmt: skip
def test_per_second(value: float | None, text: str) -> None:
    assert units.per_second(value, "lost") == text
    assert units.per_second(value) == text.replace(" lost", "")


@folded(("value", "unit", "text"), [
    (None, "s", "–"), (True, "s", "yes"), (False, "", "no"), ((1, 2), "", "1 2"), ([3], "", "3"),
    ("up", "bytes", "up"), (1e9, "bit/s", "1 Gb/s"), (125e6, "bytes/s", "1 Gb/s"),
    (2048, "bytes", "2 KiB"), (2, "s", "2 s"), (45, "us", "45 µs"), (2e6, "ns", "2 ms"),
    (3e9, "Hz", "3 GHz"), (7.5, "%", "7.5%"), (0.25, "ratio", "25%"),
    (1204, "frames", "1,204 frames"),
    (3.0, "queues", "3 queues"), (3.25, "dB", "3.25 dB"), (999.5, "dB", "999.5 dB"),
    (1000.5, "dB", "1,000 dB"), (1234567.5, "", "1,234,568"), (5, "", "5"),
])  # fmt: skip
def test_an_amount_with_its_unit(value: object, unit: str, text: str) -> None:
    assert units.amount(value, unit) == text


@pytest.mark.parametrize(("taste", "rate", "speed"), [
    (units.Units(), "1 Gb/s", "125 Mb/s"), (units.Units(bits=False), "125 MB/s", "15.6 MB/s"),
    (units.Units(iec=True), "953.7 Mib/s", "119.2 Mib/s"),
    (units.Units(bits=False, iec=True), "119.2 MiB/s", "14.9 MiB/s"),
])  # fmt: skip
def test_the_readers_taste(taste: units.Units, rate: str, speed: str) -> None:
    assert (taste.rate(125e6), taste.speed(125e6)) == (rate, speed)
    assert (taste.rate(None), taste.speed(None)) == ("–", "–")


def test_short_forms() -> None:
    assert (units.link(1e10), units.packets(52_900), units.size(4 << 20)) == (
        "10 Gb/s", "52.9 kpps", "4 MiB",
    )  # fmt: skip
    assert (units.count(1_048_576), units.count(None), units.brief(52_900)) == (
        "1,048,576", "–", "52.9k",
    )  # fmt: skip


# Numbers with units.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.004, "0"), (0.02, "0.02"), (-0.5, "-0.5"), (9.414, "9.41"), (9.99, "9.99"),
        (10.04, "10"), (52.94, "52.9"), (612.44, "612.4"), (999.94, "999.9"), (1000.4, "1000"),
        (1204.2, "1204"),
    ],
)  # fmt: skip
def test_about_three_digits(value: float, text: str) -> None:
    assert units.digits(value) == text
