"""Plots of results: rates of each second, distributions, curves of sweeps."""

import pytest
from pane_text import words

from nettop.panes import outcome
from nettop.terms.text import line_cells, text_of
from nettop.views import kept
from nettop.views.scene import StoredResult

LATENCY = tuple((float(value), 100 - value) for value in range(10, 60))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_plots_fit_and_have_scales(width: int) -> None:
    rows = [
        *outcome.rates([1e9, 9e8, 2e8], width, 4),
        *outcome.distribution("t", LATENCY, width, 6),
    ]
    assert len(rows) == 10
    assert all(line_cells(row) <= width for row in rows)
    text = words(rows)
    assert "1 Gb/s" in text
    assert "0 b/s" in text
    assert text_of(rows[-1]).split() == ["10", "µs", "59", "µs"]


def test_a_rate_of_each_second_is_as_high_as_its_share() -> None:
    rows = [text_of(row)[outcome.SCALE + 1 :] for row in outcome.rates([4e8, 8e8], 80, 4)]
    half = [sum(char not in " ⠀" for char in row) for row in rows]
    assert abs(half[0] * 2 - half[-1]) <= 1  # the upper half has the larger rate only


def test_a_curve_has_a_bar_for_each_point_and_counts_the_rest() -> None:
    points = tuple((f"{size} B", size * 1e6, "") for size in (64, 512, 1472))
    rows = [text_of(row) for row in outcome.curve(points, "bit/s", 80, 3)]
    assert [row.count("█") for row in rows] == sorted(row.count("█") for row in rows)
    assert "1.47 Gb/s" in rows[2]
    assert "… 2 more points" in text_of(outcome.curve(points, "bit/s", 80, 2)[1])


def test_a_stored_latency_is_drawn_as_a_histogram() -> None:
    document = {
        "kind": "test", "tool": "udp-latency", "to": "192.0.2.2", "id": "1", "at": 5.0,
        "latency": {"p50": 30.0, "histogram": [[10.0, 4], [30.0, 90], [80.0, 2]]},
    }  # fmt: skip
    one = kept.result_of(document)
    assert one.to == "192.0.2.2"
    assert one.spread == ("latency", ((10.0, 4), (30.0, 90), (80.0, 2)))
    assert "80 µs" in words(outcome.result(one, 100, 20))


def test_a_stored_sweep_of_datagrams_is_a_curve_and_the_gaps_a_histogram() -> None:
    def row(size: int, loss: float) -> dict[str, object]:
        return {"size": size, "spacing_us": 10.0, "payload_bits": 8e5 * size, "loss": loss,
                "gaps": [[9.5, 2], [10.0, 30]]}  # fmt: skip

    document = {"kind": "test", "tool": "udp-sweep", "id": "1", "at": 5.0,
                "details": {"points": [row(64, 0.0), row(1472, 2.5)]}}  # fmt: skip
    one = kept.result_of(document)
    assert one.points == (("64 B each 10 µs", 5.12e7, ""), ("1472 B each 10 µs", 1.1776e9,
                          "2.50% lost"))  # fmt: skip
    assert one.spread == ("gaps between datagrams", ((9.5, 4), (10.0, 60)))
    text = words(outcome.result(one, 100, 20))
    assert "gaps between datagrams" in text
    assert "1472 B each 10 µs" in text


def test_a_stored_sweep_of_a_setting_is_a_curve_with_intervals() -> None:
    rows = [
        {"value": "256", "median": 1e9},
        {"value": "4096", "median": 2e9, "median_difference": 1.0, "interval": [0.9, 1.1],
         "verdict": "better"},
    ]  # fmt: skip
    one = kept.result_of({"kind": "sweep", "setting": "ring.rx@eth0", "best": "4096", "id": "1",
                          "unit": "bit/s", "rows": rows, "to": "192.0.2.2"})  # fmt: skip
    assert one.title == "ring.rx@eth0"
    assert one.points[1] == ("4096", 2e9, "+100.0% (+90.0% … +110.0%) better")
    assert "2 Gb/s" in words(outcome.result(one, 100, 12))


def test_a_result_without_figures_draws_nothing() -> None:
    assert outcome.rates((), 80, 5) == []
    assert outcome.distribution("t", (), 80, 8) == []
    assert outcome.curve((), "bit/s", 80, 5) == []
    assert len(outcome.result(StoredResult("1", 0.0, "x", "y"), 80, 10)) == 2
