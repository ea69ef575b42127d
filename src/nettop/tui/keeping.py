"""Settings that persist across reboots at another host (key `s`), by the nettop there.

The question shows the files as the nettop there would write them. They are planned again before
they are written: if they changed, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import settings
from ..changes import Change, privilege, risk
from ..changes import Result as Outcome
from ..changes.remote import KEPT, AbsentError, Remote
from ..host.source import Source
from ..terms.text import Line, line
from ..views.ask import Ask
from ..views.scene import Question, Scene
from .changing import CONFIRM, sentences
from .notes import Post, ask_question, brief, note
from .planning import Planning, risk_text, sheet


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
    body: list[Line] = [_values(one) for one in own if one.state == "planned"]
    for path, text in files:
        body += [line((f" {path}", "head")), *sheet(text)]
    name = host or source.host
    title = f"Persist across reboots at {name}: {len(files)} file{'s' * (len(files) > 1)}"
    question = Question(
        title, (("", tuple(body)),), "keep", "write there",
        tuple((one.setting, one.before, one.wanted) for one in own), finding,
        (brief(f"written by the nettop at {remote.name}", remote.name),),
        wanted=tuple(wanted), files=files,
        identities=tuple(settings.identity(source, settings.parse(one.setting)) for one in own),
        host=host,
    )  # fmt: skip
    post(ask_question(question))


def _values(one: Outcome) -> Line:
    values = ((one.before, "dim"), " → ", (one.wanted, "strong"))
    return line(f" {one.setting}: ", *values, *risk_text(risk(one.setting) or "none"))


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
