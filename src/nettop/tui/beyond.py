"""Changes at the other end of the flows (--peer): by the same keys, confirmed and undone there.

As `away` makes changes at the host of --host, this makes them at the host of --peer, by the nettop
that is installed there. Its journal stands beside that of this host; its entries have the prefix
`PEERS`. A key does its work at one end only: at that of the finding, the question or the newest
change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..changes.remote import AbsentError
from ..views.ask import Ask
from ..views.kept import PEERS
from ..views.scene import JournalEntry, Pending, Scene
from ..views.view import View
from .away import Away
from .notes import Post, note
from .planning import Planning, to_undo
from .remote import Proving

if TYPE_CHECKING:
    from .peering import Peering

# what these do is the same whatever finding is under the cursor, or depends on the journal
_WHATEVER: Final = ("undo", "mute", "confirm", "record", "stop")


class Beyond:
    """Carries out requests at the other end."""

    def __init__(
        self, peering: Peering, post: Post, altered: Callable[[], None], proving: Proving,
        binary: str = "",
    ) -> None:  # fmt: skip
        """`peering` has the other end once it is connected; `altered` is called after a change.

        `binary`: see `Away`.
        """
        self.binary = binary
        self.peering = peering
        self.proving = proving
        self.post = post
        self.altered = altered
        self.entries: tuple[JournalEntry, ...] = ()  # as they were read last
        self.pending: tuple[Pending, ...] = ()
        self._away: Away | None = None

    @property
    def host(self) -> str:
        """The name of the other end."""
        return self.peering.shown.hosts[1]

    def away(self) -> Away | None:
        """What makes changes there; None before the first connection."""
        far = self.peering.far
        if self._away is None and far is not None:
            self._away = Away(
                far, far.batches, self.post, self.altered, self.proving, self.host, self.binary
            )
        return self._away

    def concerns(self, ask: Ask, view: View, scene: Scene) -> bool:
        """Whether the request is for the other end."""
        finding = scene.finding(ask.target) if ask.target else None
        if finding is not None and finding.host and ask.verb not in _WHATEVER:
            return True
        if ask.verb == "persist":
            return ask.target.startswith(PEERS)
        if ask.verb == "agree":
            question = scene.question
            return question is not None and question.host != ""
        if ask.verb == "undo":
            entries = to_undo(ask.target, view, scene)
            return bool(entries) and entries[0].id.startswith(PEERS)
        return False

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Carry out such a request."""
        away = self.away()
        if away is None:
            self.post(note(f"{self.host} is not connected yet: y copies the command", "warn"))
            return
        if ask.verb == "apply":
            Planning(away.source, self.post, away.propose).do_apply(ask, view, scene)
        elif ask.verb == "export":
            Planning(away.source, self.post).do_export(ask, view, scene)
        elif ask.verb == "agree":
            away.do_agree(ask, view, scene)
        elif ask.verb == "persist":
            away.do_persist(ask, view, scene)
        elif ask.verb == "undo":
            away.ask_undo(ask, view, theirs(scene))
        elif ask.verb == "prove":
            away.do_prove(ask, view, scene)
        else:
            why = f"this is a finding of {self.host}: {ask.verb} works on this host only"
            self.post(note(f"{why}; a applies it there, y copies its commands", "warn"))

    def confirm(self, pending: tuple[Pending, ...]) -> None:
        """Confirm those changes there."""
        away = self.away()
        if away is not None:
            away.confirm(pending)

    def read(self) -> tuple[tuple[JournalEntry, ...], tuple[Pending, ...]]:
        """Entries and pending changes there; where they cannot be read, those read last."""
        away = self.away()
        if away is None or not away.used:
            return self.entries, self.pending
        try:
            self.entries, self.pending = away.journal()
        except AbsentError:
            self.entries, self.pending = (), ()
        except OSError as error:
            self.post(note(f"journal of {self.host}: {error}", "bad"))
        return self.entries, self.pending


def theirs(scene: Scene) -> Scene:
    """The scene with the journal of the other end only."""
    return _of(scene, there=True)


def ours(scene: Scene) -> Scene:
    """The scene without the journal of the other end."""
    return _of(scene, there=False)


def _of(scene: Scene, *, there: bool) -> Scene:
    journal = (one for one in scene.journal if one.id.startswith(PEERS) == there)
    pending = (one for one in scene.pending if one.id.startswith(PEERS) == there)
    return replace(scene, journal=tuple(journal), pending=tuple(pending))
