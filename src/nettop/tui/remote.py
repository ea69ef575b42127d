"""Changes at another host, shown before they are made: proofs, settings kept, installation.

A test of a proof runs from the host shown, the change is made there. The peer of the test is the
host of --peer; without it the one of the form, or this machine. Before a change at a host that has
no nettop, a question asks to install the one file there.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .. import settings
from ..changes import Change, privilege
from ..changes import Result as Outcome
from ..changes.remote import KEPT, AbsentError, Remote
from ..facts.pair.words import called
from ..files import own
from ..host.source import Source
from ..terms.dataclass import dataclass
from ..terms.text import line
from ..terms.units import many
from ..trials.lever import reverse
from ..views.ask import Ask
from ..views.form import course, values
from ..views.scene import Question, Scene
from ..views.view import View
from .changing import CONFIRM, sentences
from .notes import Post, ask_question, brief, note
from .planning import Planning, sheets, values_line

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..host.once import File
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

    def form(self, view: View, scene: Scene, finding: Finding) -> dict[str, str]:
        """The form of the test, with what is known of both ends where nothing was typed."""
        near, far = self.prefixes()
        to, receives = course(scene)
        wanted = [one.setting for one in finding.wanted]
        sends = reverse(wanted, away=bool(finding.host))
        sends = receives if sends is None else sends
        known = {"to": to, "reverse": "yes" if sends else "no", "peer": far or LOCAL}
        typed = {name: view.form[name] for name in known if view.form.get(name)}
        return {**values(view), **known, **typed, "host": near}


def proving(applying: Question, host: str, form: dict[str, str]) -> Question:
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
        line(" To remove it:", (f"   # {own.called()} --host {shlex.quote(name)} --forget", "key")),
    )
    return Question(
        f"Install nettop at {host or called(name)}", (("", rows),), "install", "install there",
        host=host,
    )  # fmt: skip


def propose(ask: Ask, scene: Scene, source: Source, remote: Remote, post: Post, host: str) -> None:
    """Show the files and the changes that they need; a note if there is nothing to write.

    `host`: the name of the host of --peer; empty for that of --host. AbsentError: no nettop there.
    """
    finding, wanted = Planning(source, post).settings_under(ask.target, scene)
    if not wanted:
        post(note("nothing under the cursor to persist", "warn"))
        return
    try:
        results, files = remote.keep(wanted, CONFIRM)
    except AbsentError:
        raise
    except OSError as error:
        post(note(brief(str(error), remote.name), "bad"))
        return
    refused = [one for one in results if one.state not in ("planned", "unchanged")]
    if refused or not files:
        for text, role in sentences(refused):
            post(note(text, role))
        if not refused:
            post(note("nothing here can be persisted, or it already is", "warn"))
        return
    own = [one for one in results if not one.setting.startswith(KEPT)]
    planned = (one for one in own if one.state == "planned")
    body = [*(values_line(one.setting, one.before, one.wanted) for one in planned), *sheets(files)]
    title = f"Persist across reboots at {host or source.host}: {many(len(files), 'files')}"
    question = Question(
        title, (("", tuple(body)),), "keep", "write there",
        tuple((one.setting, one.before, one.wanted) for one in own), finding,
        (brief(f"written by the nettop at {remote.name}", remote.name),),
        wanted=tuple(wanted), files=files,
        identities=tuple(settings.identity(source, settings.parse(one.setting)) for one in own),
        host=host,
    )  # fmt: skip
    post(ask_question(question))


def keep(
    question: Question, changes: Sequence[Change], remote: Remote, finding: str
) -> Callable[[], Sequence[Outcome]]:
    """The work that makes the changes and writes the files as shown; OSError if they changed."""

    def work() -> Sequence[Outcome]:
        _, files = remote.keep(question.wanted, CONFIRM)
        if files != question.files:
            raise OSError("nothing was written: the files there changed. Look at them again")
        return remote.change(changes, [*privilege.options(CONFIRM, finding=finding), "--keep"])

    return work
