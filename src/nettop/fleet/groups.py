"""Groups of hosts: the same interfaces, drivers, firmware and kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase

from ..terms.dataclass import dataclass
from .model import HostState


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts of the same hardware and software. `interfaces` counts (driver, firmware)."""

    name: str  # A is the largest
    interfaces: tuple[tuple[str, str, int], ...]
    kernel: str
    hosts: tuple[str, ...]


def grouped(states: Iterable[HostState]) -> tuple[Group, ...]:
    """The groups, the largest first."""
    hosts: dict[tuple[tuple[tuple[str, str, int], ...], str], list[str]] = {}
    for state in states:
        kinds = Counter((one.driver, one.firmware) for one in state.interfaces)
        parts = tuple((driver, firmware, kinds[driver, firmware])
                      for driver, firmware in sorted(kinds))  # fmt: skip
        hosts.setdefault((parts, state.kernel), []).append(state.host)
    order = sorted(hosts.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        Group(letters(number), parts, kernel, tuple(sorted(names)))
        for number, ((parts, kernel), names) in enumerate(order)
    )


def group_of(groups: Sequence[Group]) -> Mapping[str, Group]:
    """The group of each host."""
    return {host: group for group in groups for host in group.hosts}


def letters(number: int) -> str:
    """A, B … Z, AA, AB …, as columns of a spreadsheet."""
    number, rest = divmod(number, 26)
    return (letters(number - 1) if number else "") + ascii_uppercase[rest]
