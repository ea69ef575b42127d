"""Questions: what a key would write, with commands, risks and other owners of the settings.

Nothing is written here. After the user has agreed, `changing` writes exactly what the question has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .. import settings
from ..changes import Change, risk
from ..changes.plan import plan
from ..host.source import Source
from ..panes import pane
from ..panes.listed import made_for
from ..panes.parts import RISKS, when
from ..terms.text import Line, line
from ..terms.units import many
from ..views.ask import Ask
from ..views.kept import PEERS, exportable
from ..views.scene import JournalEntry, Question, Scene
from ..views.view import View
from .notes import Post, ask_question, no_finding, no_setting, note

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding

Wanted = Sequence[tuple[str, str]]
Propose = Callable[[str, Wanted, str], None]
WARNINGS: Final = 4  # that a question shows


def changeable(name: str, view: View, scene: Scene, post: Post, verb: str) -> Finding | None:
    """The finding of this id if it has settings to `verb` (apply, prove); else None and a note."""
    finding = scene.finding(name)
    if finding is None:
        post(note(no_finding(view, scene), "warn"))
    elif not finding.wanted:
        post(note(f"this finding is advice only: nothing to {verb}", "warn"))
        return None
    return finding


class Planning:
    """Makes questions of requests."""

    def __init__(self, source: Source, post: Post, away: Propose | None = None) -> None:
        """Read `source`; post questions, or a note that says why there is none.

        `away` proposes the changes of another host, by title, settings and finding.
        """
        self.source = source
        self.post = post
        self.away = away

    def do_apply(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the changes of a finding, without those that are experiments (key `p`)."""
        finding = changeable(ask.target, view, scene, self.post, "apply")
        if finding is None:
            return
        sure = [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        if not sure:
            self.post(note("not sure to help: p tests it, a is not offered", "warn"))
            return
        self.propose(f"Apply: {finding.title}", sure, scene, finding=finding)

    def do_set(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the change of one setting to the typed value; without a setting say why not."""
        if not ask.target:
            self.post(note(ask.value or no_setting(view, scene), "warn"))
            return
        from ..views.condemned import doubts

        wanted = [(ask.target, ask.value)]
        told = doubts(self.source, wanted, scene.facts) if self.away is None else ()
        self.propose(f"Set {ask.target}", wanted, scene, doubts=told)

    def do_spread(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show a plan that gives each interrupt of an interface a core of the NIC's node."""
        name, wanted = spread_of(scene, ask.target)
        if not wanted:
            self.post(note("choose an interface with queues first (i)", "warn"))
            return
        self.propose(f"Spread {len(wanted)} interrupts of {name}", wanted, scene)

    def propose(
        self, title: str, wanted: Wanted, scene: Scene, *, finding: Finding | None = None,
        doubts: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Show the plan of these settings and ask; a note if they wait, or nothing would change."""
        name, host = (finding.id, finding.host) if finding is not None else ("", "")
        if waits := unconfirmed(wanted, scene, host):
            self.post(note(waits, "warn"))
            return
        if self.away is not None:
            self.away(title, wanted, name)
            return
        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("already set: nothing to change", "good"))
            return
        warnings = (*doubts, *self.warnings(changes))[:WARNINGS]
        question = Question(
            title, (("", tuple(self.lines(changes))),), "change",
            "apply (u undoes it)", triples(changes), name, warnings,
            identities=self.identities(changes),
        )  # fmt: skip
        self.post(ask_question(question))

    def lines(self, changes: Iterable[Change]) -> Iterable[Line]:
        """Two lines for each change: values and risk, and the equivalent command."""
        for change in changes:
            yield values_line(change.setting, change.before, change.after)
            shell = settings.shell(change.address, change.after, self.source)
            yield line(("   # ", "dim"), (shell, "key"))

    def identities(self, changes: Iterable[Change]) -> tuple[str, ...]:
        """The device or process that each change is about, whatever has its name later."""
        return tuple(settings.identity(self.source, settings.parse(c.setting)) for c in changes)

    def warnings(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """Warnings: other owners of these settings, automatic revert, privileges."""
        from ..changes import owners, privilege

        addresses = [settings.parse(one.setting) for one in changes]
        out = []
        if any(privilege.needed(address) for address in addresses):
            out.append("not root: applied by sudo if it needs no password")
        out += self.reverting(addresses)
        out += [text for one in changes for text in owners.notes(self.source, one.setting)]
        for address, one in zip(addresses, changes, strict=True):
            out += settings.warns(self.source, address, one.after)
        return tuple(dict.fromkeys(out))[:WARNINGS]

    def reverting(self, addresses: Iterable[settings.Address]) -> list[str]:
        """The warning that changes, or an undo, revert unless they are confirmed; [] without."""
        from ..changes import ssh
        from ..changes.apply import CONFIRM, reverts
        from ..host.session import ssh_peer

        known = tuple(addresses)
        carriers = ssh.carriers(self.source, ssh_peer()) if self.source.live else ()
        within = f"after {CONFIRM:g} s unless confirmed with c"
        told = reverts(known, carriers, within)
        devices = [] if self.source.live else [d for one in known if (d := settings.device(one))]
        if devices and not told:  # the host itself knows by which one its session comes
            told = f"reverts {within} if {devices[0]} carries the session there"
        return [told] if told else []

    def do_persist(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Show the files that would make the settings persistent, and the changes they need."""
        from ..changes import persist

        finding, wanted = self.settings_under(ask.target, scene)
        if not wanted:
            self.post(note("nothing under the cursor to persist", "warn"))
            return
        files = tuple(persist.preview(wanted, self.source).items())
        warnings = persist.doubts(wanted, self.source)
        if not files or all(persist.doubts([one], self.source) for one in wanted):
            self.post(note(warnings[0] if warnings else "nothing here can be persisted", "warn"))
            return
        changes = plan(wanted, self.source)
        body: list[Line] = [*self.lines(changes), *([()] if changes else [])]
        body += sheets(files)
        title = f"Persist across reboots: {many(len(files), 'files')}"
        warnings = tuple(dict.fromkeys((*warnings, *self.warnings(changes))))[:WARNINGS]
        yes = "apply and write" if changes else "write"
        question = Question(
            title, (("", tuple(body)),), "keep", yes, triples(changes), finding, warnings,
            wanted=tuple(wanted), files=files, identities=self.identities(changes),
        )  # fmt: skip
        self.post(ask_question(question))

    def do_export(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the plan of the finding, else the changes in force, in each export format."""
        from ..changes.export import export, formats

        exports = pane(view.pane).exports
        if exports is not None:
            changes = tuple(Change(e.setting, e.before, e.after) for e in exports(scene))
        else:
            changes = plan(self.settings_under(ask.target, scene)[1], self.source)
        if not changes:  # a finding that is done: what was made for it
            undoes = pane(view.pane).undoes
            made = undoes(scene, ask.target) if undoes is not None else None
            made = made or exportable(scene.journal)
            changes = tuple(Change(e.setting, e.before, e.after) for e in made)
        if not changes:
            self.post(note("nothing to export: no change is in force or under the cursor", "warn"))
            return
        sheets = []
        for name in formats():
            text, left = export(changes, self.source, name)
            text += f"# not expressed: {', '.join(left)}\n" if left else ""
            sheets.append((name, sheet(text)))
        yes = "write the file here"
        self.post(ask_question(Question("Export", tuple(sheets), "export", yes, whole=False)))

    def settings_under(self, target: str, scene: Scene) -> tuple[str, list[tuple[str, str]]]:
        """The finding and settings of the row under the cursor.

        The row is a finding, a journal entry or a setting; for any other row there are none.
        """
        finding = scene.finding(target)
        if finding is not None:
            return finding.id, [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        entry = next((entry for entry in scene.journal if entry.id == target), None)
        if entry is not None:
            return entry.finding, [(entry.setting, entry.after)]
        try:
            return "", [(target, settings.read(self.source, settings.parse(target)))]
        except (LookupError, ValueError, OSError):
            return "", []

    def do_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Show the changes that would be undone (see `to_undo`)."""
        entries = to_undo(ask.target, view, scene)
        if not entries:
            self.post(note(none_to_undo(scene), "warn"))
            return
        if elsewhere := next((one.since for one in entries if one.space), ""):
            self.post(note(elsewhere, "warn"))
            return
        body: list[Line] = []
        for newest, *older in steps_back(entries):
            entry = older[-1] if older else newest
            values = ((newest.after, "dim"), " → ", (entry.before, "strong"))
            body += [line(f" {entry.setting}: ", *values), *self.command(entry)]
            for one in (newest, *older):
                because = one.finding or "by hand"
                body.append(line((f"   change {one.id}, {when(one.wall)}, {because}", "dim")))
                body += [line((f"   {one.since}", "warn"))] if one.since else []
        title = f"Undo {many(len(entries), 'changes')}"
        changes = tuple((entry.setting, entry.after, entry.before) for entry in entries)
        ids = tuple(entry.id for entry in entries)
        question = Question(
            title, (("", tuple(body)),), "undo", "undo", changes, warnings=self.undoing(entries),
            entries=ids,
        )  # fmt: skip
        self.post(ask_question(question))

    def undoing(self, entries: Iterable[JournalEntry]) -> tuple[str, ...]:
        """The warning of an undo that must be confirmed; a pending change is reverted at once."""
        addresses = []
        for entry in entries:
            with suppress(LookupError):
                addresses += [] if entry.state == "pending" else [settings.parse(entry.setting)]
        return tuple(self.reverting(addresses))

    def command(self, entry: JournalEntry) -> list[Line]:
        """The line with the command that reverts a change; [] if there is no such command."""
        try:
            shell = settings.shell(settings.parse(entry.setting), entry.before, self.source)
        except (LookupError, ValueError, OSError):
            return []
        return [line(("   # ", "dim"), (shell, "key"))]

    def do_mute(self, ask: Ask, view: View, scene: Scene) -> None:
        """Ask before a finding is muted or unmuted."""
        from ..config import user_folder

        name = ask.target
        if name in scene.mutes:
            text = line(f" {name} is listed again when it holds")
            question = Question(f"Unmute {name}", (("", (text,)),), "unmute", "unmute it",
                                finding=name)  # fmt: skip
        elif scene.finding(name) is None or "\n" in name:
            self.post(note(no_finding(view, scene), "warn"))
            return
        else:
            body = (
                line(f" {name} is still evaluated, but listed as muted"),
                line((f" a line in {user_folder() / 'muted'}; m on it (M) unmutes it", "dim")),
            )
            question = Question(f"Mute {name}", (("", body),), "mute", "mute it", finding=name)
        self.post(ask_question(question))


def unconfirmed(wanted: Wanted, scene: Scene, host: str = "") -> str:
    """Why these settings cannot be changed now: one of them waits to be confirmed; else empty.

    A second change would have a time of its own, and the first one would revert what it was made
    on. `host`: the other end of the flows, where it is meant.
    """
    names = {setting for setting, _ in wanted}
    for one in scene.pending:
        if one.setting in names and one.id.startswith(PEERS) == bool(host):
            left = f"{scene.left(one):.0f} s left"
            return f"{one.setting} waits to be confirmed ({left}): first c keeps it, or u undoes it"
    return ""


def risk_text(risk: str) -> Line:
    """The risk of a change in words."""
    text, role = RISKS.get(risk, (risk, "dim"))
    return line((f"   {text}", role))


def values_line(setting: str, before: str, after: str) -> Line:
    """A planned change: both values, and its risk."""
    values = ((before, "dim"), " → ", (after, "strong"))
    return line(f" {setting}: ", *values, *risk_text(risk(setting) or "none"))


def to_undo(target: str, view: View, scene: Scene) -> list[JournalEntry]:
    """The changes that `u` undoes, newest first.

    Those that the pane names (journal: the one under the cursor; a finding: those made for it);
    else the pending ones; else the newest in force, with the others made for the same finding.
    """
    undoes = pane(view.pane).undoes
    chosen = undoes(scene, target) if undoes is not None else None
    if chosen is not None:
        return chosen
    in_force = sorted((e for e in scene.journal if e.in_force), key=lambda e: -e.wall)
    pending = {one.id for one in scene.pending}
    waiting = [entry for entry in in_force if entry.id in pending]
    if waiting or not in_force:
        return waiting
    newest = in_force[0]
    same = made_for(newest.finding, scene) if newest.finding else ()
    return [newest, *(one for one in same if one is not newest)]


def none_to_undo(scene: Scene) -> str:
    """Why `u` undoes nothing here."""
    if any(entry.in_force for entry in scene.journal):
        return "this change is not in force: move to one with ● or ◆"
    if any(entry.space for entry in scene.journal):
        return "nothing to undo in this namespace"
    return "nothing to undo: no change is in force"


def steps_back(entries: Iterable[JournalEntry]) -> list[list[JournalEntry]]:
    """The changes, newest first, as they are undone: those of one setting in one write."""
    steps: list[list[JournalEntry]] = []
    for entry in entries:
        same = (step for step in steps if step[-1].setting == entry.setting)
        step = next((step for step in same if step[-1].before == entry.after), None)
        if step is None:
            steps.append([entry])
        else:
            step.append(entry)
    return steps


def triples(changes: Iterable[Change]) -> tuple[tuple[str, str, str], ...]:
    """Setting, before and after of each change."""
    return tuple((one.setting, one.before, one.after) for one in changes)


def sheet(text: str) -> tuple[Line, ...]:
    """A file's text as lines of a sheet."""
    return tuple(
        line((f" {row}", "dim" if row.lstrip().startswith("#") else ""))
        for row in text.splitlines()
    )


def sheets(files: Iterable[tuple[str, str]]) -> list[Line]:
    """The files as lines, each below its path."""
    return [row for path, text in files for row in (line((f" {path}", "head")), *sheet(text))]


def spread_of(scene: Scene, nic: str) -> tuple[str, list[tuple[str, str]]]:
    """The interface and its settings: each interrupt on a core of its own on the NIC's node.

    A core gets a second interrupt, on its sibling thread, only after every core has one.
    """
    facts = scene.facts
    known = {n.name: n for n in facts.nics} if facts is not None else {}
    queues = [q for q in facts.queues if q.nic == nic and q.irq is not None] if facts else []
    if facts is None or nic not in known or not queues:
        return nic, []
    cores = {c.cpu: c for c in facts.cores}
    near = [cpu for cpu in known[nic].local_cpus or () if cpu in cores] or sorted(cores)
    near.sort(key=lambda cpu: (cpu != min((*cores[cpu].siblings, cpu)), cpu))
    by: dict[int, str] = {}
    for queue in sorted(queues, key=lambda q: (q.number, q.direction)):
        by.setdefault(queue.irq or 0, f"irq.affinity@{nic}/{queue.name}")
    return nic, [(name, str(near[i % len(near)])) for i, name in enumerate(by.values())]
