"""Changes to a host: plan, journal, write, re-read, confirm or revert, undo, persist, export.

Every write is preceded by a journal entry on disk. A change that may cut the link reverts unless
it is confirmed. Every change can be listed, and reverted to the exact previous value.

`apply` writes changes. `chain` decides which unconfirmed changes belong together, and the values
that they revert to. `guard` is the process that reverts them, and `confirm`. `undo` reverts entries
at once; `retract` is the undo of a user, which needs a confirmation itself if it may cut the link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terms.dataclass import dataclass

if TYPE_CHECKING:
    from ..settings import Address

STATES = (
    "planned",  # a dry run: `after` is the value that would be written
    "applied",  # the host shows the written value
    "rounded",  # the driver chose another value, which is `after`
    "held",  # applied; reverts when the nettop that tests it ends
    "pending",  # applied; reverts at `deadline` unless confirmed
    "reverted",  # by the guard
    "undone",  # by the user
    "unchanged",  # the host had the value already
    "conflict",  # another program changed the value: nothing was written
    "refused",  # not done; `because` says why
    "void",  # lost by the host itself (reboot, interface created anew, process ended)
)


@dataclass(frozen=True, slots=True)
class Change:
    """A setting, its current value and the wanted value, as canonical texts.

    An undo that needs a confirmation is a change as well: `undoes` are the entries that it reverts,
    `also` the side effects that it restores with them. `asked` is the text to write, if the host
    shows another value than was written. `identity` is the device or process that was shown with
    the change: nothing is written to another one of the same name.
    """

    setting: str
    before: str
    after: str
    undoes: tuple[int, ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    asked: str = ""
    identity: str = ""

    @property
    def address(self) -> Address:
        """The setting, parsed; settings.UnknownError (a LookupError) for an unknown setting."""
        from .. import settings

        return settings.parse(self.setting)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a change. `after` is the value read after it; None if unknown."""

    setting: str
    before: str
    wanted: str
    state: str  # one of STATES
    id: int | None = None
    after: str | None = None
    shell: str = ""
    because: str = ""
    deadline: float | None = None  # seconds since 1970

    def json(self) -> dict[str, object]:
        """The JSON of the command line, without unknown fields."""
        document = {
            "id": self.id,
            "setting": self.setting,
            "before": data(self.setting, self.before),
            "wanted": data(self.setting, self.wanted),
            "after": None if self.after is None else data(self.setting, self.after),
            "state": self.state,
            "shell": self.shell,
            "risk": risk(self.setting),
            "because": self.because or None,
            "deadline": self.deadline,
        }
        return {key: value for key, value in document.items() if value is not None}


def data(setting: str, value: str) -> int | str | list[int]:
    """The value of a setting as JSON; the text itself for an unknown setting."""
    from .. import settings

    try:
        return settings.data(settings.parse(setting), value)
    except LookupError:
        return value


def risk(setting: str) -> str | None:
    """The risk of writing a setting; None for an unknown setting."""
    from .. import settings

    try:
        return settings.risk(settings.parse(setting))
    except LookupError:
        return None


def text(value: int | str | list[int]) -> str:
    """The canonical text of a value of `data`."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


__all__ = ["STATES", "Change", "Result", "data", "risk", "text"]
