"""The commands that repeat a measurement, from the options stored with its result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .reading import Document, mapping


def trial(document: Document) -> str:
    """The `nettop test` of this result."""
    words = ["nettop", "test", str(document["tool"])]
    for name, value in mapping(document.get("options")).items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif isinstance(value, list | tuple):
            words += [flag, ",".join(map(_plain, value))]
        else:
            words += [flag, _plain(value)]
    return shlex.join(words)


def experiment(document: Document, words: Sequence[str]) -> str:
    """The command `nettop WORDS…` with the tool, address and length of this experiment."""
    options = ["--tool", str(document["tool"]), "--to", str(document["to"])]
    if document.get("peer") is not None:
        options += ["--peer", str(document["peer"])]
    if document.get("run_seconds"):
        options += ["--seconds", _plain(document["run_seconds"])]
    if document.get("streams", 1) != 1:
        options += ["--streams", _plain(document["streams"])]
    options += ["--no-ends"] if document.get("no_ends") else []
    return shlex.join(["nettop", *words, *options])


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
