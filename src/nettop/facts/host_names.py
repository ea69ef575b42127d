"""What the file hosts(5) says of a destination in trouble: collector `host_names`."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..frame.rates import Frame
from ..terms.text import few
from .way.flow import Host

MOST: Final = 2  # names that are told


class Named(NamedTuple):
    """In words; empty: the file does not name it."""

    said: str = ""
    cure: str = ""

    @property
    def sentences(self) -> str:
        """Both, each a sentence of its own."""
        return f"{self.said}. {self.cure[0].upper()}{self.cure[1:]}." if self.said else ""


def named(frame: Frame, to: str, pid: int = 0) -> Named:
    """What the file that the process sees says of an address, and what cures an old line of it.

    An address of this host has the names of this host there.
    """
    rows = [one for one in frame.rows("host_names") if one.address == to and one.pid in (0, pid)]
    one = max(rows, key=lambda one: one.pid, default=None)
    if one is None or not one.names or Host.of(frame).local(to):
        return Named()
    return Named(
        f"{one.file} gives {to} the name{'s' * (len(one.names) > 1)} {few(one.names, MOST)}",
        f"if that line of {one.file} is old, correct or delete it: `dig +short {one.names[0]}` "
        "asks the name server",
    )
