"""Questions: what a key would write, with commands, risks and other owners.

Nothing is written here. `changing` does exactly what the question holds once it is agreed to.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..panes import pane
from ..panes.clock import when
from ..panes.cores import spread_of
from ..terms.text import Line, line
from ..views.ask import Ask
from ..views.form import values
from ..views.scene import STANDING, Made, Question, Scene, View
from .notes import Post, asked, note

if TYPE_CHECKING:
    from ..changes import Change

Wanted = Sequence[tuple[str, str]]
DOUBTS: Final = 4  # remarks of others that a question shows


class Planning:
    """Turns requests into questions."""

    def __init__(self, source: Source, post: Post) -> None:
        """Reads `source`; posts questions, or a note that says why there is none."""
        self.source = source
        self.post = post

    def do_apply(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show a finding's changes; those that are offers to test are left to `p`."""
        finding = scene.finding(ask.target)
        if finding is None:
            self.post(note("no finding is under the cursor: choose one in 1 or 5", "warn"))
            return
        sure = [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        if not sure and finding.wanted:
            self.post(note("this finding is an experiment: p tests it", "warn"))
            return
        if not sure:
            self.post(note("this finding is advice only: nothing to apply", "warn"))
            return
        self.propose(f"Apply {finding.id}", sure, finding.id)

    def do_set(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show what setting one setting to the value typed would do."""
        if not ask.target:
            self.post(note("no setting is under the cursor: ↑ ↓ choose one", "warn"))
            return
        self.propose(f"Set {ask.target}", [(ask.target, ask.value)])

    def do_spread(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show a plan that gives each interrupt of an interface a core of its node."""
        name, wanted = spread_of(scene, ask.target)
        if not wanted:
            self.post(note("choose an interface with queues first (i)", "warn"))
            return
        self.propose(f"Spread {len(wanted)} interrupts of {name}", wanted)

    def propose(self, title: str, wanted: Wanted, finding: str = "") -> None:
        """Ask with the plan before it is done."""
        from ..changes.plan import plan

        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("already set: nothing to change", "good"))
            return
        self.post(
            asked(
                Question(
                    title, (("", tuple(self.told(changes))),), "change",
                    "apply (u undoes it)", triples(changes), finding, self.doubts(changes),
                    identities=self.identities(changes),
                )
            )
        )  # fmt: skip

    def told(self, changes: Iterable[Change]) -> Iterable[Line]:
        """Each change with its command and its risk."""
        from .. import settings
        from ..panes.advisor import RISKS

        for one in changes:
            address = settings.parse(one.setting)
            risk = settings.risk(address)
            told, role = RISKS.get(risk, (risk, "dim"))
            said = line((f"   {told}", role))
            yield (
                line(f" {one.setting}: ", (one.before, "dim"), " → ", (one.after, "strong")) + said
            )
            yield line(("   # ", "dim"), (settings.shell(address, one.after, self.source), "key"))

    def identities(self, changes: Iterable[Change]) -> tuple[str, ...]:
        """The device or process that each change is about, whatever has its name later."""
        from .. import settings

        return tuple(settings.identity(self.source, settings.parse(c.setting)) for c in changes)

    def doubts(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """Warnings: other owners of these settings, automatic revert, privileges."""
        from .. import settings
        from ..changes import owners, privilege, ssh
        from ..changes.apply import CONFIRM, risky
        from ..host.session import ssh_peer

        addresses = [settings.parse(one.setting) for one in changes]
        out = []
        if any(privilege.needed(address) for address in addresses):
            out.append("not root: applied by sudo where it needs no password")
        carriers = ssh.carriers(self.source, ssh_peer())
        if any(risky(address, carriers) for address in addresses):
            out.append(f"reverts after {CONFIRM:g} s unless confirmed with c")
        out += [told for one in changes for told in owners.notes(self.source, one.setting)]
        return tuple(dict.fromkeys(out))[:DOUBTS]

    def do_persist(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show the files that would persist the settings under the cursor, and changes."""
        from ..changes import persist
        from ..changes.plan import plan

        finding, wanted = self.meant(ask.target, scene)
        if not wanted:
            self.post(note("nothing under the cursor to persist", "warn"))
            return
        files = tuple(persist.preview(wanted, self.source).items())
        doubts = persist.doubts(wanted, self.source)
        if not files:
            self.post(note(doubts[0] if doubts else "nothing here can be persisted", "warn"))
            return
        changes = plan(wanted, self.source)
        body: list[Line] = [*self.told(changes), *([()] if changes else [])]
        for path, text in files:
            body += [line((f" {path}", "head")), *sheet(text)]
        title = f"Persist across reboots: {len(files)} file{'s' * (len(files) > 1)}"
        doubts = tuple(dict.fromkeys((*doubts, *self.doubts(changes))))[:DOUBTS]
        yes = "apply and write" if changes else "write"
        question = Question(
            title, (("", tuple(body)),), "keep", yes, triples(changes), finding, doubts,
            wanted=tuple(wanted), files=files, identities=self.identities(changes),
        )  # fmt: skip
        self.post(asked(question))

    def do_export(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the changes in force, or the plan of the finding, in each export format."""
        from ..changes import Change
        from ..changes.export import export, formats
        from ..changes.plan import plan

        exports = pane(view.pane).exports
        if exports is not None:
            changes = tuple(Change(m.setting, m.before, m.after) for m in exports(scene))
        else:
            changes = plan(self.meant(ask.target, scene)[1], self.source)
        if not changes:
            self.post(note("nothing to export: no change is in force or under the cursor", "warn"))
            return
        sheets = []
        for name in formats():
            text, left = export(changes, self.source, name)
            rest = (f"# not expressed: {', '.join(left)}\n",) if left else ()
            sheets.append((name, sheet("".join((text, *rest)))))
        yes = "write the file here"
        self.post(asked(Question("Export", tuple(sheets), "export", yes, whole=False)))

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

    def do_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the changes that would be undone (see `taken_back`)."""
        found = taken_back(ask.target, view, scene)
        if not found:
            self.post(note("nothing to undo: no change is in force", "warn"))
            return
        body: list[Line] = []
        for newest, *older in steps_back(found):
            made = older[-1] if older else newest
            values = ((newest.after, "dim"), " → ", (made.before, "strong"))
            body += [line(f" {made.setting}: ", *values), *self.command(made)]
            for one in (newest, *older):
                because = one.finding or "by hand"
                body.append(line((f"   change {one.id}, {when(one.wall)}, {because}", "dim")))
                body += [line((f"   {one.since}", "warn"))] if one.since else []
        title = f"Undo {len(found)} change{'s' * (len(found) > 1)}"
        changes = tuple((m.setting, m.after, m.before) for m in found)
        self.post(
            asked(
                Question(
                    title, (("", tuple(body)),), "undo", "undo", changes,
                    entries=tuple(m.id for m in found),
                )
            )
        )  # fmt: skip

    def command(self, made: Made) -> list[Line]:
        """The command that reverts a change; none where there is none."""
        from .. import settings

        try:
            told = settings.shell(settings.parse(made.setting), made.before, self.source)
        except (LookupError, ValueError, OSError):
            return []
        return [line(("   # ", "dim"), (told, "key"))]

    def do_mute(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Ask before a finding is muted or unmuted."""
        from ..config import user_folder

        name = ask.target
        if name in scene.mutes:
            told = f" {name} is listed again where it holds"
            question = Question(f"Unmute {name}", (("", (line(told),)),), "unmute", "unmute it",
                                finding=name)  # fmt: skip
        elif scene.finding(name) is None or "\n" in name:
            self.post(note("no finding is under the cursor", "warn"))
            return
        else:
            body = (
                line(f" {name} is still judged, and listed as muted only"),
                line((f" a line in {user_folder() / 'muted'}; m on it (M) unmutes it", "dim")),
            )
            question = Question(f"Mute {name}", (("", body),), "mute", "mute it", finding=name)
        self.post(asked(question))

    def do_prove(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what a proof would write, with the address and peer of the form."""
        from ..changes.plan import plan

        finding = scene.finding(ask.target)
        if finding is None or not finding.wanted:
            self.post(note("nothing under the cursor to prove: choose a finding in 1 or 5", "warn"))
            return
        form = values(view)
        if os.geteuid() != 0:
            words = ["sudo", "nettop", "prove", finding.id, "--to", form["to"] or "ADDRESS"]
            words += ["--peer", form["peer"]] if form["peer"] else []
            self.post(note(f"not root; type: {shlex.join(words)}", "warn"))
            return
        if not form["to"]:
            self.post(note("a proof needs the address of the peer", "warn"))
            return
        wanted = tuple((w.setting, w.value) for w in finding.wanted)
        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("already set: nothing to compare", "warn"))
            return
        peer = f" ({form['peer']})" if form["peer"] else ""
        body = (
            *self.told(changes),
            line(f" Set and reverted in turn, with tests to {form['to']}{peer} in between."),
            line((" Kept only when significantly better; Ctrl-X stops and reverts.", "dim")),
        )
        self.post(
            asked(
                Question(
                    f"Prove {finding.id}", (("", body),), "prove", "start (Ctrl-X stops)",
                    triples(changes), finding.id, self.doubts(changes), wanted=wanted,
                    identities=self.identities(changes),
                )
            )
        )  # fmt: skip


def taken_back(target: str, view: View, scene: Scene) -> list[Made]:
    """The changes that `u` undoes, newest first.

    Those that the pane names (journal: the one under the cursor; a finding that is done: those made
    for it), else the pending ones, else the newest in force.
    """
    undoes = pane(view.pane).undoes
    found = undoes(scene, target) if undoes is not None else None
    if found is not None:
        return found
    standing = sorted((m for m in scene.journal if m.state in STANDING), key=lambda m: -m.wall)
    waiting = {one.id for one in scene.pending}
    return [m for m in standing if m.id in waiting] or standing[:1]


def steps_back(found: Iterable[Made]) -> list[list[Made]]:
    """The changes, newest first, as they are undone: those of one setting in one write."""
    steps: list[list[Made]] = []
    for made in found:
        same = (step for step in steps if step[-1].setting == made.setting)
        step = next((step for step in same if step[-1].before == made.after), None)
        if step is None:
            steps.append([made])
        else:
            step.append(made)
    return steps


def triples(changes: Iterable[Change]) -> tuple[tuple[str, str, str], ...]:
    """Changes as a question holds them."""
    return tuple((one.setting, one.before, one.after) for one in changes)


def sheet(text: str) -> tuple[Line, ...]:
    """A file's text as lines of a sheet."""
    return tuple(
        line((f" {row}", "dim" if row.lstrip().startswith("#") else ""))
        for row in text.splitlines()
    )
