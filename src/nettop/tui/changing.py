"""Changes asked for by key: shown before they are made, made through journal and guard, taken back.

Without root they go through sudo where it asks for no password, else the line to type is said.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..panes.cores import spread_of
from ..panes.scene import Question, Scene, View
from ..source import Source
from ..text import Line, line
from .kept import ROOTS
from .notes import Post, asked, note

if TYPE_CHECKING:
    from ..changes import Change
    from ..changes import Result as Outcome
    from ..settings import Host
    from .keys import Ask

Wanted = Sequence[tuple[str, str]]
GOOD: Final = frozenset({"applied", "rounded", "unchanged", "undone", "reverted", "void"})
STANDING: Final = frozenset({"applied", "rounded", "pending", "begun"})
CONFIRM: Final = 30.0  # seconds in which a change that may cut the link must be confirmed
ENDING: Final = {"shell": "sh", "sysctl": "conf", "systemd": "txt", "ansible": "yml"}


class Changing:
    """Does to this host what keys ask for; one change at a time."""

    def __init__(
        self, source: Source, post: Post, altered: Callable[[], None], host: Host | None = None
    ) -> None:
        """`altered` is called after anything was written to `host` (else to this machine)."""
        self.source = source
        self.given = host
        self.post = post
        self.altered = altered
        self.busy = threading.Lock()
        self.rooted = False  # something was changed through sudo: root's journal counts too

    def host(self) -> Host:
        """What is written to."""
        if self.given is not None:
            return self.given
        from ..settings import Host

        return Host(source=self.source)

    # -- asked for ---------------------------------------------------------------------------------

    def do_apply(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Apply a finding's changes; those that are offers to test are left to `p`."""
        finding = scene.finding(ask.target)
        if finding is None:
            self.post(note("no finding is under the cursor: choose one in 1 or 5", "warn"))
            return
        sure = [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        if not sure and finding.wanted:
            self.post(note("this is an offer to test, not a certainty: p proves it", "warn"))
            return
        if not sure:
            self.post(note("this finding is advice in words: there is nothing to apply", "warn"))
            return
        self.change(sure, finding.id)

    def do_set(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show what setting one setting to the value typed would do."""
        self.propose(f"Set {ask.target}", [(ask.target, ask.value)])

    def do_spread(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show one core of its node for each interrupt of an interface, in order."""
        name, wanted = spread_of(scene, ask.target)
        if not wanted:
            self.post(note("choose an interface with queues first (i)", "warn"))
            return
        self.propose(f"Spread {len(wanted)} interrupts of {name}", wanted)

    def propose(self, title: str, wanted: Wanted) -> None:
        """Ask with the plan before it is done."""
        from ..changes import owners
        from ..changes.plan import plan

        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("it is so already: nothing to change", "good"))
            return
        doubts = [told for c in changes for told in owners.notes(self.source, c.setting)]
        self.post(
            asked(
                Question(
                    title, (("", tuple(self._told_plan(changes))),), "change",
                    "apply (u takes it back)", tuple((c.setting, c.after) for c in changes),
                    doubts=tuple(dict.fromkeys(doubts))[:3],
                )
            )
        )  # fmt: skip

    def _told_plan(self, changes: Sequence[Change]) -> Iterable[Line]:
        from .. import settings
        from ..panes.advisor import RISKS

        for one in changes:
            address = settings.parse(one.setting)
            risk = settings.risk(address)
            told, role = RISKS.get(risk, (risk, "dim"))
            said = line((f"   {told}", role)) if risk != "none" else ()
            yield (
                line(f" {one.setting}: ", (one.before, "dim"), " → ", (one.after, "strong")) + said
            )
            yield line(("   # ", "dim"), (settings.shell(address, one.after, self.source), "key"))

    def do_persist(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show the files that would keep what is under the cursor over reboots."""
        from ..changes import persist

        finding, wanted = self.meant(ask.target, scene)
        if not wanted:
            self.post(note("nothing under the cursor to keep over reboots", "warn"))
            return
        files = persist.preview(wanted, self.source)
        doubts = persist.doubts(wanted, self.source)
        if not files:
            self.post(note(doubts[0] if doubts else "nothing of it can be kept", "warn"))
            return
        sheets = tuple((path, sheet(text)) for path, text in files.items())
        title = f"Keep over reboots: {len(files)} file{'s' * (len(files) > 1)}"
        question = Question(
            title, sheets, "keep", "apply and write", tuple(wanted), finding, doubts[:3]
        )
        self.post(asked(question))

    def do_export(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what stands (or the finding's plan) as other tools apply it."""
        from ..changes import Change
        from ..changes.export import FORMATS, export
        from ..changes.plan import plan

        if view.pane == "journal":
            changes = tuple(
                Change(m.setting, m.before, m.after)
                for m in scene.journal
                if m.state in STANDING and not m.setting.startswith("kept.")
            )
        else:
            changes = plan(self.meant(ask.target, scene)[1], self.source)
        if not changes:
            self.post(note("nothing to export: no change stands, none is under the cursor", "warn"))
            return
        sheets = []
        for name in FORMATS:
            text, left = export(changes, self.source, name)
            rest = (f"# not expressed: {', '.join(left)}\n",) if left else ()
            sheets.append((name, sheet("".join((text, *rest)))))
        yes = "write the file here"
        self.post(asked(Question("Export", tuple(sheets), "export", yes)))

    def meant(self, target: str, scene: Scene) -> tuple[str, list[tuple[str, str]]]:
        """The finding and settings under the cursor: of a finding, a journal line, a setting."""
        from .. import settings

        finding = scene.finding(target)
        if finding is not None:
            return finding.id, [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        made = next((m for m in scene.journal if m.id == target), None)
        if made is not None:
            return made.finding, [(made.setting, made.after)]
        try:
            return "", [(target, settings.read(self.source, settings.parse(target)))]
        except (LookupError, ValueError, OSError):
            return "", []

    # -- agreed to ---------------------------------------------------------------------------------

    def agree(self, question: Question, name: str) -> None:
        """The question was answered with yes, on its sheet of that name."""
        if question.verb == "export":
            body = next((b for one, b in question.sheets if one == name), ())
            self._write(name, body)
        elif question.verb == "keep":
            self.keep(question.wanted, question.finding)
        else:
            self.change(question.wanted, question.finding)

    def _write(self, name: str, body: Iterable[Line]) -> None:
        import time

        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        path = os.path.abspath(f"nettop-{stamp}.{ENDING.get(name, 'txt')}")
        with open(path, "x", encoding="utf-8") as file:
            file.writelines("".join(text for text, _ in row)[1:] + "\n" for row in body)
        self.post(note(f"written: {path}", "good"))

    def change(self, wanted: Wanted, finding: str) -> tuple[Outcome, ...]:
        """Make the changes still needed, through journal and guard."""
        from .. import settings
        from ..changes import privilege, ssh
        from ..changes.apply import Terms, apply
        from ..changes.journal import Journal
        from ..changes.plan import plan
        from ..session import ssh_peer

        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("it is so already: nothing to change", "good"))
            return ()
        with self.busy:
            if any(privilege.needed(settings.parse(c.setting)) for c in changes):
                return self._as_root(changes, finding)
            terms = Terms(finding, confirm=CONFIRM, carries=ssh.carriers(self.source, ssh_peer()))
            results = apply(changes, self.host(), Journal(), terms)
        self.tell(results)
        return results

    def _as_root(self, changes: Sequence[Change], finding: str, *more: str) -> tuple[Outcome, ...]:
        from ..changes import privilege
        from ..session import ssh_peer

        options = [f"--confirm={CONFIRM:g}", *more]
        options += [f"--finding={finding}"] if finding else []
        peer = ssh_peer()
        options += [f"--ssh-peer={peer}"] if peer else []
        results = privilege.as_root(changes, options)
        self.rooted |= any(r.state != "refused" for r in results)
        self.tell(results)
        return results

    def keep(self, wanted: Wanted, finding: str) -> None:
        """Apply what is not so yet, then write the files that keep it."""
        from .. import settings
        from ..changes import Change, persist, privilege
        from ..changes.journal import Journal
        from ..changes.plan import plan

        if any(privilege.needed(settings.parse(setting)) for setting, _ in wanted):
            before = {c.setting: c.before for c in plan(wanted, self.source)}
            explicit = [Change(s, before.get(s, v), v) for s, v in wanted]
            with self.busy:
                self._as_root(explicit, finding, "--keep")
            return
        made = self.change(wanted, finding) if plan(wanted, self.source) else ()
        if any(r.state == "pending" for r in made):
            self.post(note("not kept yet: c confirms it, then s keeps it", "warn"))
            return
        if any(r.state in ("refused", "conflict") for r in made):
            return
        with self.busy:
            kept = persist.keep(wanted, self.host(), Journal(), finding)
        self.tell(kept)

    # -- taken back, confirmed ---------------------------------------------------------------------

    def do_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Take back the entry under the cursor of the journal, else the newest that stands."""
        from ..changes.journal import Journal
        from ..changes.undo import undo

        standing = [m for m in scene.journal if m.state in STANDING]
        number = ask.target if view.pane == "journal" else ""
        if not number:
            number = max(standing, key=lambda m: m.wall).id if standing else ""
        if not number:
            self.post(note("nothing to undo: the journal has no change that stands", "warn"))
            return
        with self.busy:
            if number.startswith(ROOTS):
                results = self._sudo(["undo", number.removeprefix(ROOTS)])
            else:
                results = undo(Journal(), self.host(), (int(number),))
        self.tell(results)

    def do_confirm(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Keep everything that waits for its confirmation."""
        from ..changes import guard
        from ..changes.journal import Journal

        if not scene.pending:
            self.post(note("no change waits for a confirmation", "warn"))
            return
        if any(one.id.startswith(ROOTS) for one in scene.pending):
            self.tell(self._sudo(["confirm"]))
            return
        self.tell(guard.confirm(Journal()))

    def _sudo(self, words: Sequence[str]) -> tuple[Outcome, ...]:
        from ..changes import privilege

        try:
            return privilege.results(words)
        except OSError as error:
            self.post(note(str(error), "warn"))
            return ()

    def tell(self, results: Iterable[Outcome]) -> None:
        """Say what became of each change; journal and host are read anew."""
        told = False
        for result in results:
            told = True
            self.post(note(*sentence(result)))
        if told:
            self.altered()


def sentence(result: Any) -> tuple[str, str]:
    """What became of a change, and its role."""
    role = "good" if result.state in GOOD else "warn" if result.state == "pending" else "bad"
    after = result.after if result.after is not None else result.wanted
    if result.state == "refused":
        return f"{result.setting}: not changed: {result.because or 'refused'}", role
    because = f" ({result.because})" if result.because else ""
    back = result.state in ("undone", "reverted")
    how = f"back to {after}" if back else f"{result.before} → {after}"
    return f"{result.setting}: {how}: {result.state}{because}", role


def sheet(text: str) -> tuple[Line, ...]:
    """A file's text as lines of a sheet."""
    return tuple(
        line((f" {row}", "dim" if row.lstrip().startswith("#") else ""))
        for row in text.splitlines()
    )
