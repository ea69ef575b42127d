"""The commands that repeat a measurement, from the options stored with its result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from .reading import Document, mapping

TOLD: Final = ("to", "peer", "seconds", "streams", "no_ends")  # fields of an experiment itself


def trial(document: Document) -> str:
    """The `nettop test` of this result."""
    options = mapping(document.get("options"))
    return shlex.join(["nettop", "test", str(document["tool"]), *_flags(options)])


def _flags(options: Document) -> list[str]:
    """The words of options as the command line has them."""
    words = []
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, list | tuple):
            words.append(",".join(map(_plain, value)))
        elif value is not True:
            words.append(_plain(value))
    return words


def study(document: Document) -> str:
    """The `nettop study run` of this result."""
    options = mapping(document.get("options")) or {"to": document["to"]}
    repeats = {"repeats": document["repeats"]} if document.get("repeats", 1) != 1 else {}
    words = ["nettop", "study", "run", str(document["study"])]
    return shlex.join([*words, *_flags({**options, **repeats})])


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
    more = mapping(document.get("options"))
    options += _flags({name: value for name, value in more.items() if name not in TOLD})
    return shlex.join(["nettop", *words, *options])


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
