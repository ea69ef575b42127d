"""Predictions beside measured rates: what a proof stores, and how right each rule was."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from folded import folded

from nettop import cli
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import Calibration, Prediction
from nettop.trials import results
from nettop.trials.prove import describe

WIRE = Reading("wire", "here", "link of eth0", capacity=(0.9e9, 1e9))
FORECAST = Prediction(Limit("nic", "eth0", "tx", 1e8), (1e8, 1e9), WIRE, WIRE)
HOST = os.uname().nodename


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path / "nettop/results"
    results._at.cache_clear()


@folded(
    ("before", "after", "inside"),
    [
        (1e8, 5e8, True),
        (1e8, 0.98e8, True),  # less than 3 % below: no difference
        (0.9e8, 0.89e8, True),  # the rate of now is that of the proof, without headers
        (1e8, 0.9e8, False),
        (1e8, 1.02e9, True),
        (1e8, 1.1e9, False),
        (4e8, 5e8, None),  # four streams, or the traffic of another program
        (0.2e8, 5e8, None),
    ],
)
def test_a_measured_rate_is_inside_or_not(before: float, after: float, inside: bool) -> None:
    found = results.forecast(FORECAST, (before,) * 3, (after,) * 3, "bit/s")
    assert found["inside"] is inside
    assert found["measured"] == after
    assert found["predicted"] is not None
    assert found["predicted"]["rate"] == [1e8, 1e9]


def test_another_metric_or_no_prediction_is_not_compared() -> None:
    latency = results.forecast(FORECAST, (50.0,), (40.0,), "µs")
    assert (latency["measured"], latency["inside"]) == (None, None)
    nothing = results.forecast(None, (1e8,), (2e8,), "bit/s")
    assert nothing == {"predicted": None, "measured": 2e8, "inside": None}


def proof(rule: str, measured: object, inside: object, **more: Any) -> dict[str, Any]:
    prediction = {
        "rate": [1e8, 1e9],
        "next": {"stage": "wire", "end": "here", "name": "link", "capacity": [0.9e9, 1e9]},
    }
    return {
        "at": 1e9, "tool": "bulk", "to": "h", "finding": f"{rule}@eth0", "host": HOST,
        "predicted": prediction, "measured": measured, "inside": inside, **more,
    }  # fmt: skip


def rounded(one: Calibration | None) -> tuple[int, int, float] | None:
    return None if one is None else (one.count, one.inside, round(one.error, 6))


@folded(
    "other",
    [
        proof("a", 5e8, None),  # other traffic
        proof("a", None, None),  # another metric
        proof("a", 5e8, True, predicted=None),
        proof("a", 5e8, True, predicted={"rate": [1e8]}),
        proof("a", 5e8, True, predicted={"rate": ["1", "2"], "next": None}),
        proof("a", 5e8, "yes"),
        proof("a", "5e8", True),
        proof("a", 0.0, False),
        proof("a", 5e8, True, finding="sysctl.net.ipv4.tcp_sack=1"),
        proof("a", 5e8, True, finding=None),
        proof("a", 5e8, True, host="another-host"),  # a home folder of several hosts
    ],
)
def test_a_proof_that_measured_no_prediction_of_this_host_is_not_counted(
    other: dict[str, Any],
) -> None:
    assert results.calibrations([other], HOST) == {}


def test_an_unknown_next_stage_leaves_the_middle_of_the_prediction() -> None:
    one = proof("a", 5.5e8, True, predicted={"rate": [1e8, 1e9], "next": None})
    assert rounded(results.calibrations([one], HOST)["a"]) == (1, 1, 0.0)


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["results", "learned", *words]) == 0
    return capsys.readouterr().out


def test_the_command_prints_the_calibration(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no proof measured a prediction yet" in out(capsys)
    assert json.loads(out(capsys, "--json"))["rules"] == []
    for measured, inside in ((5e8, True), (0.5e8, False), (0.4e8, False)):
        results.keep("prove", proof("rx-ring-overrun", measured, inside))
    results.keep("prove", proof("too-few-queues", 0.95e9, True))
    results.keep("tune", proof("rx-ring-overrun", 5e8, True))  # its steps are stored as proofs
    assert len(list(store.glob("*.json"))) == 5
    assert out(capsys).splitlines() == [
        "rule             proofs  within prediction  median error",
        "rx-ring-overrun       3                  1        +1800%  fails here",
        "too-few-queues        1                  1           +0%",
    ]
    rows = json.loads(out(capsys, "--json"))["rules"]
    assert rows[0] == {
        "rule": "rx-ring-overrun", "count": 3, "inside": 1, "median_error": pytest.approx(18.0),
        "failed": True,
    }  # fmt: skip
    assert cli.main(["results", "learned", "one", "two"]) == 2


def test_a_rule_knows_its_earlier_proofs_and_new_ones(store: Path) -> None:
    assert results.earlier("a") is None
    results.keep("prove", proof("a", 5e8, True))
    assert rounded(results.earlier("a")) == (1, 1, 0.9)
    assert results.earlier("b") is None
    results.keep("prove", proof("a", 2e9, False))
    known = results.earlier("a")
    assert known is not None
    assert (known.count, known.inside) == (2, 1)
    (store / "20260101-000000-prove.json").write_text("{")
    assert results.earlier("a") is not None


@pytest.mark.parametrize(
    ("inside", "words"), [(True, "right"), (False, "wrong"), (None, "for other traffic")]
)
def test_a_proof_shows_the_prediction_beside_the_measured_rate(
    inside: bool | None, words: str
) -> None:
    document = {
        **proof("a", 5e8, inside), "a": [1e8], "b": [5e8], "unit": "bit/s", "interval": [4.0, 4.0],
        "median_difference": 4.0, "confidence": 0.94, "verdict": "better", "because": "so",
        "seconds": 60.0, "guards": [], "steady_baseline": True, "changes": [], "kept": True,
    }  # fmt: skip
    assert f"predicted 100 Mb/s–1 Gb/s, measured 500 Mb/s: {words}" in describe(document)
