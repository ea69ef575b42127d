"""`nettop limits`: the figures of `formulas`, as a document and as a page."""

import argparse
import json

import pytest
from folded import folded

from nettop.commands import limits


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    limits.arguments(parser)
    return parser.parse_args(words)


def test_a_gigabit_link_carries_941_megabits_of_tcp(capsys: pytest.CaptureFixture[str]) -> None:
    assert limits.run(parsed("--speed", "1G", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert found["goodput"] / 1e6 == pytest.approx(941.482, abs=0.001)
    assert found["frame"] == 1518
    assert [row["frame"] for row in found["frames"]] == [64, 128, 256, 512, 1024, 1280, 1518]
    assert found["frames"][0]["packets_per_s"] == pytest.approx(1_488_095.24, abs=0.01)
    assert found["frames"][0]["goodput"] is None
    assert "bdp" not in found


@folded(
    ("words", "megabits"),
    [
        (["--no-timestamps"], 9492.85),
        (["--mtu", "9000"], 9900.42),
        (["--protocol", "udp"], 9570.87),
        (["--protocol", "udp", "--mtu", "9000"], 9926.97),
        (["--ipv6"], 9284.79),
        (["--vlan", "1"], 9390.40),
    ],
)
def test_goodput_of_other_links(words: list[str], megabits: float) -> None:
    goodput = limits.limits(parsed(*words))["goodput"]
    assert goodput is not None
    assert goodput / 1e6 == pytest.approx(megabits, abs=0.01)


def test_bytes_are_counted_without_and_with_the_check_sequence() -> None:
    """NST 2011 prints 85.150 MiB/s of 60 bytes, 117.7 MiB/s of 1518 and 117,685,306 B/s of TCP."""
    found = limits.limits(parsed("--speed", "1G"))
    first, *_, last = found["frames"]
    assert first["counted"] / 2**20 == pytest.approx(85.150, abs=0.002)
    assert last["with_fcs"] / 2**20 == pytest.approx(117.66, abs=0.01)
    assert "941.482 Mb/s, 117,685,306 B/s, 112.233 MiB/s" in limits.text(found)[1]


@folded(
    ("words", "number"),
    [("420TB", 420e12), ("50GiB", 50 * 2**30), ("1.5 t", 1.5e12), ("7", 7), ("2 MB", 2e6)],
)
def test_a_transfer_has_a_time_and_a_rate_for_one_day(words: str, number: float) -> None:
    found = limits.limits(parsed("--speed", "40G", "--mtu", "9000", "--transfer", words))
    moved, goodput = found["transfer"], found["goodput"]
    assert moved["bytes"] == number
    assert goodput
    assert moved["seconds"] == pytest.approx(8 * number / goodput)
    assert moved["one_day"] == pytest.approx(8 * number / 86_400)


def test_a_day_at_39_gigabits_moves_420_terabytes() -> None:
    page = limits.text(limits.limits(parsed("--speed", "40G", "--transfer", "420TB")))
    assert page[-1].endswith("in one day they need 38.9 Gb/s")
    none = limits.limits(parsed("--mtu", "128", "--ipv6", "--transfer", "1G", "--vlan", "2"))
    assert "take" in limits.text(none)[-1]


@folded(
    ("words", "usable", "said"),
    [("slot 3x8", 63.015e9, "63% of it; about 80% carry data: enough"),
     ("slot gen2x8", 32e9, "125% of it; about 80% carry data: too little"),
     ("slot 6x16", 1024e9, "4% of it; about 80% carry data: enough"),
     ("bus 64x533", 34.112e9, "117% of it; about 70% carry data: too little")],
)  # fmt: skip
def test_a_slot_or_bus_holds_a_link_or_not(words: str, usable: float, said: str) -> None:
    name, value = words.split()
    found = limits.limits(parsed("--speed", "40G", f"--{name}", value))
    assert found[name]["usable"] == pytest.approx(usable, rel=1e-3)
    assert limits.text(found)[-1].endswith(f"this link takes {said}")


def test_the_bus_of_cern_has_1064_megabytes_of_which_744_were_reached() -> None:
    found = limits.limits(parsed("--speed", "5.952G", "--bus", "64x133"))
    assert found["bus"]["usable"] == 8 * 1064e6
    assert found["bus"]["carries"] == pytest.approx(8 * 744e6, rel=0.002)
    assert limits.text(found)[-2:] == [
        "  a bus of 64 bits at 133 MHz has 8.51 Gb/s for both ways and all its cards",
        "  this link takes 70% of it; about 70% carry data: enough",
    ]


@folded(
    "words",
    ["--transfer x", "--transfer TB", "--transfer=-1G", "--transfer 1e30", "--transfer i",
     "--slot 3", "--slot 9x8", "--slot 3x5", "--slot x", "--bus 16x133",
     "--bus 64x1", "--bus 64"],
)  # fmt: skip
def test_a_size_slot_or_bus_that_is_none_is_refused(words: str) -> None:
    with pytest.raises(argparse.ArgumentError, match="is not a "):
        parsed(*words.split())


def test_round_trip_adds_windows() -> None:
    found = limits.limits(parsed("--rtt", "36.1ms"))
    assert found["bdp"] == pytest.approx(45.125e6)
    page = "\n".join(limits.text(found))
    assert "45.125 MB" in page
    assert "128 MiB" in page


def test_the_page_names_its_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert limits.run(parsed("--speed", "10G", "--vlan", "1")) == 0
    page = capsys.readouterr().out
    assert "1 VLAN tag" in page
    assert "packets/s" in page
    assert "14,204,545" in page  # 68-byte frames: the smallest with one tag
    assert "3.355 ms" in page


@folded(
    ("text", "rate"),
    [("10G", 10e9), ("2.5g", 2.5e9), ("100M", 1e8), ("40Gb/s", 4e10), ("1e10", 1e10)],
)
def test_speeds(text: str, rate: float) -> None:
    assert limits.speed(text) == rate


@folded(
    "words",
    [
        ["--speed", "fast"],
        ["--speed", "0"],
        ["--speed", "nan"],
        ["--speed", "-1G"],
        ["--mtu", "60"],
        ["--mtu", "99999999999"],
        ["--mtu", "x"],
        ["--vlan", "3"],
        ["--rtt", "soon"],
    ],
)
def test_nonsense_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(argparse.ArgumentError):
        parsed(*words)
