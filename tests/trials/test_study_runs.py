"""Runs of a study: repeats in turn, settings that harm, and what its figures are drawn from."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nettop import reports
from nettop.trials import repeat, report, study
from nettop.trials.result import Latency, Measured, Options, Side, TrialResult
from nettop.trials.run import TrialError

PAIR = repeat.Pair("eth0", 9000, 0.2, frozenset({0, 1}), frozenset({0, 1}))
TABLE: dict[str, Any] = {
    "title": "t", "paper": "p", "place": "Table 1", "tool": "bulk", "figure": "bits_per_second",
    "unit": "Mbit/s", "scale": 1e6, "encodes": ["n-tso"],
    "point": [{"name": "on", "published": 5}, {"name": "off", "published": 4, "against": "on"}],
}  # fmt: skip


def result(rate: float, **more: Any) -> TrialResult:
    measured = Measured(bits_per_second=rate, **more)
    return TrialResult("bulk", Options(), measured, Side(), Side(), {}, (), 0.0)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(repeat, "look", lambda *_: PAIR)
    monkeypatch.setattr("nettop.trials.results.keep", lambda *_: None)
    return monkeypatch


def runs(monkeypatch: pytest.MonkeyPatch, answers: list[Any], repeats: int) -> dict[str, Any]:
    """The document of a study whose trials give these answers in turn."""
    left = list(answers)

    def run(*_: object) -> TrialResult:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, TrialResult) else result(answer)

    monkeypatch.setattr("nettop.trials.run.run", run)
    return repeat.run(study.parse("s", TABLE), Options(), repeats=repeats)


def test_points_run_in_turn_and_the_median_counts(alone: pytest.MonkeyPatch) -> None:
    found = runs(alone, [5e6, 40e6, 3e6, 20e6, 4e6, 30e6], 3)
    on, off = found["rows"]
    assert (on["samples"], on["measured"]) == ([5, 3, 4], 4)
    assert (off["samples"], off["measured"]) == ([40, 20, 30], 30)
    text = report.text(found)
    assert "range of the runs" in text
    assert "3 – 5 (3)" in text
    assert "+650.0 %" in text  # 30 against 4, of the medians


def test_one_run_has_no_range(alone: pytest.MonkeyPatch) -> None:
    found = runs(alone, [5e6, 4e6], 1)
    assert all("samples" not in row for row in found["rows"])
    assert "range" not in report.text(found)


def test_a_point_that_fails_is_not_tried_again(alone: pytest.MonkeyPatch) -> None:
    found = runs(alone, [TrialError("it broke"), 4e6, 6e6], 2)
    on, off = found["rows"]
    assert on["skipped"] == "it broke"
    assert off["samples"] == [4, 6]


def test_a_cancelled_study_keeps_what_it_measured(alone: pytest.MonkeyPatch) -> None:
    cancel = threading.Event()

    def run(*_: object) -> TrialResult:
        cancel.set()
        return result(5e6)

    alone.setattr("nettop.trials.run.run", run)
    found = repeat.run(study.parse("s", TABLE), Options(), repeats=2, cancel=cancel)
    assert found["cancelled"]
    assert found["rows"][0]["measured"] == 5
    assert found["rows"][1]["skipped"] == "cancelled"


def test_harmful_settings_need_a_namespace_that_nothing_else_uses() -> None:
    point = study.Point("a", 1, harmful="SACK off")
    assert "harmful now (SACK off)" in repeat.obstacle(point, Options(), PAIR)
    unused = repeat.Pair("eth0", 9000, 0.2, frozenset(), frozenset(), apart=True)
    assert repeat.obstacle(point, Options(), unused) == ""


@pytest.mark.parametrize(
    ("states", "initial", "apart"),
    [((), False, True), (("0A", "06"), False, True), (("0A", "01"), False, False),
     ((), True, False), (None, False, False)],
)  # fmt: skip
def test_who_else_uses_a_namespace(
    tmp_path: Path, states: tuple[str, ...] | None, initial: bool, apart: bool
) -> None:
    """One that is initial, has a connection, or cannot be read is in use."""
    (tmp_path / "sys/net/core").mkdir(parents=True)
    (tmp_path / "thread-self/net").mkdir(parents=True)
    if initial:
        (tmp_path / "sys/net/core/netdev_max_backlog").write_text("1000\n")
    if states is not None:
        lines = [f"  {n}: 0100007F:1F90 00000000:0000 {state} 0" for n, state in enumerate(states)]
        head = "  sl  local_address rem_address   st tx_queue"
        (tmp_path / "thread-self/net/tcp").write_text("\n".join([head, *lines]) + "\n")
        (tmp_path / "thread-self/net/tcp6").write_text(head + "\n")
    assert repeat._apart(str(tmp_path)) is apart


def test_the_harmful_points_of_the_papers_have_their_settings() -> None:
    points = [point for n in range(1, 7) for point in study.load(f"cern-{n}").points]
    kernel = [point for point in points if point.harmful]
    assert len(kernel) == 115
    for point in kernel:
        assert point.settings["sysctl.net.ipv4.tcp_sack"] == "0"
        assert ("ring.rx@{nic}" in point.settings) is ("driver" in point.name)


def test_a_report_has_ranges_and_the_distribution_once(alone: pytest.MonkeyPatch) -> None:
    times = Latency(10.0, 12.0, 20.0, 30.0, 40.0, 1.0, 3, histogram=((10.0, 2), (11.0, 1)))
    answers = [result(rate, latency=times) for rate in (5e6, 4e6, 7e6, 6e6)]
    found = runs(alone, answers, 2)
    drawn = reports.report({"kind": "study", "schema": 1, "id": "x", **found})
    bars, *others = drawn.figures
    on = next(series for series in bars.series if series.name == "measured").points[0]
    assert (on.y, on.low, on.high) == (6, 5, 7)
    assert [figure.mark for figure in others] == ["histogram"]
    assert others[0].title == "Round trip times (on)"


def test_a_point_of_another_unit_is_in_no_bar(alone: pytest.MonkeyPatch) -> None:
    table = {**TABLE, "point": [*TABLE["point"], {"name": "lost", "published": 2, "unit": "%"}]}
    alone.setattr("nettop.trials.run.run", lambda *_: result(5e6))
    found = repeat.run(study.parse("s", table), Options())
    assert found["rows"][2]["unit"] == "%"
    assert "2 %" in report.text(found)
    bars, *_ = reports.report({"kind": "study", "schema": 1, "id": "x", **found}).figures
    assert bars.names == ("on", "off")
    assert {point.x for series in bars.series for point in series.points} == {"on", "off"}


def test_a_figure_of_the_interface_that_carries_the_test(alone: pytest.MonkeyPatch) -> None:
    """NST counts the ACK packets of the receiver; the name of its interface may have dots."""
    counts = {"rx_bytes": 9e9, "tx_bytes": 1e6, "tx_packets_per_second": 7100.0}
    side = Side(interfaces={"lo": {"rx_bytes": 5, "tx_bytes": 5}, "eth0.7": counts})
    answer = replace(result(5e6), here=side)
    figure = "interfaces.here.{nic}.tx_packets_per_second"
    acks = {"name": "acks", "published": "–", "of": "on", "figure": figure, "unit": "packets/s",
            "scale": 1}  # fmt: skip
    alone.setattr("nettop.trials.run.run", lambda *_: answer)
    table = {**TABLE, "point": [*TABLE["point"], acks]}
    assert repeat.run(study.parse("s", table), Options())["rows"][2]["measured"] == 7100
    idle = replace(answer, here=Side())
    alone.setattr("nettop.trials.run.run", lambda *_: idle)
    found = repeat.run(study.parse("s", table), Options())["rows"][2]
    assert found["skipped"] == f"the result has no {figure}"


def test_sizes_of_one_spacing_have_no_curve_over_it(alone: pytest.MonkeyPatch) -> None:
    sizes: list[dict[str, Any]] = [
             {"size": size, "spacing_us": 0.0, "offered_us": 5.0, "wire_bits": size * 1e6,
              "loss": 0.0, "gaps": []} for size in (1000, 8000)]  # fmt: skip
    points = [
        {"name": "1000 bytes", "published": "–", "figure": "details.points.0.wire_bits"},
        {"name": "8000 bytes", "published": 9, "of": "1000 bytes",
         "figure": "details.points.1.wire_bits"},
    ]  # fmt: skip
    alone.setattr("nettop.trials.run.run", lambda *_: result(5e6, details={"points": sizes}))
    table = {**TABLE, "tool": "udp-sweep", "point": points}
    found = repeat.run(study.parse("s", table), Options())
    assert [row["measured"] for row in found["rows"]] == [1000, 8000]
    drawn = reports.report({"kind": "study", "schema": 1, "id": "x", **found})
    (curve,) = drawn.figures
    assert (curve.mark, curve.x) == ("line", "bytes")
