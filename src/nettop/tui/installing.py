"""The question before the one file is installed at another host, for a change there."""

from __future__ import annotations

import shlex

from ..facts.pair.words import called
from ..host.install import File
from ..terms.text import line
from ..views.scene import Question
from .notes import brief


def question(why: str, one: File, name: str, host: str) -> Question:
    """`why` it is wanted; `name` is the command prefix, `host` the name of the host of --peer."""
    rows = (
        line((f" {brief(why, name)}. This puts one file there:", "warn")),
        line(f" {one.path}"),
        line((f" {one.size / (1 << 20):.1f} MiB, {one.machine}, sha256 {one.sha256}", "dim")),
        line(" into /opt/nettop, as root; without root, into nettop in the cache of the user."),
        line(" Its hash is checked there. It unpacks itself into the cache. Nothing else is done."),
        line(" To remove it:", (f"   # nettop --host {shlex.quote(name)} --forget", "key")),
    )
    return Question(
        f"Install nettop at {host or called(name)}", (("", rows),), "install", "install there",
        host=host,
    )  # fmt: skip
