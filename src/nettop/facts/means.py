"""Rates over the window of the verdicts, beside those of the last interval, which facts have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..terms.dataclass import dataclass

if TYPE_CHECKING:
    from .kinds.core import Core
    from .kinds.nic import Nic
    from .kinds.path import Path
    from .kinds.process import Taken


@dataclass(frozen=True, slots=True)
class Means:
    """Interfaces, flows, paths, cores whose rates are means; those at rest are not among them."""

    seconds: float = 0.0  # of the window
    interval: float = 1.0  # seconds of the last interval
    nics: Mapping[str, Nic] = field(default_factory=dict)
    flows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # fields, by id
    paths: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    cores: Mapping[int, Core] = field(default_factory=dict)  # those not half idle
    taken: Taken = field(default_factory=dict)
    backlog: float | None = None  # what the host drops there, packets/s

    @property
    def window(self) -> str:
        """Of which time they are: `mean of 10 s`; a change of the host begins a new window."""
        return f"mean of {_told(self.seconds)}" if self.over(self.seconds) else self.last

    @property
    def last(self) -> str:
        """Of which time all other rates are: `last 1 s`."""
        return f"last {_told(self.interval)}"

    def over(self, seconds: float) -> str:
        """` over 10 s`, beside a rate of that many seconds; empty if it is of the last interval."""
        return f" over {_told(seconds)}" if seconds > 1.5 * self.interval else ""


def _told(seconds: float) -> str:
    return f"{round(seconds, 1 if seconds < 1 else None):g} s"
