"""What changed on a host between its first and its last file."""

from __future__ import annotations

from ..terms.dataclass import dataclass
from .differing import same
from .model import History, HostState


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed on one host between two times, in seconds since 1970.

    `settings` are (name, before, after); an empty text is a value that was unknown or absent.
    """

    host: str
    begin: float
    end: float
    settings: tuple[tuple[str, str, str], ...]
    began: tuple[str, ...]  # ids of findings
    ended: tuple[str, ...]


def changed(host: str, history: History) -> Changed | None:
    """What changed; None if nothing did, or if there is only one state.

    Where the inventory of one state is unknown only the findings are compared, and where one of
    them could not be judged only the settings.
    """
    first, last = history.first, history.last
    if first is last:
        return None
    before, after = _values(first), _values(last)
    settings = tuple(
        (name, before.get(name, ""), after.get(name, ""))
        for name in sorted({*before, *after} if before and after else ())
        if not same(name, after.get(name, ""), before.get(name, ""))
    )
    began: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    if not (first.shortfall or last.shortfall):
        earlier, later = ({finding.id: None for finding in one.findings} for one in (first, last))
        began = tuple(name for name in later if name not in earlier)
        ended = tuple(name for name in earlier if name not in later)
    if not (settings or began or ended):
        return None
    return Changed(host, first.at, last.at, settings, began, ended)


def _values(state: HostState) -> dict[str, str]:
    values = {"kernel": state.kernel} if state.kernel else {}
    for one in state.interfaces:
        values[f"driver@{one.name}"] = one.driver
        values[f"firmware@{one.name}"] = one.firmware
    return {name: value for name, value in {**values, **state.settings}.items() if value}
