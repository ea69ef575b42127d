"""Becoming root for a change: the same command again, explicit in every word, through sudo.

Nothing is judged again as root and no file of the user's is read there: setting, before and after
are words of the command line.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ..files.trust import sudo
from ..settings import Address
from . import Change, Result, text
from .journal import Journal

_KNOWN = frozenset(field.name for field in fields(Result))
_OWN = frozenset({"process", "thread", "nice"})


def needed(address: Address) -> bool:
    """Whether we lack the right to write it: everything but a process of our own is root's."""
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
    """Whether the changes of this host may stand in root's journal rather than in ours."""
    return os.geteuid() != 0 and "NETTOP_STATE" not in os.environ and bool(journal.folder)


def again(words: Sequence[str]) -> list[str]:
    """The argument list that runs `nettop WORDS…` as root without asking for a password."""
    return [sudo(), "-n", sys.executable, "-I", "-m", "nettop", *words]


def line(words: Sequence[str]) -> str:
    """What the user may type instead."""
    return shlex.join(["sudo", sys.executable, "-I", "-m", "nettop", *words])


def may() -> bool:
    """Whether sudo would do it without a password."""
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
    """Run `nettop WORDS…` as root in our place; returns only the sentence why that cannot be."""
    if not may():
        return f"this needs root: {line(words)}"
    sys.stdout.flush()
    sys.stderr.flush()
    command = again(words)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    return ""  # pragma: no cover


def as_root(changes: Sequence[Change], options: Sequence[str]) -> tuple[Result, ...]:
    """The changes by root in one explicit command, so that they are one group with one guard.

    Where that cannot be, the line to be typed is told for each.
    """
    words = ["set", *(word for one in changes for word in (one.setting, one.after))]
    words += [*(f"--before={one.before}" for one in changes), *options]
    try:
        return results(words)
    except OSError as error:
        why = str(error)
        return tuple(
            Result(one.setting, one.before, one.after, "refused", because=why) for one in changes
        )


def told(words: Sequence[str]) -> dict[str, Any]:
    """What `nettop WORDS… --json` says as root; OSError with its last sentence when it cannot."""
    import json
    import subprocess

    done = subprocess.run(
        [*again(words), "--json"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OSError((done.stderr.strip().splitlines() or ["sudo failed"])[-1])
    return found


def results(words: Sequence[str]) -> tuple[Result, ...]:
    """The changes that `nettop WORDS…` made as root; OSError with one sentence when it cannot."""
    if not may():
        raise OSError(f"this needs root: {line(words)}")
    return tuple(_made(words))


def _made(words: Sequence[str]) -> list[Result]:
    found = told(words)
    try:
        return [_result(one) for one in found["changes"]]
    except (KeyError, TypeError):
        raise OSError(str(found.get("error", "root's nettop says nothing of it"))) from None


def _result(told: dict[str, Any]) -> Result:
    values: dict[str, Any] = {
        key: text(told[key]) for key in ("before", "wanted", "after") if key in told
    }
    return Result(**{key: one for key, one in (told | values).items() if key in _KNOWN})
