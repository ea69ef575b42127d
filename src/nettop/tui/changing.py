"""Carries out agreed questions: changes through journal and guard, files, mutes, confirmations.

Exactly what the question showed is done; a host that changed since is left alone. Without root,
changes go through sudo where it needs no password; else a note has the command to type.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..terms.text import Line, text_of
from ..views.ask import Ask
from ..views.kept import ROOTS
from ..views.scene import Question, Scene, View
from . import mutes
from .notes import Post, note

if TYPE_CHECKING:
    from ..changes import Change
    from ..changes import Result as Outcome
    from ..changes.apply import Terms
    from ..settings import Host

GOOD: Final = frozenset({"applied", "rounded", "unchanged", "undone", "reverted", "void"})
CONFIRM: Final = 30.0  # seconds in which a change that may cut the link must be confirmed


class Changing:
    """Writes to this host; one change at a time."""

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
        """The host to write to."""
        if self.given is not None:
            return self.given
        from ..settings import Host

        return Host(source=self.source)

    # -- agreed to ---------------------------------------------------------------------------------

    def agree(self, question: Question, name: str) -> None:
        """The question was answered with yes, on its sheet of that name."""
        if question.verb == "export":
            body = next((b for one, b in question.sheets if one == name), ())
            self._write(name, body)
        elif question.verb in ("mute", "unmute"):
            self.post(mutes.put(question.finding, muted=question.verb == "mute"))
            self.altered()
        elif question.verb == "undo":
            self.take_back(question.entries)
        else:
            changes = changes_of(question)
            if question.verb == "keep":
                self.keep(question, changes)
            else:
                self.change(changes, question.finding)

    def _write(self, name: str, body: Iterable[Line]) -> None:
        import time

        from ..changes.export import module
        from ..files.draft import write

        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        path = os.path.abspath(f"nettop-{stamp}.{module(name).ENDING}")
        rows = (text_of(row)[1:] + "\n" for row in body)
        write(path, "".join(rows), over=False)
        self.post(note(f"written: {path}", "good"))

    def moved(self, changes: Iterable[Change]) -> str:
        """Why these changes can no longer be made as shown; empty when they can."""
        from ..changes.plan import forecast

        for one in changes:
            seen = forecast(one, self.source)
            if seen.state not in ("planned", "unchanged") or seen.wanted != one.after:
                why = seen.because or f"it would become {seen.wanted!r}"
                return f"{one.setting}: {why}"
        return ""

    def change(self, changes: Sequence[Change], finding: str) -> tuple[Outcome, ...]:
        """Make exactly these changes, through journal and guard; none when one has moved."""
        from .. import settings
        from ..changes import privilege
        from ..changes.apply import apply
        from ..changes.journal import Journal

        with self.busy:
            moved = self.moved(changes)
            if moved:
                self.post(note(f"nothing was changed: {moved}. Look at the plan again", "bad"))
                self.altered()  # by somebody else, since the screen last read it
                return ()
            if any(privilege.needed(settings.parse(c.setting)) for c in changes):
                return self._as_root(changes, finding)
            results = apply(changes, self.host(), Journal(), self._terms(finding))
        self.tell(results)
        return results

    def _terms(self, finding: str) -> Terms:
        """Under what terms a key changes something."""
        from ..changes import ssh
        from ..changes.apply import Terms
        from ..host.session import ssh_peer

        return Terms(finding, confirm=CONFIRM, carries=ssh.carriers(self.source, ssh_peer()))

    def _as_root(self, changes: Sequence[Change], finding: str, *more: str) -> tuple[Outcome, ...]:
        from ..changes import privilege
        from ..host.session import ssh_peer

        options = [f"--confirm={CONFIRM:g}", *more]
        options += [f"--finding={finding}"] if finding else []
        peer = ssh_peer()
        options += [f"--ssh-peer={peer}"] if peer else []
        results = privilege.as_root(changes, options)
        self.rooted |= any(r.state != "refused" for r in results)
        self.tell(results)
        return results

    def keep(self, question: Question, changes: Sequence[Change]) -> None:
        """Make the changes, then write the files that keep what was wanted, as both were shown."""
        from .. import settings
        from ..changes import Change, persist, privilege
        from ..changes.journal import Journal

        wanted, finding = question.wanted, question.finding
        if tuple(persist.preview(wanted, self.source).items()) != question.files:
            self.post(note("nothing was written: the files changed. Look at them again", "bad"))
            return
        if any(privilege.needed(settings.parse(setting)) for setting, _ in wanted):
            before = {c.setting: c.before for c in changes}
            explicit = [Change(s, before.get(s, v), v) for s, v in wanted]
            with self.busy:
                self._as_root(explicit, finding, "--keep")
            return
        made = self.change(changes, finding) if changes else ()
        if any(r.state == "pending" for r in made):
            self.post(note("not persisted: confirm with c first, then press s", "warn"))
            return
        if any(r.state in ("refused", "conflict") for r in made) or len(made) < len(changes):
            return
        with self.busy:
            kept = persist.keep(wanted, self.host(), Journal(), finding)
        self.tell(kept)

    # -- taken back, confirmed ---------------------------------------------------------------------

    def take_back(self, entries: Sequence[str]) -> None:
        """Undo these entries of the journal; settings that others changed since are left alone.

        Where the undo may cut the link it is pending, and `c` confirms it, as with a change.
        """
        from ..changes.journal import Journal
        from ..changes.retract import retract
        from ..host.session import ssh_peer

        roots = [one.removeprefix(ROOTS) for one in entries if one.startswith(ROOTS)]
        own = [int(one) for one in entries if not one.startswith(ROOTS)]
        with self.busy:
            results = retract(Journal(), self.host(), own, terms=self._terms("")) if own else ()
            peer = ssh_peer()
            for number in roots:
                words = ["undo", number, f"--confirm={CONFIRM:g}"]
                words += [f"--ssh-peer={peer}"] if peer else []
                results = (*results, *self._sudo(words))
        self.tell(results)

    def do_confirm(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Keep the changes whose countdown was on the screen, and no more."""
        from ..changes import guard
        from ..changes.journal import Journal

        waiting = [one.id for one in scene.pending]
        if not waiting:
            self.post(note("no change waits for a confirmation", "warn"))
            return
        own = tuple(int(one) for one in waiting if not one.startswith(ROOTS))
        results = guard.confirm(Journal(), own, self.host()) if own else ()
        for one in waiting:
            if one.startswith(ROOTS):
                results = (*results, *self._sudo(["confirm", one.removeprefix(ROOTS)]))
        self.tell(results)

    def _sudo(self, words: Sequence[str]) -> tuple[Outcome, ...]:
        from ..changes import privilege

        try:
            return privilege.results(words)
        except OSError as error:
            self.post(note(str(error), "warn"))
            return ()

    def tell(self, results: Iterable[Outcome]) -> None:
        """Post the result of each change; journal and host are read anew."""
        told = False
        for result in results:
            told = True
            self.post(note(*sentence(result)))
        if told:
            self.altered()


def changes_of(question: Question) -> tuple[Change, ...]:
    """The changes that a question shows, each for the device that it was shown for."""
    from ..changes import Change

    identities = question.identities or ("",) * len(question.changes)
    return tuple(
        Change(*one, identity=identity)
        for one, identity in zip(question.changes, identities, strict=True)
    )


def sentence(result: Outcome) -> tuple[str, str]:
    """The result of a change as a sentence, and its role."""
    role = "good" if result.state in GOOD else "warn" if result.state == "pending" else "bad"
    after = result.after if result.after is not None else result.wanted
    if result.state == "refused":
        return f"{result.setting}: not changed: {result.because or 'refused'}", role
    because = f" ({result.because})" if result.because else ""
    back = result.state in ("undone", "reverted")
    how = f"back to {after}" if back else f"{result.before} → {after}"
    return f"{result.setting}: {how}: {result.state}{because}", role
