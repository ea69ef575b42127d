"""Requests of keys: questions (`planning`), then changes (`changing`) and tests (`trying`).

Each runs in a thread and posts functions from scene to scene: a note, a new journal, the progress
of a test. Nothing here draws.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..panes import pane
from ..terms.text import Line, line
from ..views.ask import Ask
from ..views.form import values
from ..views.kept import journal, notices, origin, root_journal, stored, studies
from ..views.scene import Question, Scene, View
from .changing import Changing, changes_of
from .notes import Post, asked, note, recording
from .planning import Planning
from .trying import Bench, options_of

if TYPE_CHECKING:
    from ..settings import Host

LOOK: Final = 3.0  # seconds between looks at the journal while a change is pending


class Actions:
    """Carries out requests on this host."""

    def __init__(
        self, source: Source, post: Post, changed: Callable[[], None], host: Host | None = None
    ) -> None:
        """`post` may be called from any thread; `changed` tells the engine to read anew.

        `host` is what changes are written to, when it is not this machine.
        """
        self.source = source
        self.post = post
        self.changed = changed
        self.bench = Bench(post, self.reload)
        self.planning = Planning(source, post)
        self.changing = Changing(source, post, self._altered, host)
        self.threads: list[threading.Thread] = []
        self.listed = False  # whether the studies were read
        self.read_only = False  # then nothing is written, not even that a notice was shown
        self.looked = 0.0  # when the journal was last read for a pending change

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Start to carry out a request; returns at once."""
        able = (
            getattr(one, f"do_{ask.verb}", None) for one in (self, self.planning, self.changing)
        )
        work = next(filter(None, able), None)
        if work is None:
            self.post(note(f"{ask.verb} cannot be done from the screen", "warn"))
            return
        if not self.source.live:
            self.post(note(recording(origin(self.source)), "warn"))
            return

        self._spawn(ask.verb, lambda: work(ask, view, scene))

    def _spawn(self, name: str, work: Callable[[], None]) -> None:
        """Do it in a thread; an error becomes a note."""

        def run() -> None:
            try:
                work()
            except Exception as error:
                from ..terms.errors import sentence

                self.post(note(f"{name}: {sentence(error)}", "bad"))

        thread = threading.Thread(target=run, name=f"nettop-{name}", daemon=True)
        self.threads = [*(t for t in self.threads if t.is_alive()), thread]
        thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for running requests; False when some still run."""
        end = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)

    def start(self) -> None:
        """Read the journal and the results for the first time; post the messages of the journal."""

        def run() -> None:
            self.reload()
            if self.source.live and not self.read_only:
                for told in notices():
                    self.post(note(told, "warn"))

        self._spawn("journal", run)

    def stop(self) -> None:
        """End a running test; its far side is stopped by it."""
        self.bench.stop()

    def know(self, scene: Scene, view: View) -> None:
        """Take note of the latest scene; re-read the journal while a change is pending."""
        now = time.monotonic()
        if "studies" in pane(view.pane).LAZY and not self.listed:
            self.listed = True
            self._spawn("studies", self._studies)
        if scene.pending and now - self.looked > LOOK:  # the guard may have reverted it
            self.looked = now
            self._spawn("journal", self.reload)

    # -- what is kept -----------------------------------------------------------------------------

    def reload(self) -> None:
        """Read journal and results afresh; another host's journal is not here."""
        here = self.source.live or self.changing.given is not None
        made, pending = journal(self.changing.host()) if here else ((), ())
        if self.changing.rooted:  # changes through sudo are in root's journal
            made, pending = (*made, *(more := root_journal())[0]), (*pending, *more[1])
        found = stored()
        self.post(lambda scene: replace(scene, journal=made, pending=pending, results=found))

    def _studies(self) -> None:
        from ..trials import names, tool

        found, about = studies(), {name: str(tool(name).HELP) for name in names()}
        self.post(lambda scene: replace(scene, studies=found, about=about))

    def _altered(self) -> None:
        self.reload()
        self.changed()

    # -- tests ------------------------------------------------------------------------------------

    def do_stop(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """End the running test."""
        if not self.bench.stop():
            self.post(note("no test runs", "warn"))

    def do_test(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Run the test of the form."""
        self.bench.test(values(view))

    def do_study(self, ask: Ask, view: View, scene: Scene) -> None:
        """Ask before a published table is repeated, with what it needs."""
        paper = next((p for p in scene.studies if p.id == ask.target), None)
        if paper is None:
            return
        form = values(view)
        if not form["to"]:
            self.post(note("enter the address of the peer first", "warn"))
            return
        each = options_of(form).seconds
        runs = [point for point in paper.points if not point[2]]
        told = [
            line(f" {paper.title}"),
            line((f" {paper.paper}, {paper.place}; tool {paper.tool}", "dim")),
            line(f" {len(runs)} points of {each:g} s and more, to {form['to']}"),
            *(line((f" {sentence}", "warn")) for sentence in paper.requires),
            *settings_of(paper.id),
        ]
        title = f"Repeat study {paper.id}"
        yes = "run it (Ctrl-X stops)"
        self.post(asked(Question(title, (("", tuple(told)),), "study", yes, finding=paper.id)))

    def do_agree(self, ask: Ask, view: View, scene: Scene) -> None:
        """The question was answered with yes."""
        question = scene.question
        if question is None:
            return
        if question.verb == "study":
            self.bench.study(question.finding, values(view))
        elif question.verb == "prove":
            moved = self.changing.moved(changes_of(question))
            if moved:
                self.post(note(f"not started: {moved}. Look at the plan again", "bad"))
                return
            self.bench.prove(question.finding, question.wanted, values(view))
        else:
            self.changing.agree(question, ask.value)


def settings_of(study: str) -> list[Line]:
    """The settings that points of a study change for their run, a line each."""
    from ..trials.study import load

    told = dict.fromkeys(
        (name.replace("{nic}", "the interface used"), value)
        for point in load(study).points
        if not point.skip
        for name, value in point.settings.items()
    )
    if not told:
        return [line((" No point changes a setting.", "dim"))]
    out = [line((" Set for the run of one point, then reverted:", "dim"))]
    return out + [line(f"   {name} = ", (value, "strong")) for name, value in told]
