"""What `nettop test` prints: distributions as plots, not as lists of numbers."""

from nettop.commands.test import distribution, text
from nettop.trials.result import Latency, Measured, Options, Side, TrialResult


def printed(measured: Measured) -> list[str]:
    return text(
        TrialResult("udp-sweep", Options(), measured, Side(), Side(), {}, (), 0.0)
    ).splitlines()


def test_the_gaps_of_a_sweep_are_a_plot() -> None:
    gaps = [[0.5, 10], [1.0, 40], [8.0, 1]]
    rows = [{"size": 64, "loss": 0.0, "gaps": gaps}, {"size": 128, "loss": 1.0, "gaps": []}]
    told = printed(Measured(details={"points": rows}))
    assert told[-2].startswith("    size=64  loss=0  gaps=⡀ ⡇  ")
    assert told[-2].endswith(" ⢀ 0.5 µs to 8 µs, at most 40")
    assert told[-1] == "    size=128  loss=1"


def test_latencies_are_a_plot_with_their_range() -> None:
    bins = ((20.0, 5), (21.0, 50), (35.0, 1))
    told = printed(Measured(latency=Latency(20, 21, 30, 35, 35, 1, 56, histogram=bins)))
    assert told[-1].endswith("20 µs to 35 µs, at most 50")
    assert "⣿" in "".join(told) or "⡇" in "".join(told)
    assert len(told) == 5


def test_without_values_there_is_no_plot() -> None:
    assert distribution([], 30) == []
    assert printed(Measured(latency=Latency(1, 1, 1, 1, 1, 0, 1)))[-1].startswith("  latency")
