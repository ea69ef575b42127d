"""The search of the highest rate without loss, against paths of known capacity."""

from typing import Any

import pytest
from fake_ends import trial

from nettop.trials.result import Latency, Options
from nettop.trials.run import TrialError
from nettop.trials.tools import rfc2544, udp_sweep

TIMES = Latency(min=1, p50=20, p99=90, p999=95, max=99, fwhm=5, count=7)


def path(most: float, burst: int, fastest: float) -> Any:
    """A path that loses above `most` packets/s or `burst` at once, behind a sender so fast."""

    def exchange(_trial: Any, steps: Any, _patience: float) -> Any:
        sent, received = [], []
        for point, step in enumerate(steps):
            count, spacing = step["count"], step["spacing"]
            rate = min(fastest, 1 / spacing if spacing else fastest)
            fits = rate <= most if spacing else count <= burst
            sent.append({"point": point, "sent": count, "lasted": count / rate, "busy": 1.0})
            received.append({"point": point, "received": count if fits else count - 1,
                             "lasted": 1.0, "reordered": 0, "gaps": [], "busy": 1.0})  # fmt: skip
        return sent, received

    return exchange


def searched(monkeypatch: pytest.MonkeyPatch, exchange: Any) -> list[dict[str, Any]]:
    rates = []

    def latency(_trial: Any, size: int, rate: float, _seconds: float) -> Latency | None:
        rates.append(rate)
        return TIMES if size < 1000 else None

    monkeypatch.setattr(udp_sweep, "exchange", exchange)
    monkeypatch.setattr(rfc2544, "_latency", latency)
    one, *_ = trial(Options(to="127.0.0.1", seconds=60, sizes=(18, 1472)), lambda *_: [], None)
    found = rfc2544.measure(one)
    rows: Any = found.details["points"]
    assert [row["size"] for row in rows] == [18, 1472]
    assert [row["pps"] for row in rows if row["pps"]] == rates
    assert found.bits_per_second == max(row["payload_bits"] for row in rows)
    return list(rows)


def test_the_highest_carried_rate_and_burst_of_a_path_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for row in searched(monkeypatch, path(81_274, 1000, 3e5)):
        assert 0.99 * 81_274 < row["pps"] <= 81_274
        assert 990 < row["burst"] <= 1000
        assert (row["limit"], row["burst_limit"]) == ("path", "path")
        assert row["payload_bits"] == 8 * row["size"] * row["pps"]
        assert row["wire_bits"] == 8 * (row["frame"] + 20) * row["pps"]  # preamble and gap
        if row["size"] == 18:
            assert (row["frame"], row["p50_us"], row["p99_us"]) == (64, 20, 90)
        else:
            assert "p50_us" not in row  # no request was answered


def test_a_path_faster_than_the_sender_is_told_by_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (row, _) = searched(monkeypatch, path(1e9, 1_000_000, 2e5))
    assert (row["pps"], row["limit"]) == (pytest.approx(2e5), "sender")
    assert (row["burst"], row["burst_limit"]) == (rfc2544.BURST, "sender")


def test_a_path_that_loses_at_every_rate_carries_none(monkeypatch: pytest.MonkeyPatch) -> None:
    (row, _) = searched(monkeypatch, path(1, 1, 2e5))
    assert row["pps"] < 200
    assert row["limit"] == "path"
    assert row["burst"] <= 1


def test_a_rate_that_was_carried_and_is_lost_later_does_not_count() -> None:
    found = rfc2544.Search(100.0).after(100.0, lost=True).after(50.0, lost=False)
    assert (found.low, found.high, found.next) == (50.0, 100.0, 75.0)
    found = found.after(40.0, lost=True)
    assert (found.low, found.high, found.next) == (0.0, 40.0, 20.0)


def test_a_sender_that_ends_early_or_no_arrival_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, *_ = trial(Options(to="127.0.0.1", seconds=60, sizes=(18,)), lambda *_: [], None)
    monkeypatch.setattr(udp_sweep, "exchange", lambda *_: ([], []))
    with pytest.raises(TrialError, match="the sender ended early"):
        rfc2544.measure(one)

    def nothing(*words: Any) -> Any:
        return path(1e9, 9, 1e5)(*words)[0], []

    monkeypatch.setattr(udp_sweep, "exchange", nothing)
    with pytest.raises(TrialError, match="no datagram arrived"):
        rfc2544.measure(one)
