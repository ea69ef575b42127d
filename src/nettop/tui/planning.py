"""What a key would write, as a question: settings, before and after, commands, risks, owners.

Nothing is written here. What the question holds is what `changing` does when it is agreed to.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..host.source import Source
from ..panes import listed
from ..panes.clock import when
from ..panes.cores import spread_of
from ..panes.tests import values
from ..terms.text import Line, line
from ..views.scene import STANDING, Made, Question, Scene, View
from .notes import Post, asked, note

if TYPE_CHECKING:
    from ..changes import Change
    from .keys import Ask

Wanted = Sequence[tuple[str, str]]
DOUBTS: Final = 4  # remarks of others that a question shows


class Planning:
    """Turns what keys ask for into questions."""

    def __init__(self, source: Source, post: Post) -> None:
        """Reads `source`; posts questions, and why there is none."""
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
            self.post(note("this is an offer to test, not a certainty: p proves it", "warn"))
            return
        if not sure:
            self.post(note("this finding is advice in words: there is nothing to apply", "warn"))
            return
        self.propose(f"Apply {finding.id}", sure, finding.id)

    def do_set(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show what setting one setting to the value typed would do."""
        if not ask.target:
            self.post(note("no setting is under the cursor: ↑ ↓ choose one", "warn"))
            return
        self.propose(f"Set {ask.target}", [(ask.target, ask.value)])

    def do_spread(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show one core of its node for each interrupt of an interface, in order."""
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
            self.post(note("it is so already: nothing to change", "good"))
            return
        self.post(
            asked(
                Question(
                    title, (("", tuple(self.told(changes))),), "change",
                    "apply (u takes it back)", triples(changes), finding, self.doubts(changes),
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

    def doubts(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """Who else owns these settings, what reverts by itself, whether it needs another user."""
        from .. import settings
        from ..changes import owners, privilege, ssh
        from ..changes.apply import CONFIRM, risky
        from ..host.session import ssh_peer

        addresses = [settings.parse(one.setting) for one in changes]
        out = []
        if any(privilege.needed(address) for address in addresses):
            out.append("not root: this is done by sudo where it asks for no password")
        carriers = ssh.carriers(self.source, ssh_peer())
        if any(risky(address, carriers) for address in addresses):
            out.append(f"goes back by itself after {CONFIRM:g} s unless c keeps it")
        out += [told for one in changes for told in owners.notes(self.source, one.setting)]
        return tuple(dict.fromkeys(out))[:DOUBTS]

    def do_persist(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show the files that would keep what is under the cursor, and what is changed now."""
        from ..changes import persist
        from ..changes.plan import plan

        finding, wanted = self.meant(ask.target, scene)
        if not wanted:
            self.post(note("nothing under the cursor to keep over reboots", "warn"))
            return
        files = tuple(persist.preview(wanted, self.source).items())
        doubts = persist.doubts(wanted, self.source)
        if not files:
            self.post(note(doubts[0] if doubts else "nothing of it can be kept", "warn"))
            return
        changes = plan(wanted, self.source)
        body: list[Line] = [*self.told(changes), *([()] if changes else [])]
        for path, text in files:
            body += [line((f" {path}", "head")), *sheet(text)]
        title = f"Keep over reboots: {len(files)} file{'s' * (len(files) > 1)}"
        doubts = tuple(dict.fromkeys((*doubts, *self.doubts(changes))))[:DOUBTS]
        yes = "apply and write" if changes else "write"
        question = Question(
            title, (("", tuple(body)),), "keep", yes, triples(changes), finding, doubts,
            wanted=tuple(wanted), files=files,
        )  # fmt: skip
        self.post(asked(question))

    def do_export(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what stands (or the finding's plan) as other tools apply it."""
        from ..changes import Change
        from ..changes.export import export, formats
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
        """Show what would be taken back (see `taken_back`)."""
        found = taken_back(ask.target, view, scene)
        if not found:
            self.post(note("nothing to undo: the journal has no change that stands", "warn"))
            return
        body: list[Line] = []
        for made in found:
            values = ((made.after, "dim"), " → ", (made.before, "strong"))
            body += [line(f" {made.setting}: ", *values), *self.command(made)]
            because = made.finding or "by hand"
            body.append(line((f"   change {made.id}, {when(made.wall)}, {because}", "dim")))
            body += [line((f"   {made.since}", "warn"))] if made.since else []
        title = f"Take back {len(found)} change{'s' * (len(found) > 1)}"
        changes = tuple((m.setting, m.after, m.before) for m in found)
        self.post(
            asked(
                Question(
                    title, (("", tuple(body)),), "undo", "take it back", changes,
                    entries=tuple(m.id for m in found),
                )
            )
        )  # fmt: skip

    def command(self, made: Made) -> list[Line]:
        """The command that takes a change back; none where an expert has none."""
        from .. import settings

        try:
            told = settings.shell(settings.parse(made.setting), made.before, self.source)
        except (LookupError, ValueError, OSError):
            return []
        return [line(("   # ", "dim"), (told, "key"))]

    def do_mute(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Ask whether a finding shall not be shown any more, or shown again."""
        from ..config import user_folder

        name = ask.target
        if name in scene.mutes:
            told = f" {name} is shown again where it holds"
            question = Question(f"Unmute {name}", (("", (line(told),)),), "unmute", "show it again",
                                finding=name)  # fmt: skip
        elif scene.finding(name) is None or "\n" in name:
            self.post(note("no finding is under the cursor", "warn"))
            return
        else:
            body = (
                line(f" {name} is judged as ever and listed as muted only"),
                line((f" a line in {user_folder() / 'muted'}; m on it (M) shows it again", "dim")),
            )
            question = Question(f"Mute {name}", (("", body),), "mute", "mute it", finding=name)
        self.post(asked(question))

    def do_prove(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show what a proof would write in turn, with the address and peer of the form."""
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
            self.post(note("a proof needs the other end's address", "warn"))
            return
        wanted = tuple((w.setting, w.value) for w in finding.wanted)
        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("it is so already: there is nothing to compare", "warn"))
            return
        peer = f" ({form['peer']})" if form["peer"] else ""
        body = (
            *self.told(changes),
            line(f" Set and put back in turn, with tests to {form['to']}{peer} in between."),
            line(
                (" Kept only when it is better beyond doubt; Ctrl-X stops, all goes back.", "dim")
            ),
        )
        self.post(
            asked(
                Question(
                    f"Prove {finding.id}", (("", body),), "prove", "start (Ctrl-X stops)",
                    triples(changes), finding.id, self.doubts(changes), wanted=wanted,
                )
            )
        )  # fmt: skip


def taken_back(target: str, view: View, scene: Scene) -> list[Made]:
    """The changes that `u` takes back, newest first.

    In the journal the one under the cursor; of a finding that is done, those made for it; else what
    waits for its confirmation, else the newest that stands.
    """
    if view.pane == "journal":
        return [m for m in scene.journal if m.id == target and m.state in STANDING]
    done = next((one for one in listed.listed(scene) if one.id == target and one.changes), None)
    if done is not None and view.pane in ("advisor", "overview"):
        return list(done.changes)
    standing = sorted((m for m in scene.journal if m.state in STANDING), key=lambda m: -m.wall)
    waiting = {one.id for one in scene.pending}
    return [m for m in standing if m.id in waiting] or standing[:1]


def triples(changes: Iterable[Any]) -> tuple[tuple[str, str, str], ...]:
    """Changes as a question holds them."""
    return tuple((one.setting, one.before, one.after) for one in changes)


def sheet(text: str) -> tuple[Line, ...]:
    """A file's text as lines of a sheet."""
    return tuple(
        line((f" {row}", "dim" if row.lstrip().startswith("#") else ""))
        for row in text.splitlines()
    )
