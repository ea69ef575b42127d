"""The switch of an experiment at another host, by the nettop that is installed there.

State 1 is a command there (`nettop set --hold`) that works as long as its connection: if nettop
ends here, or the connection breaks or is silent, it reverts the change, under the keeper of that
host. Between the runs nothing runs there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from .. import settings
from ..changes import Change, Result, privilege
from ..changes.apply import CONFIRM
from ..changes.remote import AbsentError, Remote
from ..facts.pair.words import called
from ..files import own
from ..host import prefix
from ..host.once import Held
from ..host.source import HostLostError
from ..terms.errors import sentence
from .lever import LeverError, pause, row

if TYPE_CHECKING:
    from ..host.distant import Distant

_MADE: Final = frozenset({"applied", "rounded", "unchanged", "pending"})
_LATER: Final = "the change there is reverted when that host notices"


def lever(there: Distant, wanted: Sequence[tuple[str, str]], finding: str) -> Elsewhere:
    """The lever for these settings of that host, as the nettop there plans them; LeverError."""
    remote = Remote(there.prefix, root=there.root)
    try:
        planned, _ = remote.plan(wanted, CONFIRM)
        changes = [
            Change(
                one.setting, one.before, one.wanted,
                identity=settings.identity(there, settings.parse(one.setting)),
            )
            for one in planned
            if one.state != "unchanged"
        ]  # fmt: skip
        refused = next((one.because for one in planned if one.state == "refused"), "")
    except AbsentError as error:
        put = f'{own.called()} --host "{remote.name}" --install puts it there'
        raise LeverError(f"{error}: {put}") from None
    except (OSError, ValueError) as error:
        raise LeverError(sentence(error)) from None
    if refused:
        raise LeverError(f"{called(remote.name)}: {refused}")
    return Elsewhere(remote, changes, finding, [one.shell for one in planned])


class Elsewhere:
    """A lever for settings of another host: state 0 is the original one, 1 has the changes."""

    def __init__(
        self, remote: Remote, changes: Sequence[Change], finding: str, shells: Sequence[str] = ()
    ) -> None:
        """`changes` as the nettop there planned them, `shells` their equivalent commands."""
        self.remote, self.finding, self.changes = remote, finding, tuple(changes)
        self.where = called(remote.name)
        self.pause = pause([settings.risk(one.address) for one in changes])
        texts = (*shells, *("" for _ in changes))
        self.rows: list[dict[str, Any]] = [
            row(one.setting, one.before, one.after, text)
            for one, text in zip(changes, texts, strict=False)
        ]
        self._held: Held | None = None

    @property
    def way(self) -> str:
        """With the prefix, and the path where it was found there."""
        return self.remote.way

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def put(self, state: int) -> None:
        """Make or revert the changes; LeverError."""
        if state and self._held is None:
            try:
                self._held = self.remote.hold(self.changes, self.finding)
            except OSError as error:
                raise LeverError(str(error)) from None
        elif not state:
            self.restore()

    def restore(self) -> None:
        """End the command there, which reverts the changes; LeverError if it did not."""
        held, self._held = self._held, None
        if held is None:
            return
        try:
            answer = held.end()
        except HostLostError as error:
            raise LeverError(f"{error}; {_LATER}") from None
        if answer.code:
            reason = answer.reason.removeprefix("nettop: ")
            raise LeverError(f"{self.where}: {reason or f'{prefix.ended(answer.code)}; {_LATER}'}")

    def keep(self, state: int) -> tuple[Result, ...]:  # noqa: ARG002 - there is one change
        """Make the changes permanently, and confirm there those that wait for it; the results.

        A confirmation over the changed link shows that the link works. LeverError.
        """
        self.restore()
        try:
            made = self.remote.change(
                self.changes, privilege.options(CONFIRM, finding=self.finding)
            )
            failed = next((r for r in made if r.state not in _MADE), None)
            if failed is not None:
                because = failed.because or failed.state
                raise LeverError(f"{self.where}: {failed.setting}: {because}")
            for one in made:
                if one.state == "pending":
                    self.remote.confirm(str(one.id))
        except OSError as error:
            raise LeverError(str(error)) from None
        return made
