"""Changes at another host, made by the nettop that is installed there, with its journal and guard.

Each call is one command behind the prefix. As root there it is `nettop …`, else `sudo -n nettop …`,
so that one journal has all changes; where there is none, the same by the file of `--install`.
Settings, old values and identities are arguments: the nettop there evaluates no rule, and refuses
a value or a device that is not the one that was shown.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from .. import SCHEMA
from ..files.bounds import BOUNDS
from ..host import once
from ..host.once import Held
from ..host.prefix import ROOTS
from ..host.source import HostLostError
from ..terms.errors import Refused
from ..terms.text import safe
from . import STATES, Change, Result, privilege, text

ENDING: Final = 10.0  # seconds to revert a change there whose answer did not come
SILENT: Final = 30.0  # seconds without a sign of life after which a change there is reverted
KEPT: Final = "kept."  # kind of the settings that are lines of files
Wanted = Sequence[tuple[str, str]]
Document = Mapping[str, object]


class AbsentError(OSError):
    """There is no nettop at that host, or another version by --install."""


class Remote:
    """The nettop at another host. Every failure is an OSError with one sentence."""

    def __init__(self, prefix: Sequence[str], *, root: bool) -> None:
        """`prefix` runs a command there; `root`: as root."""
        self.prefix = tuple(prefix)
        self.name = safe(" ".join(prefix))
        self.root = root
        self._nettop = "nettop"

    @property
    def way(self) -> str:
        """The words that run it, for the user to type."""
        return f"{self.name} {'' if self.root else 'sudo '}{self._nettop}"

    def plan(self, wanted: Wanted, confirm: float) -> tuple[tuple[Result, ...], tuple[str, ...]]:
        """The changes that are needed there, as a dry run, and notes on them. Writes nothing."""
        document, results = self._planned(wanted, confirm)
        notes = document.get("notes")
        texts = notes if isinstance(notes, list) else []
        return results, tuple(safe(str(note))[:300] for note in texts)

    def keep(
        self, wanted: Wanted, confirm: float
    ) -> tuple[tuple[Result, ...], tuple[tuple[str, str], ...]]:
        """As `plan`, with the files there that make the settings persistent: path and text."""
        document, results = self._planned(wanted, confirm, keep=True)
        files = document.get("files", {})
        if not isinstance(files, dict):
            raise OSError(f"{self.name} sent an invalid answer")
        return results, tuple((safe(str(path)), str(text)) for path, text in files.items())

    def change(self, changes: Sequence[Change], options: Sequence[str]) -> tuple[Result, ...]:
        """Make exactly these changes there."""
        return self._results(self._ask([*privilege.exactly(changes), *options]))

    def undo(self, numbers: Sequence[str], options: Sequence[str]) -> tuple[Result, ...]:
        """Undo these entries of the journal there."""
        return self._results(self._ask(["undo", *numbers, *options]))

    def confirm(self, number: str) -> tuple[Result, ...]:
        """Confirm a pending change there."""
        return self._results(self._ask(["confirm", number]))

    def journal(self) -> list[Document]:
        """The journal there, oldest first, as `nettop journal --json` prints it."""
        return _documents(self._ask(["journal"]), self.name)

    def absent(self) -> bool:
        """Whether there is no nettop there, by a question that changes nothing."""
        try:
            self.journal()
        except AbsentError:
            return True
        except OSError:  # a key will say why
            return False
        return False

    def hold(self, changes: Sequence[Change], finding: str) -> Held:
        """Make exactly these changes there for as long as the result is not ended; OSError."""
        words = [*privilege.exactly(changes), f"--hold={SILENT:g}", "--json"]
        words += [f"--finding={finding}"] if finding else []
        try:
            held = Held(self.prefix, [*self._program(), *words])
        except HostLostError as error:
            raise OSError(str(error)) from None
        try:
            line = held.line()
        except HostLostError as error:
            with suppress(HostLostError):  # the change may be made there: end it
                held.end(ENDING)
            raise OSError(str(error)) from None
        if line is None:
            self._document(held.end())  # says why
            raise OSError(f"{self.name} sent an invalid answer")
        return held

    def _planned(
        self, wanted: Wanted, confirm: float, *, keep: bool = False
    ) -> tuple[Document, tuple[Result, ...]]:
        """The answer to a dry run, and the changes in it; only files may be added to `wanted`."""
        words = ["set", *(word for pair in wanted for word in pair), *(["--keep"] if keep else [])]
        document = self._ask([*words, "--dry-run", f"--confirm={confirm:g}"])
        results = self._results(document)
        asked = {setting for setting, _ in wanted}
        for one in results:
            if one.setting not in asked and not (keep and one.setting.startswith(KEPT)):
                raise OSError(f"{self.name} planned another setting than the one requested")
        return document, results

    def _program(self) -> list[str]:
        return [self._nettop] if self.root else ["sudo", "-n", self._nettop]

    def _ask(self, words: Sequence[str]) -> Document:
        """The JSON document that `nettop WORDS… --json` prints there."""
        most = BOUNDS["fleet-document"].most
        try:
            answer = once.run(self.prefix, [*self._program(), *words, "--json"], most=most)
        except HostLostError as error:
            raise OSError(str(error)) from None
        if self._nettop != ROOTS and answer.lacks(self._nettop):  # nothing ran
            self._nettop = ROOTS
            return self._ask(words)
        return self._document(answer)

    def _document(self, answer: once.Answer) -> Document:
        """The JSON in an answer; a login shell may have printed other lines before it."""
        if answer.lacks(self._nettop):
            if not self.root and answer.lacks("sudo"):
                raise OSError(f"{self.name}: changes need root, and there is no sudo")
            self._nettop = "nettop"
            raise AbsentError(f"nettop is not installed at {self.name}")
        begin = 0 if answer.output.startswith(b"{") else answer.output.find(b"\n{") + 1
        try:
            document = json.loads(answer.output[begin:])
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            reason = answer.reason.removeprefix("nettop: ")
            raise OSError(f"{self.name}: {reason or f'nettop ended with exit code {answer.code}'}")
        if document.get("schema") != SCHEMA:
            ours = self._nettop == ROOTS  # --install replaces it
            other = f"another version of nettop is installed at {self.name}"
            raise AbsentError(other) if ours else OSError(other)
        return document

    def _results(self, document: Document) -> tuple[Result, ...]:
        try:
            return tuple(_result(one) for one in _documents(document, self.name))
        except (KeyError, TypeError, ValueError):
            raise OSError(f"{self.name} sent an invalid answer") from None


def _documents(document: Document, name: str) -> list[Document]:
    changes = document.get("changes")
    if not isinstance(changes, list) or not all(isinstance(one, dict) for one in changes):
        raise OSError(f"{name} sent an invalid answer")
    return changes


def _result(document: Document) -> Result:
    """One change; KeyError, TypeError or ValueError if it is none."""
    state = str(document["state"])
    number, deadline = document.get("id"), document.get("deadline")
    if state not in STATES or not isinstance(number, int | None):
        raise ValueError(state)
    if not isinstance(deadline, int | float | None):
        raise TypeError(deadline)
    values = {key: value_of(document[key]) for key in ("before", "wanted")}
    after = value_of(document["after"]) if "after" in document else None
    texts = {key: safe(str(document.get(key, "")))[:2000] for key in ("shell", "because")}
    setting = safe(str(document["setting"]))
    return Result(
        setting, **values, state=state, id=number, after=after, deadline=deadline, **texts
    )


def value_of(value: object) -> str:
    """The text of a value in JSON; TypeError if it is none."""
    if isinstance(value, list) and all(isinstance(one, int) for one in value):
        return text(value)
    if isinstance(value, str | int):
        return safe(text(value))
    raise TypeError(value)


_WATCHED: Final = frozenset({"pending", "held", "begun"})  # a process there may have to revert it
MADE: Final = frozenset({"applied", "rounded"})


def forget(words: Sequence[str], *, asks: bool = False) -> str:
    """Remove it; what was done, in one sentence. Refused while a change there is unconfirmed."""
    from ..host import once

    name = safe(" ".join(words))
    known = once.look(words, asks=asks)
    if not (known.root or known.user):
        return f"{name}: nothing to remove: --install has put nothing there"
    states: list[str] = []
    if known.root:
        remote = Remote(words, root=known.way == "direct")
        try:
            journal = remote.journal()
        except AbsentError as error:  # the file is gone, or of another version
            why = f"nothing was removed: {error}; --install it, then --forget removes all"
            raise Refused(why, 3) from None
        except OSError as error:
            raise Refused(f"nothing was removed: {error}", 3) from None
        states = [str(one.get("state")) for one in journal]
        if not _WATCHED.isdisjoint(states):
            why = f"a change at {name} is unconfirmed or in a test"
            cure = f"{remote.way} confirm, or wait until it has reverted"
            raise Refused(f"nothing was removed: {why}: {cure}", 4)
    made = sum(state in MADE for state in states)
    folder = once.forget(words, known, keep=made > 0, asks=asks)
    removed = f"{name}: removed, with all that it made there"
    if not folder:
        return f"{removed}: what it unpacked, results of tests, muted findings, the journal"
    why = "which was there before"
    if made:
        changes = f"{made} change{'s' * (made > 1)}"
        why = f"which undoes the {changes} in force once nettop is installed again"
    return f"{removed} but the journal in {folder}, {why}"
