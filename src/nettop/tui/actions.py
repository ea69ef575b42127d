"""Carries out the requests of keys: questions (`planning`), changes (`changing`), tests (`trying`).

Each request runs in a thread and posts updates of the scene: a note, a new journal, the progress of
a test. Nothing here draws.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ..config import save
from ..host.source import Source
from ..panes import pane
from ..settings import Host
from ..terms.text import Line, line
from ..views.ask import Ask
from ..views.build import NOTES, later
from ..views.form import values
from ..views.kept import PEERS, journal, journal_version, notices, root_journal, stored, studies
from ..views.scene import JournalEntry, Question, Scene, changed, origin_of
from ..views.view import View
from .away import VERBS as ELSEWHERE
from .away import Away
from .beyond import Beyond, ours
from .changing import Changing, changes_of
from .experiments import Experiments
from .notes import Post, Update, ask_question, not_this_host, note, reverts
from .planning import Planning
from .playing import VERBS as PLAYED
from .playing import Playing
from .remote import Proving
from .trying import TrialBench, options_of

if TYPE_CHECKING:
    from ..host.played import Played

JOURNAL_EVERY: Final = 3.0  # seconds between reads of the journal while a change is pending
COUNT_EVERY: Final = 1.0  # seconds between the figures of the countdown of changes
AWAY_EVERY: Final = 10.0  # the same for the journal of another host: each is a connection


class Actions:
    """Carries out requests on this host."""

    def __init__(
        self, source: Source, post: Post, changed: Callable[[], None], host: Host | None = None,
        binary: str = "",
    ) -> None:  # fmt: skip
        """`post` may be called from any thread; `changed` makes the engine read everything again.

        Changes are written to `host`; None: this machine. `binary`: see `Away`.
        """
        self.source = source
        self.post = post
        self.changed = changed
        self.bench = TrialBench(post, self.reload)
        batches = source.batches
        far = batches is not None and bool(batches.prefix)
        self.beyond: Beyond | None = None  # the other end of the flows
        self.proving = Proving(self.bench, self.prefixes)
        self.away = (
            Away(source, batches, post, self.altered, self.proving, binary=binary)
            if batches and far
            else None
        )
        self.planning = Planning(source, post, self.away.propose if self.away else None)
        self.experiments = Experiments(self.planning)
        played = cast("Played", source) if getattr(source, "plays", False) else None
        self.playing = Playing(played, post, changed) if played is not None else None  # the demo
        self.changing = Changing(source, post, self.altered, host)
        self.threads: list[threading.Thread] = []
        self.studies_read = False
        self.read_only = False  # write nothing, not even that a notice was shown
        self.journal_read = 0.0  # time of the last read of the journal for a pending change
        self.counts = False  # whether a thread lets the countdown of changes run on
        self.journal_seen = (0, 0)  # its version when it was read last
        self.reading = threading.Lock()  # what was read first is posted first

    def prefixes(self) -> tuple[str, str]:
        """The command prefixes of the host shown and of that of --peer; empty: none."""
        near = self.source.batches
        far = self.beyond.peering.far if self.beyond is not None else None
        words = (near.prefix if near else (), far.batches.prefix if far else ())
        return shlex.join(words[0]), shlex.join(words[1])

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Start to carry out a request; returns at once."""
        playing = self.playing
        if playing is not None and ask.verb in PLAYED:
            self._spawn(ask.verb, lambda: playing.do(ask, view, scene))
            return
        beyond = self.beyond
        if beyond is not None and beyond.concerns(ask, view, scene):
            self._spawn(ask.verb, lambda: beyond.do(ask, view, scene))
            return
        if beyond is not None and ask.verb in ("confirm", "undo"):
            theirs = tuple(one for one in scene.pending if one.id.startswith(PEERS))
            scene = ours(scene)
            if ask.verb == "confirm" and theirs:
                self._spawn(ask.verb, lambda: beyond.confirm(theirs))
                if not scene.pending:
                    return
        # the list of muted findings belongs to the user, whatever host is shown
        mutes = ask.verb == "mute" or (ask.verb == "agree" and _mutes(scene))
        away = ask.verb in ELSEWHERE and self.away is not None and not mutes
        parts = (self, self.planning, self.experiments, self.changing)
        methods = (
            getattr(part, f"do_{ask.verb}", None)
            for part in ((self.away, self.planning) if away else parts)
        )
        work = next(filter(None, methods), None)
        if work is None:
            self.post(note(f"{ask.verb} cannot be done from the screen", "warn"))
            return
        shown = ask.verb == "export" and self.source.batches is not None  # shown, not written
        # a file of the user or a test that runs, not the host that is shown
        own = ask.verb in ("write", "stop") or (mutes and self.away is not None)
        origin = origin_of(self.source)
        if origin is not None and not away and not shown and not own:
            self.post(note(not_this_host(origin), "warn"))
            return
        plans = any(hasattr(part, f"do_{ask.verb}") for part in (self.planning, self.experiments))
        if self.changing.depth and plans:
            self.post(note("a change is being written: press the key again after it", "warn"))
            return
        self._spawn(ask.verb, lambda: work(ask, view, scene))

    def _spawn(self, name: str, work: Callable[[], None]) -> None:
        """Run `work` in a thread; an error becomes a note."""

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
                for message in notices():
                    self.post(note(message, "warn"))

        self._spawn("journal", run)

    def stop(self) -> None:
        """End a running test, which also ends its processes on the other host."""
        self.bench.stop()
        if self.playing is not None and self.playing.cancel is not None:
            self.playing.cancel.set()

    def follow(self, scene: Scene, view: View) -> None:
        """Read what the pane shown needs.

        The journal is read again while a change is pending, and when another nettop wrote to it.
        """
        if self.playing is not None:
            self.playing.follow(scene)
        if scene.pending and self.playing is None and not self.counts:
            self.counts = True
            timer = threading.Timer(COUNT_EVERY, self._count)
            timer.daemon = True
            timer.start()
        now = time.monotonic()
        lazy = pane(view.pane).LAZY
        if "studies" in lazy and not self.studies_read:
            self.studies_read = True
            self._spawn("studies", self._studies)
        if "journal" in lazy and self.away is not None and not self.away.used:
            self.away.used = True
            self._spawn("journal", self.reload)
        self._ask_there(scene)
        far = self.away is not None or any(one.id.startswith(PEERS) for one in scene.pending)
        every = AWAY_EVERY if far else JOURNAL_EVERY
        due = (
            bool(scene.pending) and self.playing is None and now - self.journal_read > every
        )  # a guard may have reverted
        if self.reading.locked():  # what it misses is seen by the next call
            return
        if due or (self._here() and journal_version() != self.journal_seen):
            self.journal_read = now
            if scene.progress is None and self._here() and journal_version() != self.journal_seen:
                self.changed()  # by another nettop, or by a guard; a test is not disturbed
            self._spawn("journal", self.reload)

    def _ask_there(self, scene: Scene) -> None:
        """Where another host has a finding with a change: ask once whether it can be made there."""
        theirs = self.beyond.away() if self.beyond is not None and scene.peer is not None else None
        plans = (scene.plans, scene.peer.plans if scene.peer is not None else {})
        for away, steps in zip((self.away, theirs), plans, strict=True):
            if away is not None and not away.asked and any(steps.values()):
                away.asked = True
                self._spawn("nettop there", away.ask)

    def _count(self) -> None:
        """Let the countdown of changes run on without a picture; `follow` begins the next."""
        self.counts = False
        self.post(later)

    # -- stored data -----------------------------------------------------------------------------

    def _here(self) -> bool:
        """Whether the journal of this machine is shown."""
        return self.source.live or self.changing.given is not None

    def reload(self) -> None:
        """Read journal and results again; for a recording, results only.

        The journal of another host is read once it is wanted: that is a connection of its own.
        """
        with self.reading:
            self.journal_seen = journal_version()  # before it is read: a later line is read again
            entries, pending = journal(self.changing.host()) if self._here() else ((), ())
            if self.away is not None and self.away.used:
                entries, pending = self.away.journal()
            if self.beyond is not None:
                peer_entries, peer_pending = self.beyond.read()
                entries, pending = (*entries, *peer_entries), (*pending, *peer_pending)
            if self.changing.used_sudo:  # changes through sudo are in root's journal
                root_entries, root_pending = root_journal()
                entries, pending = (*entries, *root_entries), (*pending, *root_pending)
            results = stored()

            def read(scene: Scene) -> Scene:
                told = (*scene.notes, *reverts(scene.pending, entries))[-NOTES:]
                return replace(scene, journal=entries, pending=pending, results=results, notes=told)

            self.post(read)

    def changes_made(self) -> tuple[JournalEntry, ...]:
        """The journal as it is now; of another host, as it was read last. Empty if unreadable."""
        beyond = self.beyond.entries if self.beyond is not None else ()
        if self.away is not None:
            return (*self.away.entries, *beyond)
        try:
            entries = journal(self.changing.host())[0]
        except OSError:
            entries = ()
        roots = root_journal()[0] if self.changing.used_sudo else ()
        return (*entries, *roots, *beyond)

    def _studies(self) -> None:
        from ..trials import names, tool

        papers, about = studies(), {name: str(tool(name).HELP) for name in names()}
        self.post(lambda scene: replace(scene, studies=papers, about=about))

    def altered(self) -> None:
        """A host was changed: read journal and host again."""
        self.reload()
        self.changed()

    def do_write(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Write the options to the user's config.toml."""
        self.post(save_options(view, scene))

    # -- tests ------------------------------------------------------------------------------------

    def do_stop(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """End the running test."""
        if not self.bench.stop():
            self.post(note("no test runs", "warn"))

    def do_test(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Run the test of the form."""
        self.bench.test(values(view))

    def do_study(self, ask: Ask, view: View, scene: Scene) -> None:
        """Ask before a published table is repeated; show its requirements."""
        paper = next((p for p in scene.studies if p.id == ask.target), None)
        if paper is None:
            return
        form = values(view)
        if not form["to"]:
            self.post(note("enter the address of the peer first", "warn"))
            return
        each = options_of(form).seconds
        runs = [point for point in paper.points if not point[2]]
        rows = [
            line(f" {paper.title}"),
            line((f" {paper.paper}, {paper.place}; tool {paper.tool}", "dim")),
            line(f" {len(runs)} points of {each:g} s and more, to {form['to']}"),
            *(line((f" {sentence}", "warn")) for sentence in paper.requires),
            *settings_of(paper.id),
        ]
        title = f"Repeat study {paper.id}"
        yes = "run it (Ctrl-X stops)"
        question = Question(title, (("", tuple(rows)),), "study", yes, finding=paper.id)
        self.post(ask_question(question))

    def do_agree(self, ask: Ask, view: View, scene: Scene) -> None:
        """The question was answered with yes."""
        question = scene.question
        if question is None:
            return
        tests = question.verb in ("prove", "tune")
        if tests and (outdated := self.changing.outdated(changes_of(question))):
            self.post(note(f"not started: {outdated}. Look at the plan again", "bad"))
        elif question.verb == "study":
            self.bench.study(question.finding, values(view))
        elif question.verb == "prove":
            finding = scene.finding(question.finding)
            predicted = finding.predicted if finding is not None else None
            self.bench.prove(question.finding, question.wanted, values(view), predicted)
        elif question.verb == "sweep":
            self.bench.sweep(question.wanted, values(view))
        elif question.verb == "tune":
            known = (scene.finding(name) for name in question.entries)
            self.bench.tune([one for one in known if one is not None], values(view))
        else:
            self.changing.agree(question, ask.value)


def _mutes(scene: Scene) -> bool:
    """Whether the question is about a mute."""
    return scene.question is not None and scene.question.verb in ("mute", "unmute")


def settings_of(study: str) -> list[Line]:
    """The settings that the points of a study change while they run, one per line."""
    from ..trials.study import load

    settings = dict.fromkeys(
        (name.replace("{nic}", "the interface used"), value)
        for point in load(study).points
        if not point.skip
        for name, value in point.settings.items()
    )
    if not settings:
        return [line((" No point changes a setting.", "dim"))]
    out = [line((" Set for the run of one point, then reverted:", "dim"))]
    return out + [line(f"   {name} = ", (value, "strong")) for name, value in settings]


def save_options(view: View, scene: Scene) -> Update:
    """Write the changed options; returns the update of the scene.

    ConfigError, one sentence, if the file cannot be changed; it is then as before.
    """
    values = changed(scene, view)
    if not values:
        return note("every option is in config.toml or as at the start", "dim")
    path = save(values)
    message = note(f"written to {path}: {', '.join(values)}", "good")
    return lambda now: message(replace(now, stored={**now.stored, **values}))
