"""Proofs of fixes at another host: the test runs from the host shown, the change is made there.

The peer of the test is the host of --peer; without it the one of the form, or this machine. Before
a change at a host that has no nettop, a question asks to install the one file there.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts.pair.words import called
from ..host.install import File
from ..terms.dataclass import dataclass
from ..terms.text import line
from ..views.form import course, values
from ..views.scene import Question, Scene
from ..views.view import View
from .notes import brief

if TYPE_CHECKING:
    from .trying import TrialBench


LOCAL: Final = "env"  # a prefix that runs a command on this machine


@dataclass(frozen=True, slots=True)
class Proving:
    """What a proof needs besides the host that it changes.

    `prefixes` are those of the host shown and of the host of --peer; empty: this machine, and no
    --peer.
    """

    bench: TrialBench
    prefixes: Callable[[], tuple[str, str]]

    def form(self, view: View, scene: Scene) -> dict[str, str]:
        """The form of the test, with what is known of both ends where nothing was typed."""
        near, far = self.prefixes()
        to, reverse = course(scene)
        known = {"to": to, "reverse": "yes" if reverse else "no", "peer": far or LOCAL}
        typed = {name: view.form[name] for name in known if view.form.get(name)}
        return {**values(view), **known, **typed, "host": near}


def question(applying: Question, host: str, form: dict[str, str]) -> Question:
    """The question before a proof; `applying` asks to make the same changes at `host`."""
    ((name, rows),) = applying.sheets
    peer = "this machine" if form["peer"] == LOCAL else form["peer"]
    sends = ", which sends," if form["reverse"] == "yes" else ""
    body = (
        *rows,
        line(f" Set and reverted in turn at {host},"),
        line(f" with tests to {form['to']} ({peer}){sends} in between."),
        line((" Kept there only if significantly better; Ctrl-X stops and reverts.", "dim")),
    )
    return replace(
        applying, sheets=((name, body),), verb="prove", yes="start (Ctrl-X stops)",
        form=tuple(form.items()),
    )  # fmt: skip


def installing(why: str, one: File, name: str, host: str) -> Question:
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
