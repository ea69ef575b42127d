"""What keys do to the host: apply, undo, confirm, set, mute, test. Each in a thread of its own.

Nothing here draws. An action ends by posting a function from scene to scene: a note, a new journal,
the progress of a test.
"""

from __future__ import annotations

import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..panes.scene import Scene, View
from ..panes.tests import values
from ..source import Source
from .kept import journal, stored
from .notes import Post, note
from .trying import Bench

if TYPE_CHECKING:
    from ..changes import Result as Outcome
    from .keys import Ask

LOOK: Final = 3.0  # seconds between looks at the journal while a change is pending
GOOD: Final = frozenset({"applied", "rounded", "unchanged", "undone", "reverted", "void"})


class Actions:
    """Does what keys ask for, on this host."""

    def __init__(self, source: Source, post: Post, changed: Callable[[], None]) -> None:
        """`post` may be called from any thread; `changed` tells the engine to read anew."""
        self.source = source
        self.post = post
        self.changed = changed
        self.bench = Bench(post, self.reload)
        self.busy = threading.Lock()
        self.threads: list[threading.Thread] = []
        self.looked = 0.0  # when the journal was last read for a pending change

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Start what was asked for; returns at once."""
        work = getattr(self, f"do_{ask.verb}", None)
        if work is None:
            self.post(note(f"{ask.verb} cannot be done from the screen yet", "warn"))
            return
        if not self.source.live and ask.verb != "mute":
            self.post(
                note("this is a recording or a directory: nothing can be changed or tested", "warn")
            )
            return

        def run() -> None:
            try:
                work(ask, view, scene)
            except Exception as error:
                from ..sampler import reason

                self.post(note(f"{ask.verb}: {reason(error)}", "bad"))

        thread = threading.Thread(target=run, name=f"nettop-{ask.verb}", daemon=True)
        self.threads = [*(t for t in self.threads if t.is_alive()), thread]
        thread.start()

    def wait(self, seconds: float) -> bool:
        """Let what was begun come to its end: a change written, a trial taken back."""
        end = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)

    def start(self) -> None:
        """Read the journal and the results for the first time."""

        def run() -> None:
            try:
                self.reload()
            except Exception as error:
                from ..sampler import reason

                self.post(note(f"journal: {reason(error)}", "warn"))

        threading.Thread(target=run, name="nettop-journal", daemon=True).start()

    def stop(self) -> None:
        """End a running test; its far side is stopped by it."""
        self.bench.stop()

    # -- changes ---------------------------------------------------------------------------------

    def do_apply(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Apply a finding's changes; those that are offers to test are left to `p`."""
        finding = scene.finding(ask.target)
        if finding is None:
            self.post(note("no finding is under the cursor: choose one in 1 or 5", "warn"))
            return
        sure = [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        if not sure and finding.wanted:
            self.post(note("this is an offer to test, not a certainty: p proves it", "warn"))
            return
        if not sure:
            self.post(note("this finding is advice in words: there is nothing to apply", "warn"))
            return
        self._change(sure, finding.id)

    def do_set(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Set one setting to the value typed."""
        self._change([(ask.target, ask.value)], "")

    def do_spread(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """One core of its node for each receive interrupt of an interface, in order."""
        facts = scene.facts
        if facts is None:
            return
        nic = next((n for n in facts.nics if n.name == ask.target), None)
        queues = [q for q in facts.queues if q.nic == ask.target and q.irq is not None]
        if nic is None or not queues:
            self.post(note("choose an interface with queues first (i)", "warn"))
            return
        near = nic.local_cpus or tuple(c.cpu for c in facts.cores)
        online = {c.cpu for c in facts.cores}
        near = tuple(cpu for cpu in near if cpu in online) or tuple(sorted(online))
        seen: set[int] = set()
        wanted = []
        for queue in sorted(queues, key=lambda q: (q.number, q.direction)):
            if queue.irq is not None and queue.irq not in seen:
                seen.add(queue.irq)
                wanted.append(
                    (
                        f"irq.affinity@{queue.nic}/{queue.name}",
                        str(near[(len(seen) - 1) % len(near)]),
                    )
                )
        self._change(wanted, "")

    def _change(self, wanted: Iterable[tuple[str, str]], finding: str) -> None:
        from ..changes import place
        from ..changes.apply import Terms, apply
        from ..changes.journal import Journal
        from ..changes.plan import plan
        from ..settings import Host

        changes = plan(wanted, self.source)
        if not changes:
            self.post(note("it is so already: nothing to change", "good"))
            return
        if os.geteuid() != 0:
            self.post(note(f"not root; type: {sudo_line(changes, finding)}", "warn"))
            return
        carries = tuple(self._ssh())
        terms = Terms(finding=finding, who=place.who(), carries=carries)
        with self.busy:
            results = apply(changes, Host(), Journal(), terms)
        self._told(results)

    def _ssh(self) -> Iterable[str]:
        from ..observe import ssh_peer

        if ssh_peer() is None:
            return ()
        return (nic.name for nic in self._facts_nics if nic.carries_ssh)

    _facts_nics: tuple[Any, ...] = ()

    def know(self, scene: Scene) -> None:
        """The latest scene: which interface carries the SSH session, what waits for a word."""
        if scene.facts is not None:
            self._facts_nics = scene.facts.nics
        now = time.monotonic()
        if scene.pending and now - self.looked > LOOK:  # the guard may have taken it back
            self.looked = now
            self.start()

    def do_undo(self, ask: Ask, view: View, scene: Scene) -> None:
        """Take back the entry under the cursor of the journal, else the newest that stands."""
        from ..changes.journal import Journal
        from ..changes.undo import undo
        from ..settings import Host

        standing = [
            m for m in scene.journal if m.state in ("applied", "rounded", "pending", "begun")
        ]
        number = ask.target if view.pane == "journal" else ""
        if not number:
            number = max(standing, key=lambda m: m.wall).id if standing else ""
        if not number:
            self.post(note("nothing to undo: the journal has no change that stands", "warn"))
            return
        if os.geteuid() != 0:
            self.post(note(f"not root; type: sudo nettop undo {number}", "warn"))
            return
        with self.busy:
            results = undo(Journal(), Host(), (int(number),))
        self._told(results)

    def do_confirm(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Keep everything that waits for its confirmation."""
        from ..changes import guard
        from ..changes.journal import Journal

        if not scene.pending:
            self.post(note("no change waits for a confirmation", "warn"))
            return
        if os.geteuid() != 0:
            self.post(note("not root; type: sudo nettop confirm", "warn"))
            return
        results = guard.confirm(Journal())
        self._told(results)

    def do_persist(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Say how what is under the cursor survives a reboot; written by `--keep` as root."""
        made = next((m for m in scene.journal if m.id == ask.target), None)
        if made is not None:
            words = ["nettop", "set", made.setting, made.after, "--keep"]
            self.post(note(f"to keep it over reboots: sudo {shlex.join(words)}", "key"))
        elif scene.finding(ask.target) is not None:
            self.post(
                note(f"to keep it over reboots: sudo nettop apply --keep {ask.target}", "key")
            )
        else:
            self.post(note("nothing under the cursor to keep", "warn"))

    def do_mute(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Do not show this finding any more."""
        from ..config import user_folder

        if scene.finding(ask.target) is None or "\n" in ask.target:
            self.post(note("no finding is under the cursor", "warn"))
            return
        folder = user_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "muted").open("a", encoding="utf-8") as file:
            file.write(f"{ask.target}\n")
        kept = ask.target

        def without(old: Scene) -> Scene:
            left = tuple(f for f in old.findings if f.id != kept)
            return replace(old, findings=left, muted=old.muted | {kept})

        self.post(without)
        self.post(note(f"muted {kept}; nettop mute --remove {kept} brings it back", "good"))

    def _told(self, results: Iterable[Outcome]) -> None:
        for result in results:
            role = (
                "good" if result.state in GOOD else "warn" if result.state == "pending" else "bad"
            )
            after = result.after if result.after is not None else result.wanted
            because = f" ({result.because})" if result.because else ""
            back = result.state in ("undone", "reverted")
            how = f"back to {after}" if back else f"{result.before} → {after}"
            self.post(note(f"{result.setting}: {how}: {result.state}{because}", role))
        self.reload()
        self.changed()

    # -- what is kept -----------------------------------------------------------------------------

    def reload(self) -> None:
        """Read journal and results afresh."""
        made, pending = journal()
        found = stored()
        self.post(lambda scene: replace(scene, journal=made, pending=pending, results=found))

    # -- tests ------------------------------------------------------------------------------------

    def do_stop(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """End the running test."""
        if not self.bench.stop():
            self.post(note("no test runs", "warn"))

    def do_test(self, ask: Ask, view: View, scene: Scene) -> None:  # noqa: ARG002
        """Run the test of the form."""
        self.bench.test(values(view))

    def do_prove(self, ask: Ask, view: View, scene: Scene) -> None:
        """Prove the finding under the cursor with the address and peer of the form."""
        finding = scene.finding(ask.target)
        if finding is None or not finding.wanted:
            self.post(note("nothing under the cursor to prove: choose a finding in 1 or 5", "warn"))
            return
        form = values(view)
        if os.geteuid() != 0:
            words = ["sudo", "nettop", "prove", finding.id, "--to", form["to"] or "ADDRESS"]
            words += ["--peer", form["peer"]] if form["peer"] else []
            self.post(note(f"not root; type: {shlex.join(words)}", "warn"))
            return
        self.bench.prove(finding, form)


def sudo_line(changes: Iterable[Any], finding: str) -> str:
    """What a user without rights can type."""
    if finding:
        return f"sudo nettop apply {shlex.quote(finding)}"
    return "; ".join(
        f"sudo nettop set {shlex.quote(c.setting)} {shlex.quote(c.after)}" for c in changes
    )
