"""Whether data begins to move between two looks at a quiet host."""

from typing import Any

import pytest

from nettop.sampling.refresh import Moves

HEAD = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n"


class Host:
    """A host with /proc/net/dev; a byte count by interface and direction."""

    def __init__(self) -> None:
        self.at = 100.0
        self.counts: dict[str, tuple[int, int]] = {"lo": (0, 0), "eth0": (5_000_000, 7_000_000)}
        self.error: Exception | None = None

    def now(self) -> float:
        return self.at

    def text(self, path: str) -> str:
        assert path == "/proc/net/dev"
        if self.error is not None:
            raise self.error
        rest = " 0" * 7
        return HEAD + "".join(
            f"{n}: {rx}{rest} {tx}{rest}\n" for n, (rx, tx) in self.counts.items()
        )


def later(host: Host, seconds: float, **counts: tuple[int, int]) -> None:
    host.at += seconds
    host.counts |= counts


def watched() -> tuple[Host, Moves]:
    host = Host()
    source: Any = host
    moves = Moves(source)
    assert not moves.begin()
    return host, moves


@pytest.mark.parametrize(
    ("seconds", "counts", "begins"),
    [
        (1.0, (5_125_000, 7_000_000), False),  # 1 Mb/s is not yet data
        (1.0, (5_125_001, 7_000_000), True),
        (1.0, (5_000_000, 7_125_001), True),
        (2.0, (5_200_000, 7_000_000), False),
        (1.0, (0, 0), False),  # the counters were reset
    ],
)
def test_more_than_a_megabit_a_second_in_one_direction_is_data(
    seconds: float, counts: tuple[int, int], begins: bool
) -> None:
    host, moves = watched()
    later(host, seconds, eth0=counts)
    assert moves.begin() is begins
    later(host, 1.0)
    assert not moves.begin()


def test_an_interface_that_appears_or_vanishes_has_moved_nothing() -> None:
    host, moves = watched()
    later(host, 1.0, veth9=(9_000_000, 9_000_000))
    assert not moves.begin()
    del host.counts["eth0"]
    later(host, 1.0, veth9=(9_200_000, 9_000_000))
    assert moves.begin()


@pytest.mark.parametrize("error", [FileNotFoundError("no file"), ValueError("other format")])
def test_what_cannot_be_read_is_not_taken_for_quiet(error: Exception) -> None:
    host, moves = watched()
    host.error = error
    assert moves.begin()


def test_interfaces_that_are_gone_are_forgotten() -> None:
    host, moves = watched()
    for number in range(40):
        host.counts = {"lo": (0, 0), f"veth{number}": (number, 0)}
        later(host, 1.0)
        assert not moves.begin()
    assert len(moves._bytes) < 10
