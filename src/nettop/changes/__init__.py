"""Changes to a host: plan, journal, write, re-read, confirm or revert, undo, persist, export.

Nothing is written that is not first in the journal, on the disk. What may cut the link reverts by
itself unless confirmed. What nettop did can always be seen, and taken back exactly.

`apply` writes changes. `chain` says which unconfirmed changes belong together, and where they go
back to. `guard` is the process that takes them back, and `confirm`. `undo` takes entries back at
once; `retract` is the undo that a person asks for, which waits to be confirmed itself where it may
cut the link.
"""

from __future__ import annotations

from dataclasses import dataclass

STATES = (
    "planned",  # would be done: `after` is what the host would be asked for
    "applied",  # the host shows what was asked for
    "rounded",  # the driver took another value, which is what `after` says
    "pending",  # applied; reverts at `deadline` unless confirmed
    "reverted",  # taken back by the guard
    "undone",  # taken back by hand
    "unchanged",  # it was so already
    "conflict",  # something else changed it meanwhile: nothing was touched
    "refused",  # not done; `because` says why
    "void",  # forgotten by the host itself (reboot, interface made anew, process gone)
)


@dataclass(frozen=True, slots=True)
class Change:
    """A setting, its value now, and the value wanted; canonical texts.

    An undo that waits for its confirmation is a change as well: it names the entries that it takes
    back, and the other settings that it puts back with them. `asked` is what to write, where the
    host shows another value than was asked for. `identity` is the device or process that was shown
    with the change; nothing is written to another one of the same name.
    """

    setting: str
    before: str
    after: str
    undoes: tuple[int, ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    asked: str = ""
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a change. `after` is what the host showed afterwards; None when unknown."""

    setting: str
    before: str
    wanted: str
    state: str
    id: int | None = None
    after: str | None = None
    shell: str = ""
    because: str = ""
    deadline: float | None = None  # seconds since 1970

    def json(self) -> dict[str, object]:
        """As the command line prints it: what is unknown is left out."""
        found = {
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
        return {key: value for key, value in found.items() if value is not None}


def data(setting: str, value: str) -> int | str | list[int]:
    """A setting's value as JSON has it; text where the setting is none of ours."""
    from .. import settings

    try:
        return settings.data(settings.parse(setting), value)
    except LookupError:
        return value


def risk(setting: str) -> str | None:
    """What writing it may cost; None where the setting is none of ours."""
    from .. import settings

    try:
        return settings.risk(settings.parse(setting))
    except LookupError:
        return None


def text(value: int | str | list[int]) -> str:
    """The canonical text again."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


__all__ = ["STATES", "Change", "Result", "data", "risk", "text"]
