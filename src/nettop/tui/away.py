"""Changes at the host of --host by the nettop that is installed there.

Each is a connection of its own, which cannot ask for a password. The question shows the plan that
the nettop there made; it writes exactly that, into its own journal, under its own guard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from .. import settings
from ..changes import Result as Outcome
from ..changes import privilege
from ..changes.remote import AbsentError, Document, Remote, value_of
from ..host.source import Batches, HostLostError, Source
from ..terms.errors import sentence
from ..terms.text import Line, line, safe
from ..views.ask import Ask
from ..views.kept import PEERS
from ..views.scene import JournalEntry, Pending, Question, Scene
from ..views.view import View
from . import remote
from .changing import CONFIRM, changes_of, sentences
from .notes import Post, Update, ask_question, brief, note
from .planning import WARNINGS, Planning, Wanted, changeable, values_line
from .remote import Proving

VERBS: Final = frozenset({"agree", "apply", "confirm", "persist", "prove", "set", "spread", "undo"})


class Away:
    """Carries out the requests of VERBS at another host."""

    def __init__(
        self, source: Source, batches: Batches, post: Post, altered: Callable[[], None],
        proving: Proving, peer: str = "", binary: str = "",
    ) -> None:  # fmt: skip
        """`altered` is called after a change. `peer`: the name of the host of --peer.

        `binary`: the one file that may be installed there, if there is one here.
        """
        self.peer = peer
        self.binary = binary
        self.proving = proving
        self.mark = PEERS if peer else ""  # before the numbers of its journal
        self.source = source
        self.batches = batches
        self.post = post
        self.altered = altered
        self.used = False  # whether it was used: then the screen shows the journal there
        self.asked = bool(binary)  # whether there is a nettop; one file can be installed
        self.entries: tuple[JournalEntry, ...] = ()  # of that journal, as read last
        self._remote: Remote | None = None
        self._then: Callable[[], None] | None = None  # what a nettop is installed there for

    @property
    def remote(self) -> Remote:
        """The nettop there."""
        if self._remote is None or self._remote.root != self.batches.root:
            self._remote = Remote(self.batches.prefix, root=self.batches.root)
        return self._remote

    def _there(
        self, work: Callable[[], None], cure: str = ": y copies the command, x shows it as a script"
    ) -> None:
        """Do it; where there is no nettop, ask whether to install it for that, or say the cure."""
        try:
            work()
        except AbsentError as error:
            from ..host import once
            from . import remote

            if not self.binary:
                self._say(f"{error}{cure}", "warn")
                return
            try:
                one = once.file(self.binary)
            except (OSError, ValueError) as unusable:
                self._say(f"{error}; {sentence(unusable)}", "bad")
                return
            self._then = work
            self.post(
                ask_question(remote.installing(str(error), one, self.batches.name, self.peer))
            )

    def ask(self) -> None:
        """Find out whether there is a nettop: if not, no key is offered that needs it."""
        if self.remote.absent():
            self.post(lambda old: replace(old, absent=old.absent | {self.peer}))

    def propose(self, title: str, wanted: Wanted, finding: str = "") -> None:
        """Show the plan of the nettop there and ask; a note if nothing would change."""

        def work() -> None:
            question = self._question(title, wanted, finding)
            if question is not None:
                self.post(ask_question(question))

        self._there(work)

    def _question(
        self, title: str, wanted: Wanted, finding: str, *, proved: bool = False
    ) -> Question | None:
        """The question with the plan of the nettop there; None after a note that says why not."""
        self._say("asking the nettop there for its plan", "dim")  # takes seconds, or much longer
        try:
            # two fixes of a finding may set the same
            results, notes = self.remote.plan(tuple(dict.fromkeys(wanted)), CONFIRM)
        except AbsentError:
            raise
        except OSError as error:
            self._say(f"{error}; y copies the command", "bad")
            return None
        self.used = True
        refused = [one for one in results if one.state not in ("planned", "unchanged")]
        planned = [one for one in results if one.state == "planned"]
        if refused:
            for text, role in sentences(refused):
                self.post(note(text, role))
        elif not planned:
            self.post(note("already set: nothing to change", "good"))
        else:
            return self._asking(title, planned, finding, notes, proved=proved)
        return None

    def _asking(
        self, title: str, planned: Sequence[Outcome], finding: str, notes: Sequence[str],
        *, proved: bool,
    ) -> Question:  # fmt: skip
        if proved:  # it is reverted after each run in any case
            planned = [replace(one, because="") for one in planned]
        rows = [row for one in planned for row in lines(one)]
        there = f"written by the nettop at {self.peer or self.batches.name}"
        warnings = (brief(there, self.batches.name), *notes)
        known = [settings.parse(one.setting) for one in planned]
        return Question(
            title if self.peer else f"{title} at {self.source.host}", (("", tuple(rows)),),
            "change",
            "apply there (u undoes it)",
            tuple((one.setting, one.before, one.wanted) for one in planned), finding,
            warnings[:WARNINGS],
            identities=tuple(settings.identity(self.source, address) for address in known),
            host=self.peer,
        )  # fmt: skip

    def do_prove(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what a proof would set there, and between which hosts it would test."""
        finding = changeable(ask.target, view, scene, self.post, "prove")
        if finding is None:
            return
        if finding.rule.startswith("capture-"):
            own = finding.id.removesuffix(f" at {self.peer}")
            command = f"{self.remote.way} prove {own} --to ADDRESS"
            self.post(note(f"a capture is tested at its own host: {command}", "warn"))
            return
        form = self.proving.form(view, scene, finding)
        if not form["to"]:
            self.post(note("a proof needs the address of the peer", "warn"))
            return
        wanted = [(one.setting, one.value) for one in finding.wanted]
        steps = scene.steps(finding.id)
        copied = steps[0].shell or steps[0].setting if steps else "its command"

        def work() -> None:
            applying = self._question(f"Prove: {finding.title}", wanted, finding.id, proved=True)
            if applying is not None:
                host = self.peer or self.source.host
                self.post(ask_question(remote.proving(applying, host, form)))

        self._there(work, f", so p cannot test there; y copies the command: {copied}")

    def _prove(self, question: Question, finding: str, scene: Scene) -> None:
        """Run the proof that the question showed; then journal and host are read again."""
        from ..trials.elsewhere import Elsewhere

        known, changes = scene.finding(question.finding), changes_of(question)
        shells = [settings.shell(one.address, one.after, self.source) for one in changes]
        self.proving.bench.prove(
            question.finding, question.wanted, dict(question.form),
            known.predicted if known is not None else None,
            Elsewhere(self.remote, changes, finding, shells),
        )  # fmt: skip
        self.altered()

    def do_agree(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Do there what the question showed."""
        question = scene.question
        if question is None:
            return
        finding = question.finding.removesuffix(f" at {self.peer}")
        if question.verb == "install":
            self._install()
        elif question.verb == "undo":
            options = privilege.options(CONFIRM)
            numbers = [one.removeprefix(self.mark) for one in question.entries]
            self._report(lambda: self.remote.undo(numbers, options))
        elif question.verb == "keep":
            self._report(remote.keep(question, changes_of(question), self.remote, finding))
        elif question.verb == "prove":
            self._prove(question, finding, scene)
        elif question.verb == "change":
            options = privilege.options(CONFIRM, finding=finding)
            self._report(lambda: self.remote.change(changes_of(question), options))

    def _install(self) -> None:
        """Install the file there, then go on with what it was wanted for."""
        from ..host import once

        then, self._then = self._then, None
        self._say(f"installing nettop at {self.batches.name}: sends the file", "dim")
        try:
            paths = once.install(self.batches.prefix, once.file(self.binary))
        except (HostLostError, OSError, ValueError) as error:
            self._say(sentence(error), "bad")
            return
        self._say(f"{self.batches.name}: installed in {' and '.join(paths)}", "good")
        if then is not None:
            self._there(then)

    def do_persist(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show the files there that would make the settings persistent."""

        def work() -> None:
            remote.propose(ask, scene, self.source, self.remote, self.post, self.peer)
            self.used = True

        self._there(work)

    def do_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Read the journal there, then ask as for a change of this host."""

        def work() -> None:
            entries, pending = self.journal()
            self.post(lambda old: replace(old, journal=entries, pending=pending))
            self.ask_undo(ask, view, replace(scene, journal=entries, pending=pending))

        self._there(work, "")

    def ask_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Ask as for a change of this host; the journal of the scene is that of the host there."""

        def post(update: Update) -> None:
            self.post(lambda old: _of(update(old), self.peer))

        Planning(self.source, post).do_undo(ask, view, scene)

    def do_confirm(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Confirm there the pending changes that were on the screen, and no others."""
        if not scene.pending:
            self.post(note("no change waits for a confirmation", "warn"))
        self.confirm(scene.pending)

    def confirm(self, pending: Sequence[Pending]) -> None:
        """Confirm these there."""
        for one in pending:
            number = one.id.removeprefix(self.mark)
            self._report(lambda number=number: self.remote.confirm(number))  # type: ignore[misc]

    def _report(self, work: Callable[[], Sequence[Outcome]]) -> None:
        """A note for each result; then journal and host are read again."""
        try:
            for text, role in sentences(work()):
                self.post(note(f"{self.peer}: {text}" if self.peer else text, role))
        except OSError as error:
            self._say(str(error), "bad")
        self.altered()

    def _say(self, text: str, role: str) -> None:
        """A note; the name of the host in place of a long prefix."""
        self.post(note(brief(text, self.batches.name), role))

    def journal(self) -> tuple[tuple[JournalEntry, ...], tuple[Pending, ...]]:
        """The journal there; OSError."""
        documents = self.remote.journal()
        self.used = True
        later = time.time() - self.source.wall() if self.peer else 0.0  # the clocks differ
        try:
            entries = tuple(self._entry(one, later) for one in documents)
            pending = tuple(
                Pending(
                    self.mark + _text(one, "id"),
                    _text(one, "setting"),
                    float(str(one["deadline"])) + later,
                    self.remote.way,
                )
                for one in documents
                if one["state"] == "pending" and one.get("deadline") is not None
            )
        except (KeyError, TypeError, ValueError):
            raise OSError(f"{self.batches.name} sent an invalid journal") from None
        self.entries = entries
        return entries, pending

    def _entry(self, one: Document, later: float) -> JournalEntry:
        """One entry; KeyError, TypeError or ValueError if it is none.

        At the host of --peer it has the time of this host's clock, which is `later`.
        """
        entry = replace(_entry(one), way=self.remote.way)
        if not self.peer:
            return entry
        finding = f"{entry.finding} at {self.peer}" if entry.finding else ""
        wall = entry.wall + later
        return replace(entry, id=self.mark + entry.id, wall=wall, finding=finding, host=self.peer)


def _of(scene: Scene, peer: str) -> Scene:
    """The scene whose question is about the host of --peer, if it has one."""
    question = scene.question
    if not peer or question is None:
        return scene
    named = replace(question, host=peer, title=f"{question.title} at {peer}")
    return scene if question.host else replace(scene, question=named)


def lines(result: Outcome) -> tuple[Line, ...]:
    """A planned change: values and risk, the equivalent command, and what it costs."""
    rows: tuple[Line, ...] = (
        values_line(result.setting, result.before, result.wanted),
        line(("   # ", "dim"), (result.shell, "key")),
    )
    return (*rows, line((f"   {result.because}", "warn"))) if result.because else rows


def _entry(one: Document) -> JournalEntry:
    """One entry; KeyError, TypeError or ValueError if it is none."""
    after = one.get("after", one["wanted"])
    return JournalEntry(
        _text(one, "id"), float(str(one["time"])), _text(one, "setting"), value_of(one["before"]),
        value_of(after), _text(one, "state"), _text(one, "finding"), _text(one, "who"),
        _text(one, "because"), _text(one, "since"), test=_text(one, "keeper"),
    )  # fmt: skip


def _text(one: Document, key: str) -> str:
    return safe(str(one.get(key, "")))[:2000]
