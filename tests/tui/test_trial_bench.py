"""Tests and experiments that the screen starts: what runs, is noted, and is shown meanwhile."""

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.trials import prove, repeat, results, run, study, tune
from nettop.trials.end import Cancelled
from nettop.trials.result import Check, Progress, Standing
from nettop.tui import trying
from nettop.views.scene import Scene

FORM = {"tool": "bulk", "to": "192.0.2.1", "peer": "ssh b", "seconds": "5", "streams": "3",
        "reverse": "yes", "budget": "2"}  # fmt: skip


class Bench:
    """A bench of the screen: the scene that it makes, and its calls."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.shown: list[Any] = []
        self.reloads = 0
        self.bench = trying.TrialBench(self.post, self.reload)

    def post(self, change: Callable[[Scene], Scene]) -> None:
        before, self.scene = self.scene.progress, change(self.scene)
        if self.scene.progress not in (None, before):
            self.shown.append(self.scene.progress)

    def reload(self) -> None:
        assert self.bench.cancel is None
        assert self.scene.progress is None
        self.reloads += 1

    @property
    def notes(self) -> list[tuple[str, str]]:
        return [(one.text, one.role) for one in self.scene.notes]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def checked(*failed: str) -> tuple[Check, ...]:
    good = Check("good", ok=True, because="well")
    return (good, *(Check("bad", ok=False, because=text) for text in failed))


@pytest.mark.parametrize(
    ("rate", "failed", "lost", "text", "role"),
    [
        (1e9, (), (), "bulk to 192.0.2.1: 1 Gb/s", "good"),
        (None, (), (), "bulk to 192.0.2.1: done", "good"),
        (0.0, ("too slow", "odd"), (), "bulk to 192.0.2.1: 0 b/s; too slow", "warn"),
        (1e9, (), ("not stored",), "bulk to 192.0.2.1: 1 Gb/s; not stored", "warn"),
        (1e9, ("odd",), ("not stored",), "bulk to 192.0.2.1: 1 Gb/s; odd; not stored", "warn"),
    ],
)
def test_a_test_is_stored_and_noted(
    monkeypatch: pytest.MonkeyPatch, bench: Bench, rate: Any, failed: Any, lost: Any, text: str,
    role: str,
) -> None:  # fmt: skip
    stored: list[Any] = []

    def keep(kind: str, document: Any, tell: Callable[[str], None]) -> None:
        stored.append((kind, document))
        for one in lost:
            tell(one)

    def ran(tool: str, options: Any, watch: Any, cancel: threading.Event) -> Any:
        assert (tool, options.to, options.peer, options.seconds) == (
            "bulk",
            "192.0.2.1",
            "ssh b",
            5,
        )
        assert (options.streams, options.reverse) == (3, True)
        assert bench.bench.cancel is cancel
        assert bench.bench.stop()
        assert cancel.is_set()
        measured = SimpleNamespace(bits_per_second=rate)
        return SimpleNamespace(measured=measured, checks=checked(*failed), document=lambda: "x")

    monkeypatch.setattr(run, "run", ran)
    monkeypatch.setattr(results, "keep", keep)
    bench.bench.test(FORM)
    assert stored == [("test", "x")]
    assert bench.notes == [(text, role)]
    assert bench.reloads == 1
    assert not bench.bench.stop()


def test_what_runs_is_shown(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    standing = Standing("bit/s", True, (1.0, 2.0), (3.0,), 0.5)

    def ran(_tool: str, _options: Any, watch: Any, _cancel: Any) -> Any:
        watch(Progress("send", 1.0, 6.0, 5e8, (10.0, 20.0), "note", (30.0,), 7))
        watch(Progress("send", 2.0, 6.0, None, standing=standing))
        watch(Progress("study", 1.0, 4.0, note="a point"))
        watch(Progress("send", 3.0, 6.0, 6e8, standing=replace(standing, interval=(0.1, 0.9))))
        raise Cancelled

    monkeypatch.setattr(run, "run", ran)
    bench.bench.test(FORM)
    begun, one, two, three = bench.shown
    title = "bulk to 192.0.2.1"
    assert (begun.title, begun.elapsed, begun.seconds, begun.stage) == (title, 0.0, 5.0, "starting")
    assert (one.title, one.elapsed, one.seconds, one.intervals) == (title, 1.0, 6.0, (5e8,))
    assert (one.retransmits, one.here, one.there) == (7, {0: 10.0, 1: 20.0}, {0: 30.0})
    assert (one.stage, one.proof) == ("note", None)
    assert (two.intervals, two.stage) == ((5e8,), "")
    assert (two.proof.before, two.proof.after, two.proof.middle) == ((1.0, 2.0), (3.0,), 0.5)
    assert (two.proof.interval, two.proof.unit, two.proof.higher) == ((0.0, 0.0), "bit/s", True)
    assert (three.intervals, three.stage) == ((5e8, 6e8), "a point (2 of 4)")
    assert three.proof.interval == (0.1, 0.9)
    assert bench.notes == [(f"{title}: stopped", "warn")]
    assert bench.reloads == 1


def test_only_the_last_ten_minutes_are_drawn(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    def ran(_tool: str, _options: Any, watch: Any, _cancel: Any) -> Any:
        for n in range(602):
            watch(Progress("send", float(n), 602.0, float(n)))
        raise Cancelled

    monkeypatch.setattr(run, "run", ran)
    bench.bench.test(FORM)
    assert bench.shown[-1].intervals == tuple(map(float, range(2, 602)))


def test_without_an_address_or_beside_another_nothing_runs(bench: Bench) -> None:
    bench.bench.test({**FORM, "to": ""})
    assert bench.notes == [("enter the address of the peer first", "warn")]
    bench.bench.cancel = threading.Event()
    bench.bench.study("nasa-2", FORM)
    assert bench.notes[-1] == ("a test is running: Ctrl-X stops it", "warn")
    assert (bench.shown, bench.reloads) == ([], 0)


@pytest.mark.parametrize(
    ("verdict", "kept", "text", "role"),
    [
        ("better", True, "better; kept", "good"), ("worse", False, "worse; reverted", "bad"),
        ("no difference", False, "no difference; reverted", "warn"),
    ],
)  # fmt: skip
def test_a_proof_says_what_became_of_the_change(
    monkeypatch: pytest.MonkeyPatch, bench: Bench, verdict: str, kept: bool, text: str, role: str
) -> None:
    def proved(finding: str, wanted: Any, on: Any, *, predicted: Any, lever: Any) -> Any:
        assert (finding, wanted, predicted) == ("capture-x@eth0", [("a", "b")], "p")
        assert lever is None
        assert (on.tool, on.options.seconds, on.cancel) == ("capture", 5.0, bench.bench.cancel)
        return {"kept": kept, "verdict": verdict}

    monkeypatch.setattr(prove, "prove", proved)
    predicted: Any = "p"
    bench.bench.prove("capture-x@eth0", (("a", "b"),), FORM, predicted)
    assert bench.notes == [(f"capture-x@eth0: {text}", role)]
    assert bench.shown[0].title == "prove capture-x@eth0"


@pytest.mark.parametrize(("verdict", "role"), [("better", "good"), ("no difference", "warn")])
def test_a_sweep_names_the_best(
    monkeypatch: pytest.MonkeyPatch, bench: Bench, verdict: str, role: str
) -> None:
    def swept(grid: Any, on: Any) -> Any:
        assert (grid, on.tool) == ([("ring.rx@e", ["1", "2"])], "bulk")
        return {"best": "2", "margin": 0.123, "verdict": verdict}

    monkeypatch.setattr(prove, "sweep", swept)
    bench.bench.sweep((("ring.rx@e", "1"), ("ring.rx@e", "2")), FORM)
    assert bench.notes == [(f"sweep ring.rx@e: best 2, +12.3%, {verdict}; reverted", role)]


def test_a_sweep_whose_best_is_the_present_value_says_so(
    monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    document = {"best": "1", "margin": 0.0, "verdict": "no difference"}
    monkeypatch.setattr(prove, "sweep", lambda _grid, _on: document)
    bench.bench.sweep((("ring.rx@e", "1"), ("ring.rx@e", "2")), FORM)
    text = "sweep ring.rx@e: no value is better than the present one, 1"
    assert bench.notes == [(text, "warn")]


@pytest.mark.parametrize(
    ("kept", "total", "undo", "text", "role"),
    [
        (
            1,
            {"median_difference": 0.5},
            "nettop undo 3",
            "1 of 3 kept, +50.0%; nettop undo 3",
            "good",
        ),
        (0, None, "", "0 of 3 kept", "warn"),
    ],
)
def test_tuning_begins_with_the_largest_predicted_gain(
    monkeypatch: pytest.MonkeyPatch, bench: Bench, kept: int, total: Any, undo: str, text: str,
    role: str,
) -> None:  # fmt: skip
    def finding(name: str, predicted: float | None, gain: float) -> Any:
        seen = None if predicted is None else SimpleNamespace(gain=predicted)
        wanted = [SimpleNamespace(setting="s", value="v")]
        return SimpleNamespace(id=name, title=name, wanted=wanted, safety="none", predicted=seen,
                               gain=gain)  # fmt: skip

    def tuned(offers: Any, on: Any, seconds: float) -> Any:
        assert [one.id if hasattr(one, "id") else one.finding for one in offers] == ["c", "b", "a"]
        assert seconds == 120
        steps = [{"state": "kept" if n < kept else "reverted"} for n in range(3)]
        return {"steps": steps, "total": total, "undo": undo}

    monkeypatch.setattr(tune, "tune", tuned)
    every = [finding("a", None, 1.0), finding("b", None, 2.0), finding("c", 0.1, 0.0)]
    bench.bench.tune(every, FORM)
    assert bench.notes == [(f"tune: {text}", role)]


@pytest.mark.parametrize(
    ("rows", "text", "role"),
    [
        (
            [{"measured": 1}, {"skipped": "no gro"}, {"skipped": "x"}],
            "1 of 3 points measured; no gro",
            "good",
        ),
        ([{"skipped": "x"}], "0 of 1 points measured; x", "warn"),
        ([{"measured": 1}], "1 of 1 points measured", "good"),
    ],
)
def test_a_study_says_what_it_could_measure(
    monkeypatch: pytest.MonkeyPatch, bench: Bench, rows: Any, text: str, role: str
) -> None:
    def ran(_study: Any, options: Any, most: float, **_: Any) -> Any:
        assert (options.seconds, most) == (5.0, 5.0)
        return {"rows": rows}

    monkeypatch.setattr(study, "load", lambda name: name)
    monkeypatch.setattr(repeat, "run", ran)
    bench.bench.study("nasa-2", FORM)
    assert bench.notes == [(f"study nasa-2: {text}", role)]


def test_an_error_is_a_note_and_frees_the_bench(
    monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    monkeypatch.setattr(run, "run", lambda *_: (_ for _ in ()).throw(OSError("odd")))
    bench.bench.test(FORM)
    ((text, role),) = bench.notes
    assert text.endswith(": odd")
    assert role == "bad"
    assert bench.bench.cancel is None
    assert bench.reloads == 1


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("1", 1.0), ("0.5", 0.5), ("0", None), ("-1", None), ("x", None), ("1e6", None)],
)
def test_minutes_are_above_zero(text: str, minutes: float | None) -> None:
    if minutes is not None:
        assert trying.positive(text) == minutes
        return
    with pytest.raises(ValueError, match="minutes must be"):
        trying.positive(text)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"seconds": "x"}, "must be numbers"), ({"streams": "1.5"}, "must be numbers"),
        ({"seconds": "0.0"}, "must be above zero"), ({"streams": "0"}, "must be above zero"),
        ({"seconds": "-1"}, "must be above zero"),
    ],
)  # fmt: skip
def test_a_wrong_form_is_one_sentence(more: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=f"seconds and streams {says}"):
        trying.options_of({**FORM, **more})


def test_an_empty_field_has_its_default() -> None:
    found = trying.options_of({**FORM, "seconds": "", "streams": "", "peer": "", "reverse": "no"})
    assert (found.seconds, found.streams, found.peer, found.reverse) == (10.0, 1, None, False)
    least = trying.options_of({**FORM, "seconds": "0.1", "streams": "1"})
    assert (least.seconds, least.streams) == (0.1, 1)
