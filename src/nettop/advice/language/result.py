"""The result of an expression: its value and the fields that decided it."""

from __future__ import annotations

from ...terms.dataclass import dataclass
from .values import Value


@dataclass(frozen=True, slots=True)
class Read:
    """One field that was read: its name in the expression, its value (None: unknown), its unit."""

    field: str
    value: Value | None
    unit: str = ""
    help: str = ""

    @property
    def measure(self) -> str:
        """The unit with its time: fields of `nic.per_s` count per second."""
        return f"{self.unit}/s" if ".per_s." in self.field and self.unit else self.unit


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A value (None: unknown) and the reads that decided it."""

    value: Value | None
    reads: tuple[Read, ...] = ()

    def unknown(self) -> tuple[Read, ...]:
        """The reads without a value."""
        return tuple(read for read in self.reads if read.value is None)


def reads_of(*results: Evaluated) -> tuple[Read, ...]:
    """The reads of several results, each once, in order."""
    some = [result.reads for result in results if result.reads]
    if len(some) < 2:
        return some[0] if some else ()
    return tuple(dict.fromkeys(read for reads in some for read in reads))
