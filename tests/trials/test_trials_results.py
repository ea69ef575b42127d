"""The results command, and tuning's account of what it kept."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from nettop import cli
from nettop.changes import context
from nettop.changes.context import Netns
from nettop.reports import reading
from nettop.trials import results, tune
from nettop.trials.end import Cancelled
from nettop.trials.experiment import METRICS
from nettop.trials.lever import LeverError, Proved
from nettop.trials.prove import Bench, best
from nettop.trials.result import Options, Progress, given
from nettop.trials.run import TrialError, Watch
from nettop.trials.statistics import ExperimentPlan
from nettop.trials.tune import Offer

AWAY = "ssh host2 sudo /opt/nettop/nettop"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "nettop/results"


def out(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.main(["results", *words]) == code
    return capsys.readouterr().out


def test_results_are_listed_shown_and_compared(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no results yet" in out(capsys)
    base: dict[str, Any] = {"at": 1e9, "tool": "bulk", "to": "h"}
    first = results.keep("test", {**base, "bits_per_second": 1e9, "settings": {"a": "1"}}) or ""
    other = results.keep("test", {**base, "bits_per_second": 2e9, "settings": {"a": "2"}}) or ""
    listed = out(capsys)
    assert first in listed
    assert "bulk to h" in listed
    assert "bits_per_second: 2000000000.0" in out(capsys, "show", other)
    both = out(capsys, "compare", first, other)
    assert "second / first: 2.000" in both
    assert "a: 1 → 2" in both
    found = json.loads(out(capsys, "compare", first, other, "--json"))
    assert found["ratio"] == 2.0
    assert found["schema"] == 1
    assert len(json.loads(out(capsys, "--json"))["results"]) == 2
    assert list(store.glob("*.json"))


def test_what_a_proof_kept_is_undone_by_the_nettop_that_made_it(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = {
        "at": 1e9, "finding": "x@host", "verdict": "better", "because": "", "unit": "bit/s",
        "interval": [0.1, 0.2], "median_difference": 0.1, "confidence": 0.95, "a": [1e9],
        "b": [2e9], "seconds": 1.0, "guards": [], "steady_baseline": True, "changes": [],
        "kept": True, "ids": [21],
    }  # fmt: skip
    away = {"changed_at": "host2", "changed_by": AWAY}
    for place, way in (({}, "nettop"), (away, AWAY), ({"changed_at": "host2"}, "host2 nettop")):
        shown = out(capsys, "show", results.keep("prove", {**proof, **place}) or "")
        assert f"  revert it with: {way} undo 21\n" in shown


def test_an_old_or_strange_result_is_shown_all_the_same(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = results.keep("prove", {"at": 1e9, "finding": "x\x1b[31m", "interval": None}) or ""
    shown = out(capsys, "show", name)
    assert "\x1b" not in shown
    assert store.is_dir()


@pytest.mark.usefixtures("store")
def test_unknown_results_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["results", "show", "nothing"]) == 2
    assert cli.main(["results", "compare", "one"]) == 2
    assert "no result 'nothing'" in capsys.readouterr().err


def document(gain: float, kept: bool, number: int) -> dict[str, Any]:
    return {
        "kept": kept, "median_difference": gain, "interval": [gain - 0.02, gain + 0.02],
        "confidence": 0.94, "verdict": "better" if kept else "no difference", "because": "so",
        "ids": [number] if kept else [], "measured": 2e8, "inside": True,
        "predicted": {"rate": [1e8, 1e9], "next": None} if kept else None,
    }  # fmt: skip


def test_tuning_keeps_what_is_better_and_names_one_undo(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Any] = {
        "a@eth0": document(0.5, True, 3), "b@eth0": document(0.01, False, 0),
        "c@eth0": document(0.1, True, 9), "d@eth0": TrialError("it broke"),
    }  # fmt: skip

    def prove(finding: str, _wanted: object, _on: Bench, **_: object) -> dict[str, Any]:
        if isinstance(answers[finding], Exception):
            raise answers[finding]
        found: dict[str, Any] = answers[finding]
        return found

    monkeypatch.setattr("nettop.trials.prove.prove", prove)
    on = Bench("bulk", Options(), METRICS["rate"], ExperimentPlan())
    offers = [Offer(name, name, [("sysctl.net.a", "1")]) for name in answers]
    others = [
        Offer("e@eth0", "e", [], advice="Ask the network"),
        Offer("safe@host", "f", [("sysctl.net.b", "1")], safety=True),
    ]
    found = tune.tune([*offers, *others], on, 1e6, clock=lambda: 0.0)
    assert [s["state"] for s in found["steps"]] == [
        "kept", "not kept", "kept", "skipped", "skipped", "skipped",
    ]  # fmt: skip
    assert found["undo"] == "nettop undo 3 9"
    total = found["total"]
    assert total is not None
    assert total["median_difference"] == pytest.approx(1.5 * 1.1 - 1)
    low, high = total["interval"]
    assert low < total["median_difference"] < high
    said = tune.text(found)
    assert "skipped   e@eth0: no setting of a host cures it: Ask the network" in said
    assert "nettop undo 3 9" in said
    assert "it broke" in said
    assert said.count("predicted 100 Mb/s–1 Gb/s, measured 200 Mb/s: right") == 2
    assert [s.get("inside") for s in found["steps"]] == [True, True, True, None, None, None]
    assert "not about speed: a measurement cannot prove it; nettop apply safe@host" in said
    assert list(store.glob("*-tune.json"))


@pytest.mark.usefixtures("store")
def test_a_fix_of_the_other_end_is_proved_by_its_lever_and_undone_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levers: list[object] = []
    far = object()

    def prove(finding: str, _wanted: object, _on: Bench, **options: object) -> dict[str, Any]:
        levers.append(options["lever"])
        place = {"changed_at": "host2", "changed_by": AWAY} if options["lever"] else {}
        return {**document(0.5, True, len(finding)), **place}

    def absent() -> Any:
        raise LeverError("nettop is not installed at host3")

    monkeypatch.setattr("nettop.trials.prove.prove", prove)
    on = Bench("bulk", Options(), METRICS["rate"], ExperimentPlan())
    wanted = [("sysctl.net.a", "1")]
    offers = [
        Offer("own", "", wanted),
        Offer("theirs", "", wanted, lever=lambda: cast("Proved", far)),
        Offer("third", "", wanted, lever=absent),
    ]
    found = tune.tune(offers, on, 1e6, clock=lambda: 0.0)
    assert levers == [None, far]
    assert found["undo"] == f"nettop undo 3; {AWAY} undo 6"
    assert [one["state"] for one in found["steps"]] == ["kept", "kept", "skipped"]
    assert found["steps"][2]["because"] == "nettop is not installed at host3"


@pytest.mark.usefixtures("store")
def test_tuning_stops_when_the_time_or_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    on = Bench("bulk", Options(), METRICS["rate"], ExperimentPlan())
    offers = [Offer(name, "", [("sysctl.net.a", "1")]) for name in ("a@eth0", "b@eth0")]
    short = tune.tune(offers, on, 5.0, clock=lambda: 0.0)
    assert all("no time left" in s["because"] for s in short["steps"])

    def stop(*_: object, **__: object) -> dict[str, Any]:
        raise Cancelled

    monkeypatch.setattr("nettop.trials.prove.prove", stop)
    ended = tune.tune(offers, on, 1e6, clock=lambda: 0.0)
    assert ended["cancelled"]
    assert {s["state"] for s in ended["steps"]} == {"skipped"}


@pytest.mark.usefixtures("store")
def test_the_progress_of_tuning_names_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def prove(_finding: str, _wanted: object, on: Bench, **_: object) -> dict[str, Any]:
        for note in ("baseline, run 1", ""):
            on.watch(Progress("bulk", 1.0, 9.0, note=note))
        return document(0.5, True, 3)

    monkeypatch.setattr("nettop.trials.prove.prove", prove)
    seen: list[str] = []
    on = Bench("bulk", Options(), METRICS["rate"], ExperimentPlan(),
               watch=lambda progress: seen.append(progress.note))  # fmt: skip
    tune.tune([Offer(name, "", [("sysctl.net.a", "1")]) for name in ("a@eth0", "b@eth0")], on, 1e6)
    assert seen == ["a@eth0, baseline, run 1", "a@eth0", "b@eth0, baseline, run 1", "b@eth0"]


def test_late_samples_of_a_run_do_not_use_up_the_time_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[float] = []

    def run(_tool: str, _options: Options, watch: Watch, _cancel: object) -> object:
        for second in (1.0, 11.0, 17.0):
            watch(Progress("bulk", second, 11.0))
        raise Cancelled

    monkeypatch.setattr("nettop.trials.prove.runner.run", run)
    on = Bench("bulk", Options(), METRICS["rate"], ExperimentPlan(),
               watch=lambda progress: left.append(progress.of - progress.second))  # fmt: skip
    on.outer(Progress("experiment", 0.0, 120.0))
    with pytest.raises(Cancelled):
        on.take(0)
    assert left == [120.0, 119.0, 109.0, 109.0]


@pytest.mark.usefixtures("store")
def test_tuning_proves_what_its_time_is_long_enough_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two offers: a proof compares two states; a kept change needs the time of one more."""
    plan = ExperimentPlan()
    need = (2 + 2 * plan.early) * plan.run_seconds + 2 * plan.early
    monkeypatch.setattr("nettop.trials.prove.prove", lambda *_, **__: document(0.5, True, 3))
    on = Bench("bulk", Options(), METRICS["rate"], plan)
    offers = [Offer(name, "", [("sysctl.net.a", "1")]) for name in ("a@eth0", "b@eth0")]
    for budget, states in ((0.99, ["skipped"] * 2), (1.0, ["kept", "skipped"]),
                           (1.99, ["kept", "skipped"]), (2.0, ["kept"] * 2)):  # fmt: skip
        found = tune.tune(offers, on, budget * need, clock=lambda: 0.0)
        assert [step["state"] for step in found["steps"]] == states, budget
        skipped = [step["because"] for step in found["steps"] if step["state"] == "skipped"]
        assert set(skipped) <= {f"no time left: a proof takes at least {need:.0f} s"}


def test_a_result_that_cannot_be_stored_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" / "results"
    assert results.keep("test", {"tool": "bulk"}, where) is None
    told = capsys.readouterr().err
    assert told == f"nettop: the result is not stored: Not a directory: {where}\n"
    heard: list[str] = []
    assert results.keep("test", {"tool": "bulk"}, where, heard.append) is None
    assert len(heard) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("left_out", [True, False])
def test_a_result_says_that_both_ends_were_not_read(left_out: bool) -> None:
    on = Bench("bulk", Options(no_ends=left_out), METRICS["rate"], ExperimentPlan())
    assert on.about().get("no_ends", False) is left_out


# Which options a result stores, so that the command can be repeated.


@pytest.mark.parametrize(
    ("host", "name", "stored"),
    [
        (None, "tenant", {"to": "10.0.0.2", "netns": "tenant"}),
        (None, "", {"to": "10.0.0.2"}),  # the namespace of the machine has no name
        ("ssh web1", "tenant", {"to": "10.0.0.2", "host": "ssh web1"}),  # it runs there
    ],
)
def test_the_network_namespace_is_stored_where_the_test_runs_in_it(
    monkeypatch: pytest.MonkeyPatch, host: str | None, name: str, stored: dict[str, object]
) -> None:
    monkeypatch.setattr(context, "netns", lambda: Netns("4026532000", "7", name))
    assert given(Options(to="10.0.0.2", host=host)) == stored


def test_the_repeated_command_enters_the_namespace() -> None:
    document = {"tool": "bulk", "options": {"to": "10.0.0.2", "netns": "tenant"}}
    assert reading.again_trial(document) == "nettop test bulk --to 10.0.0.2 --netns tenant"


@pytest.mark.parametrize(
    ("value", "kept", "sentence"),
    [
        ("512", False, "no value is better than the original one, 512; all changes are reverted"),
        ("4096", True, "best: 4096 (+9.3 %, better); kept"),
    ],
)
def test_a_sweep_whose_best_value_is_the_original_one_says_so(
    value: str, kept: bool, sentence: str
) -> None:
    rows = [{"value": "512"}, {"value": "4096"}]
    document = {"best": value, "margin": 0.093, "verdict": "better", "kept": kept, "rows": rows}
    assert best(document) == sentence
