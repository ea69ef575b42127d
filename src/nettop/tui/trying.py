"""Tests, proofs and studies started from the screen: each runs in a thread and posts progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..terms.units import scaled
from ..views.scene import RunningTest, Scene, StoredResult
from .notes import Post, note

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.limits.following import Prediction
    from ..trials.lever import Proved
    from ..trials.result import Options, Standing
    from ..trials.result import Progress as Second
    from ..trials.run import Watch

Wanted = Sequence[tuple[str, str]]
_SENDS: Final = {"yes": True, "no": False}  # the peer; else as a setting that is tested needs
BUILT_IN: Final = "bulk"  # the tool of experiments: nothing has to be installed on the peer


class TrialBench:
    """One test or proof at a time."""

    def __init__(self, post: Post, reload: Callable[[], None]) -> None:
        """`reload` reads results and journal again."""
        self.post = post
        self.reload = reload
        self.cancel: threading.Event | None = None

    def stop(self) -> bool:
        """Make the running test end; False if none runs."""
        if self.cancel is None:
            return False
        self.cancel.set()
        return True

    def test(self, form: Mapping[str, str]) -> None:
        """Run the test of the form."""
        from ..trials import results
        from ..trials import run as runner

        title = f"{form['tool']} to {form['to']}"

        def work(watch: Watch, cancel: threading.Event) -> None:
            result = runner.run(form["tool"], options_of(form), watch, cancel)
            lost: list[str] = []
            results.keep("test", result.document(), tell=lost.append)
            rate = result.measured.bits_per_second
            text = f"{title}: {scaled(rate, 'b/s')}" if rate is not None else f"{title}: done"
            failed = [check.because for check in result.checks if not check.ok]
            self.post(
                note("; ".join([text, *failed[:1], *lost]), "warn" if failed or lost else "good")
            )

        self._run(title, form, work)

    def prove(
        self, finding: str, wanted: Wanted, form: Mapping[str, str],
        predicted: Prediction | None = None, lever: Proved | None = None,
    ) -> None:  # fmt: skip
        """Prove a finding: test with and without its changes in turn; keep them only if better.

        `lever` makes them at another host.
        """
        from ..trials import prove

        title = f"prove {finding}"

        def work(watch: Watch, cancel: threading.Event) -> None:
            tool = prove.fitting(finding)  # built in: nothing has to be installed on the peer
            bench = prove.bench(tool, options_of(form), watch=watch, cancel=cancel)
            document = prove.prove(finding, list(wanted), bench, predicted=predicted, lever=lever)
            kept = "kept" if document.get("kept") else "reverted"
            verdict = str(document.get("verdict", ""))
            role = {"better": "good", "worse": "bad"}.get(verdict, "warn")
            self.post(note(f"{finding}: {verdict}; {kept}", role))

        self._run(title, form, work)

    def sweep(self, wanted: Wanted, form: Mapping[str, str]) -> None:
        """Test each value of a setting against the current one; the setting is then reverted."""
        from ..trials import prove

        title = f"sweep {wanted[0][0]}"

        def work(watch: Watch, cancel: threading.Event) -> None:
            bench = prove.bench(BUILT_IN, options_of(form), watch=watch, cancel=cancel)
            document = prove.sweep([(wanted[0][0], [value for _, value in wanted])], bench)
            best, margin = document["best"], document["margin"]
            role = "good" if document["verdict"] == "better" else "warn"
            text = f"{title}: best {best}, {margin:+.1%}, {document['verdict']}; reverted"
            if not margin:
                text = f"{title}: no value is better than the present one, {best}"
            self.post(note(text, role))

        self._run(title, form, work)

    def tune(self, findings: Sequence[Finding], form: Mapping[str, str]) -> None:
        """Prove findings in turn, the largest predicted gain first; keep what is better."""
        from ..trials import prove
        from ..trials import tune as tuning

        def gain(one: Finding) -> tuple[float, float]:
            return (0.0 if one.predicted is None else -one.predicted.gain, -one.gain)

        offers = [
            tuning.Offer(one.id, one.title, [(w.setting, w.value) for w in one.wanted],
                         one.safety, one.predicted)
            for one in sorted(findings, key=gain)
        ]  # fmt: skip
        minutes = positive(form["budget"])

        def work(watch: Watch, cancel: threading.Event) -> None:
            bench = prove.bench(BUILT_IN, options_of(form), watch=watch, cancel=cancel)
            document = tuning.tune(offers, bench, 60 * minutes)
            kept = sum(step["state"] == "kept" for step in document["steps"])
            total = document["total"]
            gained = f", {total['median_difference']:+.1%}" if total is not None else ""
            undo = f"; {document['undo']}" if document["undo"] else ""
            text = f"tune: {kept} of {len(offers)} kept{gained}{undo}"
            self.post(note(text, "good" if kept else "warn"))

        self._run("tune", form, work)

    def study(self, name: str, form: Mapping[str, str]) -> None:
        """Repeat a published table."""
        from ..trials import repeat, study

        title = f"study {name}"

        def work(watch: Watch, cancel: threading.Event) -> None:
            options = options_of(form)
            document = repeat.run(
                study.load(name), options, most=options.seconds, watch=watch, cancel=cancel
            )
            rows = document["rows"]
            measured = sum("measured" in row for row in rows)
            why = next((str(row["skipped"]) for row in rows if "skipped" in row), "")
            text = f"{title}: {measured} of {len(rows)} points measured"
            self.post(note(text + (f"; {why}" if why else ""), "good" if measured else "warn"))

        self._run(title, form, work)

    def _run(
        self,
        title: str,
        form: Mapping[str, str],
        work: Callable[[Watch, threading.Event], None],
    ) -> None:
        from ..trials.end import Cancelled

        if self.cancel is not None:
            self.post(note("a test is running: Ctrl-X stops it", "warn"))
            return
        if not form["to"]:
            self.post(note("enter the address of the peer first", "warn"))
            return
        self.cancel = threading.Event()
        rates: list[float] = []
        started = RunningTest(title, 0.0, float(form["seconds"] or 10), stage="starting")
        self.post(lambda old: replace(old, progress=started))

        stage = ""  # of a study: its point

        def watch(progress: Second) -> None:
            nonlocal stage
            if progress.what == "study":
                stage = f"{progress.note} ({progress.second + 1:.0f} of {progress.of:.0f})"
                return
            if progress.bits_per_second is not None:
                rates.append(progress.bits_per_second)
            now = RunningTest(
                title,
                progress.second,
                progress.of,
                tuple(rates[-600:]),
                retransmits=progress.retransmits,
                resent=progress.resent,
                here=dict(enumerate(progress.busy)),
                there=dict(enumerate(progress.busy_there)),
                stage=stage or progress.note,
                proof=proof_of(progress.standing),
                open_ended=progress.what == "experiment",
            )
            self.post(lambda old: replace(old, progress=now))

        try:
            work(watch, self.cancel)
        except Cancelled:
            self.post(note(f"{title}: stopped", "warn"))
        except Exception as error:
            from ..terms.errors import sentence

            self.post(note(f"{title}: {sentence(error)}", "bad"))
        finally:
            self.cancel = None
            self.post(idle)
            self.reload()


def positive(text: str) -> float:
    """Minutes above zero; ValueError for another text."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError("minutes must be a number") from None
    if not 0 < number < 1e6:
        raise ValueError("minutes must be above zero")
    return number


def proof_of(standing: Standing | None) -> StoredResult | None:
    """The pairs of a running experiment, as a result for the pane."""
    if standing is None:
        return None
    return StoredResult(
        "", 0.0, "", "", unit=standing.unit, higher=standing.higher, before=standing.before,
        after=standing.after, middle=standing.middle, interval=standing.interval or (0.0, 0.0),
    )  # fmt: skip


def idle(scene: Scene) -> Scene:
    """The scene when no test runs."""
    return replace(scene, progress=None)


def options_of(form: Mapping[str, str]) -> Options:
    """The options of the trial from the form; ValueError for an invalid field."""
    from ..trials.result import Options

    try:
        seconds, streams = float(form["seconds"] or 10), int(form["streams"] or 1)
    except ValueError:
        raise ValueError("seconds and streams must be numbers") from None
    if seconds <= 0 or streams < 1:
        raise ValueError("seconds and streams must be above zero")
    return Options(
        to=form["to"],
        peer=form["peer"] or None,
        seconds=seconds,
        streams=streams,
        reverse=_SENDS.get(form["reverse"]),
        host=form.get("host") or None,
    )
