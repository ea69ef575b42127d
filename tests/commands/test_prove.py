"""What `nettop prove` tests: a finding that holds while idle or under the load of its test."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scenes import RING

from nettop.advice.rules.rule import Finding
from nettop.commands import prove
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import Prediction
from nettop.terms.errors import Refused
from nettop.trials.end import Cancelled
from nettop.trials.experiment import METRICS
from nettop.trials.prove import Bench
from nettop.trials.result import Options
from nettop.trials.statistics import ExperimentPlan
from nettop.views.both import named

WIRE = Reading("wire", "here", "link of eth0", capacity=(9e8, 1e9))
SMALL = Prediction(Limit("nic", "eth0", "rx", 1e8), (1e8, 1e9), WIRE, WIRE)
LARGE = Prediction(Limit("nic", "eth0", "rx", 4e8), (4e8, 1e9), WIRE, WIRE)
LIMITS = replace(RING, relieves=("ring",))
BENCH = Bench("bulk", Options(), METRICS["rate"], ExperimentPlan())


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Makes the findings of an idle host and of one under load; gives what was looked at."""

    def make(idle: tuple[Finding, ...], loaded: tuple[Finding, ...]) -> list[str]:
        looked: list[str] = []

        def findings(*_: object, predicted: bool = False, **__: object) -> dict[str, Finding]:
            looked.append("loaded" if predicted else "idle")
            return {one.id: one for one in (loaded if predicted else idle)}

        def under_load(_on: Bench, _seconds: float, look: Callable[[], Any]) -> object:
            return look()

        monkeypatch.setattr(prove, "_findings", findings)
        monkeypatch.setattr(prove, "under_load", under_load)
        return looked

    return make


def offer(*words: str) -> Any:
    return prove._offer(argparse.Namespace(what=list(words), look=1.0), BENCH)


def test_a_prediction_is_made_under_the_load_of_the_test(look: Callable[..., list[str]]) -> None:
    looked = look((replace(LIMITS, predicted=SMALL),), (replace(LIMITS, predicted=LARGE),))
    found = offer(RING.id)
    assert looked == ["idle", "loaded"]
    assert found.predicted is LARGE
    assert found.wanted == [(one.setting, one.value) for one in RING.wanted]


def test_a_finding_that_load_ends_is_tested_all_the_same(look: Callable[..., list[str]]) -> None:
    look((LIMITS,), ())
    assert offer(RING.id).finding == RING.id


def test_a_finding_that_relieves_no_stage_needs_no_load(look: Callable[..., list[str]]) -> None:
    looked = look((RING,), ())
    assert offer(RING.id).predicted is None
    assert looked == ["idle"]


def test_a_finding_under_load_only(
    look: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    look((), (RING,))
    assert offer(RING.id).finding == RING.id
    assert "looking again while a test runs" in capsys.readouterr().err


def test_neither_idle_nor_under_load(look: Callable[..., list[str]]) -> None:
    look((), ())
    with pytest.raises(Refused, match="no finding 'rx-ring-overrun@eth1' on this host") as refused:
        offer("rx-ring-overrun@eth1")
    assert refused.value.code == 2
    look((replace(LIMITS, wanted=()),), ())
    with pytest.raises(Refused, match="has no setting to change") as refused:
        offer(RING.id)
    assert refused.value.code == 4


def test_a_finding_of_the_other_end_is_tested_there(
    look: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """This host has it too: then it is this one's. Under load each end sends once."""
    far = named(RING, "web1")
    monkeypatch.setattr(prove, "_other_end", lambda _on: "there")
    monkeypatch.setattr(prove, "_not_applied_there", lambda *_: None)
    look((far,), ())
    found = offer(RING.id)
    assert (found.finding, found.lever is not None) == (f"{RING.id} at web1", True)
    assert f"{RING.id} is a finding of web1: it is proved there" in capsys.readouterr().err
    looked = look((), (far,))
    assert offer(RING.id).lever is not None
    assert looked == ["idle", "loaded"]
    look((far, RING), ())
    assert offer(RING.id).lever is None
    looked = look((), ())
    with pytest.raises(Refused, match="no finding 'rx-ring-overrun@eth1' of both ends now"):
        offer("rx-ring-overrun@eth1")
    assert looked == ["idle", "loaded", "loaded"]


def test_a_fix_that_is_in_force_there_is_named_with_its_undo(
    look: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = look((), ())
    rows = [
        {"id": 7, "state": "applied", "finding": f"a@eth0 {RING.id}"},
        {"id": 8, "state": "undone", "finding": RING.id},
    ]
    monkeypatch.setattr(prove, "_other_end", lambda _on: SimpleNamespace(
        prefix=("ssh", "web1"), root=True, host="web1"))  # fmt: skip
    monkeypatch.setattr("nettop.changes.remote.Remote.journal", lambda _: rows)
    with pytest.raises(Refused, match=r"^change 7 at web1 has applied it: .* undo 7 first$"):
        offer(RING.id)
    assert looked == ["idle"]


def test_given_settings_have_no_prediction(look: Callable[..., list[str]]) -> None:
    looked = look((), ())
    found = offer("ring.rx@eth0=4096")
    assert (found.finding, found.predicted, looked) == ("ring.rx@eth0=4096", None, [])


def test_findings_to_tune_come_by_their_predicted_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {
        "a@eth0": replace(RING, id="a@eth0", gain=2.0), "b@eth0": replace(RING, id="b@eth0"),
        "c@eth0": replace(RING, id="c@eth0", predicted=LARGE),
        "d@eth0": replace(RING, id="d@eth0", predicted=SMALL),
        "e@eth0": replace(RING, id="e@eth0", wanted=(), advice=()),
        "f@eth0": replace(RING, id="f@eth0", wanted=(), gain=9.0, advice=("Ask", "Then")),
    }  # fmt: skip
    monkeypatch.setattr(prove, "_findings", lambda *_, **__: every)
    monkeypatch.setattr(prove, "under_load", lambda _on, _seconds, look: look())
    args = argparse.Namespace(look=1.0)
    offers = prove.offers(args, BENCH)
    assert [one.finding for one in offers] == ["d@eth0", "c@eth0", "a@eth0", "b@eth0", "f@eth0"]
    assert offers[-1].advice == "Ask"


@pytest.mark.parametrize("after", ["", "; the same command with --resume continues"])
def test_what_was_cancelled_says_what_to_do(after: str) -> None:
    def cancelled() -> None:
        raise Cancelled

    with pytest.raises(Refused) as told:
        prove.attempt(cancelled, after=after)
    assert str(told.value) == f"cancelled; all changes are reverted{after}"
