"""Make a change as root: run the same command again through sudo, with explicit arguments.

As root, nettop does not evaluate rules again and reads no file of the user: setting, old and new
value are arguments.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ..files import own
from ..files.trust import sudo
from ..settings import Address
from . import Change, Result, text
from .journal import Journal

Document = dict[str, Any]  # JSON of nettop itself
_KNOWN = frozenset(field.name for field in fields(Result))
_OWN = frozenset({"process", "thread", "nice"})


def needed(address: Address) -> bool:
    """Whether writing this setting needs root: all settings except those of our own processes."""
    user = os.geteuid()
    if user == 0:
        return False
    if address.kind in _OWN:
        try:
            return os.stat(f"/proc/{address.nic}").st_uid != user
        except OSError:
            return False
    return True


def rooted(journal: Journal) -> bool:
    """Whether the changes of this host may be in the journal of root instead of ours."""
    return os.geteuid() != 0 and "NETTOP_STATE" not in os.environ and bool(journal.folder)


def again(words: Sequence[str]) -> list[str]:
    """The arguments that run `nettop WORDS…` as root without asking for a password."""
    return [sudo(), "-n", *own.again("-I"), *words]


def line(words: Sequence[str]) -> str:
    """The same command for the user to type."""
    return shlex.join(["sudo", *own.again("-I"), *words])


def may() -> bool:
    """Whether sudo works without a password."""
    import subprocess

    try:
        done = subprocess.run(
            [sudo(), "-n", "true"],
            check=False, timeout=10, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def become(words: Sequence[str]) -> str:
    """Replace this process with `nettop WORDS…` as root; returns a sentence if that fails."""
    if not may():
        return f"this needs root: {line(words)}"
    sys.stdout.flush()
    sys.stderr.flush()
    command = again(words)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    return ""  # pragma: no cover


def options(confirm: float, *, finding: str = "", peer: str | None = None) -> list[str]:
    """The terms of a change as options of `nettop set` and `nettop undo`.

    `confirm`: seconds until an unconfirmed change reverts. `finding`: what the change fixes.
    `peer`: the other end of the SSH session; sudo removes it from the environment (sudoers(5)).
    """
    terms = (("confirm", f"{confirm:g}"), ("finding", finding), ("ssh-peer", peer))
    return [f"--{name}={value}" for name, value in terms if value]


def exactly(changes: Sequence[Change]) -> list[str]:
    """`set …` for these changes: it refuses another old value, and another device or process."""
    words = ["set", *(word for change in changes for word in (change.setting, change.after))]
    words += [f"--before={change.before}" for change in changes]
    if any(change.identity for change in changes):
        words += [f"--identity={change.identity}" for change in changes]
    return words


def as_root(changes: Sequence[Change], options: Sequence[str]) -> tuple[Result, ...]:
    """Make the changes as root in one command, so that they are one group with one guard.

    If that is not possible, each result is refused with the command to type.
    """
    try:
        return results([*exactly(changes), *options])
    except OSError as error:
        why = str(error)
        return tuple(
            Result(change.setting, change.before, change.after, "refused", because=why)
            for change in changes
        )


def document_of(words: Sequence[str]) -> Document:
    """The JSON of `nettop WORDS…` as root; OSError with the last line of stderr otherwise."""
    import json
    import subprocess

    done = subprocess.run(
        [*again(words), "--json"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise OSError((done.stderr.strip().splitlines() or ["sudo failed"])[-1])
    return document


def results(words: Sequence[str]) -> tuple[Result, ...]:
    """The changes that `nettop WORDS…` makes as root; OSError, one sentence, if it fails."""
    if not may():
        raise OSError(f"this needs root: {line(words)}")
    document = document_of(words)
    try:
        return tuple(_result(change) for change in document["changes"])
    except (KeyError, TypeError):
        raise OSError(str(document.get("error", "nettop as root gave no result"))) from None


def _result(change: Document) -> Result:
    values: Document = {
        key: text(change[key]) for key in ("before", "wanted", "after") if key in change
    }
    return Result(**{key: value for key, value in (change | values).items() if key in _KNOWN})
