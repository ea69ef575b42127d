"""Carries out agreed questions: changes through journal and guard, files, mutes, confirmations.

Only what the question showed is done; nothing is written if the host has changed since. Without
root, changes go through sudo if it needs no password; otherwise a note has the command to type.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .. import config, settings
from ..changes import Change
from ..changes import Result as Outcome
from ..changes.plan import forecast
from ..files.draft import write
from ..host.source import Source
from ..settings import Host
from ..terms.text import Line, text_of
from ..views.ask import Ask
from ..views.build import sorted_by_mutes
from ..views.kept import ROOTS
from ..views.scene import Question, Scene
from ..views.view import View
from .notes import Post, Update, note

if TYPE_CHECKING:
    from ..changes.apply import Terms


GOOD: Final = frozenset({"applied", "rounded", "unchanged", "undone", "reverted", "void"})
NOT_TRIED: Final = "not tried"  # begins the reason of a change that follows one that failed
NEEDS_ROOT: Final = "this needs root"  # begins the reason of a change that sudo refused
_WEIGHT: Final = {"good": 0, "warn": 1, "bad": 2}
CONFIRM: Final = 30.0  # seconds in which a change that may interrupt the link must be confirmed
NOTHING_WAITS: Final = "no change waits for a confirmation"
WRITTEN_NOW: Final = "a change is being written: press c when its countdown is shown"


class Changing:
    """Writes to this host; one change at a time."""

    def __init__(
        self, source: Source, post: Post, altered: Callable[[], None], host: Host | None = None
    ) -> None:
        """`altered` is called after a write. Changes are written to `host`; None: this machine."""
        self.source = source
        self.given = host
        self.post = post
        self.altered = altered
        self.lock = threading.RLock()
        self.depth = 0  # how many blocks of `writing` are open
        self.used_sudo = False  # then the screen shows root's journal too

    def host(self) -> Host:
        """The host to write to."""
        if self.given is not None:
            return self.given
        return Host(source=self.source)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of changes until the journal was read again; others wait."""
        with self.lock:
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1

    # -- changes ---------------------------------------------------------------------------------

    def agree(self, question: Question, name: str) -> None:
        """The question was answered with yes, on its sheet of that name."""
        if question.verb == "export":
            body = next((b for one, b in question.sheets if one == name), ())
            self._write(name, body)
        elif question.verb in ("mute", "unmute"):
            self.post(mute(question.finding, muted=question.verb == "mute"))
            self.altered()
        elif question.verb == "undo":
            self.undo(question.entries)
        else:
            changes = changes_of(question)
            if question.verb == "keep":
                self.keep(question, changes)
            else:
                self.change(changes, question.finding)

    def _write(self, name: str, body: Iterable[Line]) -> None:
        import time

        from ..changes.export import module

        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        path = os.path.abspath(f"nettop-{stamp}.{module(name).ENDING}")
        rows = (text_of(row)[1:] + "\n" for row in body)
        write(path, "".join(rows), over=False)
        self.post(note(f"written: {path}", "good"))

    def outdated(self, changes: Iterable[Change]) -> str:
        """Why these changes can no longer be made as shown; empty if they can."""
        for change in changes:
            result = forecast(change, self.source)
            if result.state not in ("planned", "unchanged") or result.wanted != change.after:
                why = result.because or f"it would become {result.wanted!r}"
                return f"{change.setting}: {why}"
        return ""

    def change(self, changes: Sequence[Change], finding: str) -> tuple[Outcome, ...]:
        """Make exactly these changes, through journal and guard; none if one is outdated."""
        from ..changes import privilege
        from ..changes.apply import apply
        from ..changes.journal import Journal

        with self.writing():
            outdated = self.outdated(changes)
            if outdated:
                self.post(note(f"nothing was changed: {outdated}. Look at the plan again", "bad"))
                self.altered()  # something else changed the host since the screen read it
                return ()
            if any(privilege.needed(settings.parse(c.setting)) for c in changes):
                return self._as_root(changes, finding)
            results = apply(changes, self.host(), Journal(), self._terms(finding))
            self.report(results)
        return results

    def _terms(self, finding: str) -> Terms:
        """The terms of a change by key: its finding, its confirmation, the session's interfaces."""
        from ..changes import ssh
        from ..changes.apply import Terms
        from ..host.session import ssh_peer

        return Terms(finding, confirm=CONFIRM, carries=ssh.carriers(self.source, ssh_peer()))

    def _as_root(self, changes: Sequence[Change], finding: str, *more: str) -> tuple[Outcome, ...]:
        from ..changes import privilege
        from ..host.session import ssh_peer

        options = privilege.options(CONFIRM, finding=finding, peer=ssh_peer())
        results = privilege.as_root(changes, [*options, *more])
        self.used_sudo |= any(r.state != "refused" for r in results)
        self.report(results)
        return results

    def keep(self, question: Question, changes: Sequence[Change]) -> None:
        """Make the changes, then write the files that make the settings persistent, as shown."""
        from ..changes import Change, persist, privilege
        from ..changes.journal import Journal

        wanted, finding = question.wanted, question.finding
        if tuple(persist.preview(wanted, self.source).items()) != question.files:
            self.post(note("nothing was written: the files changed. Look at them again", "bad"))
            return
        with self.writing():  # an undo between both writes would miss the files
            if any(privilege.needed(settings.parse(setting)) for setting, _ in wanted):
                before = {c.setting: c.before for c in changes}
                explicit = [Change(s, before.get(s, v), v) for s, v in wanted]
                self._as_root(explicit, finding, "--keep")
                return
            results = self.change(changes, finding) if changes else ()
            if any(r.state == "pending" for r in results):
                self.post(note("not persisted: confirm with c first, then press s", "warn"))
                return
            failed = any(r.state in ("refused", "conflict") for r in results)
            if failed or len(results) < len(changes):
                return
            self.report(persist.keep(wanted, self.host(), Journal(), finding))

    # -- undo, confirm ---------------------------------------------------------------------

    def undo(self, entries: Sequence[str]) -> None:
        """Undo these journal entries; a setting that something else changed since is not written.

        An undo that may interrupt the link is pending until `c` confirms it, like a change.
        """
        from ..changes import privilege
        from ..changes.journal import Journal
        from ..changes.retract import retract
        from ..host.session import ssh_peer

        roots = [one.removeprefix(ROOTS) for one in entries if one.startswith(ROOTS)]
        own = [int(one) for one in entries if not one.startswith(ROOTS)]
        with self.writing():
            results = retract(Journal(), self.host(), own, terms=self._terms("")) if own else ()
            options = privilege.options(CONFIRM, peer=ssh_peer())
            for number in roots:
                results = (*results, *self._sudo(["undo", number, *options]))
            self.report(results)

    def do_confirm(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Confirm the pending changes that were on the screen, and no others."""
        from ..changes import guard
        from ..changes.journal import Journal

        pending = [one.id for one in scene.pending]
        if not pending:
            self.post(note(WRITTEN_NOW if self.depth else NOTHING_WAITS, "warn"))
            return
        own = tuple(int(one) for one in pending if not one.startswith(ROOTS))
        results = guard.confirm(Journal(), own, self.host()) if own else ()
        for one in pending:
            if one.startswith(ROOTS):
                results = (*results, *self._sudo(["confirm", one.removeprefix(ROOTS)]))
        self.report(results)

    def _sudo(self, words: Sequence[str]) -> tuple[Outcome, ...]:
        from ..changes import privilege

        try:
            return privilege.results(words)
        except OSError as error:
            self.post(note(str(error), "warn"))
            return ()

    def report(self, results: Iterable[Outcome]) -> None:
        """Post a note for each result; then journal and host are read again."""
        results = tuple(results)
        for text, role in sentences(results):
            self.post(note(text, role))
        if results:
            self.altered()


def changes_of(question: Question) -> tuple[Change, ...]:
    """The changes that a question shows, each for the device that it was shown for."""
    identities = question.identities or ("",) * len(question.changes)
    return tuple(
        Change(*one, identity=identity)
        for one, identity in zip(question.changes, identities, strict=True)
    )


def sentences(results: Sequence[Outcome]) -> list[tuple[str, str]]:
    """The results as sentences with the roles of their notes; the one that must be seen last.

    One note is shown, the last. That is a failure, and of several the one with the reason.
    """
    states = {result.state for result in results}
    if len(results) > 1 and len(states) == 1 and states <= GOOD:
        names = ", ".join(result.setting for result in results)
        return [(f"{len(results)} settings {results[0].state}: {names}", "good")]
    order = sorted(
        results, key=lambda one: (_WEIGHT[_role(one)], not one.because.startswith(NOT_TRIED))
    )
    return [sentence(one) for one in order]


def _role(result: Outcome) -> str:
    return "good" if result.state in GOOD else "warn" if result.state == "pending" else "bad"


def sentence(result: Outcome) -> tuple[str, str]:
    """The result of a change as a sentence, and the role of the note."""
    role = _role(result)
    after = result.after if result.after is not None else result.wanted
    if result.state == "refused":
        because = result.because or "refused"
        if because.startswith(NEEDS_ROOT):  # the command with all its terms has no room here
            because = f"{NEEDS_ROOT}: start nettop with sudo, or y copies the command"
        return f"{result.setting}: not changed: {because}", role
    because = f" ({result.because})" if result.because else ""
    reverted = result.state in ("undone", "reverted")
    values = f"back to {after}" if reverted else f"{result.before} → {after}"
    return f"{result.setting}: {values}: {result.state}{because}", role


def mute(name: str, *, muted: bool) -> Update:
    """Write the list with or without the name; returns the update of the scene.

    OSError if the list cannot be written; ConfigError if it cannot be read.
    """
    names = [one for one in config.muted() if one != name]
    config.mute([*names, name] if muted else names)
    message = f"muted {name}; M shows the muted ones" if muted else f"unmuted {name}"

    def update(scene: Scene) -> Scene:
        rest = tuple(one for one in scene.mutes if one != name)
        listed = replace(scene, mutes=(*rest, name) if muted else rest)
        return note(message, "good")(sorted_by_mutes(listed))

    return update
