"""What `a`, `p`, `u` and `c` do in the demo: they are played, and nothing reaches this host.

The recording has a second course, as it is with one change: a larger ring, or a larger buffer of
the other end. A change is an entry of the screen only: it is in no journal, and no setting of this
machine is read or written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..changes.plan import plan
from ..terms.text import line
from ..views.altered import DEMO
from ..views.ask import Ask
from ..views.kept import PEERS
from ..views.scene import (
    IN_FORCE,
    JournalEntry,
    Pending,
    Question,
    RunningTest,
    Scene,
    StoredResult,
)
from ..views.view import View
from .notes import Post, Update, ask_question, note
from .planning import Planning, changeable, triples
from .trying import proof_of

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..host.played import Played
    from ..host.recording import Replay

VERBS: Final = frozenset("apply prove undo confirm agree stop".split())
CONFIRM: Final = 30.0  # seconds, as on a host
PAIRS: Final = 5
SAMPLES: Final = 2  # of each run
STEP: Final = 0.1  # seconds between looks for a new sample
ONLY: Final = "the demo plays another change: select"
OVER: Final = "the demo plays one change, and it is made: u undoes it"


class Playing:
    """Plays changes and a proof on a recording with two courses."""

    def __init__(self, source: Played, post: Post, altered: Callable[[], None]) -> None:
        """`post` may be called from any thread; `altered` once a change shows in the samples."""
        self.source = source
        self.post = post
        self.altered = altered
        self.cured = False  # the course that was sampled last
        self.host = ""  # the other end, where the question is about it
        self.planning = Planning(source, self._asked)
        self.cancel: threading.Event | None = None
        self.sampled = 0.0  # the moment of the last one
        self.seen: list[tuple[bool, float]] = []  # of each sample: its course, the rate (bit/s)

    def _asked(self, update: Update) -> None:
        """Post an update of the planning; its question says that it is the demo."""

        def marked(scene: Scene) -> Scene:
            now = update(scene)
            if now.question is None or now.question is scene.question:
                return now
            title = f"DEMO, nothing of this host is changed: {now.question.title}"
            return replace(now, question=replace(now.question, title=title, warnings=()))

        self.post(marked)

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Carry out a request of `VERBS`."""
        work: Callable[[Ask, View, Scene], None] = getattr(self, f"do_{ask.verb}")
        work(ask, view, scene)

    def do_apply(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the plan, made of the recording as on its host."""
        if self._plays(ask, view, scene, "apply"):
            Planning(self._end_of(self.host), self._asked).do_apply(ask, view, scene)

    def do_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what would be undone."""
        self.planning.do_undo(ask, view, scene)

    def do_prove(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what a proof does; it needs no peer here."""
        finding = self._plays(ask, view, scene, "prove")
        if finding is None:
            return
        planning = Planning(self._end_of(self.host), self._asked)
        changes = plan(_settings(finding), planning.source)
        if not changes:
            self.post(note("already set: nothing to prove; u undoes it", "warn"))
            return
        body = (
            *planning.lines(changes),
            line(
                f" Set and reverted in turn, {PAIRS} pairs of runs, shortened to {SAMPLES} samples."
            ),
            line(
                (
                    " Kept only if better. On a host, each run is a test to a peer, for longer.",
                    "dim",
                )
            ),
        )
        yes = "play it (Ctrl-X stops)"
        question = Question(f"Prove: {finding.title}", (("", body),), "prove", yes,
                            triples(changes), finding.id)  # fmt: skip
        self._asked(ask_question(question))

    def _plays(self, ask: Ask, view: View, scene: Scene, verb: str) -> Finding | None:
        """The finding, if its change has a course; else a note says which has one."""
        finding = changeable(ask.target, view, scene, self.post, verb)
        if finding is None:
            return None
        if not self._made(finding):
            every = (*scene.findings, *(scene.peer.findings if scene.peer is not None else ()))
            others = [one.id for one in every if one.wanted and self._made(one)]
            self.post(note(f"{ONLY} {others[0]}" if others else OVER, "warn"))
            return None
        self.host = finding.host
        return finding

    def _made(self, finding: Finding) -> bool:
        """Whether the other course has what the finding sets."""
        return not plan(_settings(finding), self.source.changed(far=bool(finding.host)))

    def _end_of(self, host: str) -> Replay:
        return self.source.far if host and self.source.far is not None else self.source

    def do_agree(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """The question was answered with yes."""
        question = scene.question
        if question is None:
            return
        if question.verb == "prove":
            self._prove(question.finding, question.changes)
        elif question.verb == "undo":
            self._end(question.entries, "undone")
        else:
            self._begin(question.finding, question.changes, "pending")

    def _begin(self, finding: str, changes: Iterable[tuple[str, str, str]], state: str) -> None:
        self.source.turn(cured=True)

        def update(scene: Scene) -> Scene:
            first = len(scene.journal) + 1
            there = PEERS * bool(self.host)
            made = tuple(
                JournalEntry(
                    f"{there}{first + n}", scene.wall, *change, state, finding, "demo",
                    host=self.host,
                )
                for n, change in enumerate(changes)
            )  # fmt: skip
            waits = tuple(Pending(one.id, one.setting, scene.wall + CONFIRM) for one in made)
            pending = (*scene.pending, *waits) if state == "pending" else scene.pending
            return replace(scene, journal=(*made, *scene.journal), pending=pending)

        self.post(update)

    def _end(self, ids: Iterable[str], state: str) -> None:
        """Undo or revert the entries; the recording goes on as it was."""
        ended = set(ids)
        self.source.turn(cured=False)
        self.post(lambda scene: _ended(scene, ended, state))

    def do_confirm(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Keep the changes that wait for it."""
        waiting = {one.id for one in scene.pending}
        if not waiting:
            self.post(note("no change waits to be confirmed", "warn"))
            return
        self.post(lambda now: _ended(now, waiting, "applied"))

    def do_stop(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """End the proof."""
        if self.cancel is None:
            self.post(note("no test runs", "warn"))
        else:
            self.cancel.set()

    def follow(self, scene: Scene) -> None:
        """Take the rate of a sample; revert what was not confirmed in time."""
        nic = scene.foremost
        if nic is not None and nic.per_s.rx_bytes is not None and scene.wall != self.sampled:
            self.sampled = scene.wall
            last, self.cured = self.cured, self.source.cured == (scene.wall >= self.source.turned)
            if last != self.cured:
                self.altered()
            self.seen.append((self.cured, max(nic.per_s.rx_bytes, nic.per_s.tx_bytes or 0.0) * 8))
            del self.seen[: -10 * SAMPLES]
        late = {one.id: one for one in scene.pending if one.deadline <= scene.wall}
        if late:
            self._end(late, "reverted")
            before = {one.id: one.before for one in scene.journal}
            for one in late.values():
                text = f"{one.setting}: reverted to {before.get(one.id, '')}: not confirmed in time"
                self.post(note(text, "warn"))

    # -- the proof -------------------------------------------------------------------------------

    def _prove(self, finding: str, changes: Iterable[tuple[str, str, str]]) -> None:
        from ..trials.statistics import compare

        changes = tuple(changes)
        cancel = self.cancel = threading.Event()
        runs: dict[bool, list[float]] = {False: [], True: []}
        try:
            for number in range(2 * PAIRS):
                cured = bool(number % 2)
                self._tell(finding, number, runs)
                self.source.turn(cured=cured)
                rate = self._run(cured, cancel)
                if rate is None:
                    self.source.turn(cured=False)
                    self.post(note(f"demo: prove {finding}: stopped, reverted", "warn"))
                    return
                runs[cured].append(rate)
            found = compare(runs[False], runs[True])
            kept = found.verdict == "better"
            low, high = found.interval
            result = StoredResult(
                f"demo-{finding}", 0.0, "prove", finding + DEMO, None,
                (("median", f"{found.median_difference:+.1%}"),
                 (f"{found.confidence:.0%} interval", f"{low:+.1%} … {high:+.1%}"),
                 ("pairs", str(found.pairs)), ("", "kept" if kept else "reverted")),
                verdict=found.verdict, unit="bit/s", before=tuple(runs[False]),
                after=tuple(runs[True]), interval=found.interval,
                middle=found.median_difference, higher=True,
            )  # fmt: skip
            self.post(lambda scene: replace(
                scene, results=(*scene.results, replace(result, wall=scene.wall))))  # fmt: skip
            if kept:
                self._begin(finding, changes, "applied")
            else:
                self.source.turn(cured=False)
            text = f"demo: {finding}: {found.verdict}; {'kept' if kept else 'reverted'}"
            self.post(note(text, "good" if kept else "warn"))
        finally:
            self.cancel = None
            self.post(lambda scene: replace(scene, progress=None))

    def _run(self, cured: bool, cancel: threading.Event) -> float | None:
        """The mean rate of a run in that course; None if the proof was stopped."""
        self.seen.clear()
        while True:
            own = [rate for course, rate in self.seen if course == cured]
            if len(own) >= SAMPLES:
                return sum(own[-SAMPLES:]) / SAMPLES
            if cancel.wait(STEP):
                return None

    def _tell(self, finding: str, number: int, runs: dict[bool, list[float]]) -> None:
        from ..trials.result import Standing
        from ..trials.statistics import compared

        known = Standing("bit/s", True, tuple(runs[False]), tuple(runs[True]))
        each = SAMPLES - 1.0  # seconds of a run: the first sample of a course comes at once
        now = RunningTest(
            f"demo (shortened): prove {finding}", number * each, 2 * PAIRS * each,
            tuple(rate for pair in zip(*runs.values(), strict=False) for rate in pair),
            stage=f"pair {number // 2 + 1} of {PAIRS}, {'with' if number % 2 else 'without'} it",
            proof=proof_of(compared(known)),
        )  # fmt: skip
        self.post(lambda scene: replace(scene, progress=now))


def _settings(finding: Finding) -> list[tuple[str, str]]:
    return [(one.setting, one.value) for one in finding.wanted]


def _ended(scene: Scene, ids: set[str], state: str) -> Scene:
    """The scene in which these changes are undone, reverted or kept."""
    journal = tuple(
        replace(one, state=state) if one.id in ids and one.state in IN_FORCE else one
        for one in scene.journal
    )
    pending = tuple(one for one in scene.pending if one.id not in ids)
    return replace(scene, journal=journal, pending=pending)
