"""The radio of Wi-Fi interfaces: /proc/net/wireless (net/wireless/wext-proc.c).

A driver of mac80211 fills it with the station of the access point (net/wireless/wext-compat.c,
cfg80211_wireless_stats()): `level` is the signal, `retry` the frames that no try delivered. A
kernel without CONFIG_CFG80211_WEXT has no such file; `iw dev IF station dump` (nl80211) still has
the figures.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines, _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)

_FILE: Final = "/proc/net/wireless"
_FIELDS: Final = 10  # of a line after the name
_WRAP: Final = 256  # a level is an unsigned byte where the driver does not say that it is in dBm


@dataclass(frozen=True, slots=True)
class Row:
    """One interface. None: not reported."""

    interface: str = label("interface name")
    level: int | None = maybe("signal", "dBm")
    undelivered: int | None = counter("frames that no try delivered", "frames", default=None)
    misc: int | None = counter("frames dropped for other reasons", "frames", default=None)


def read(source: Source) -> Sequence[Row]:
    """Every interface with a radio; OSError without the file, ValueError for another format."""
    return parse(source.text(_FILE))


def parse(text: str) -> Sequence[Row]:
    """The rows of the file, whose first two lines are headings."""
    return _lines.rows(text.splitlines()[2:], _row, _FILE)


def _row(line: str) -> Row:
    name, colon, rest = line.rpartition(":")
    words = rest.split()
    if not colon or len(words) < _FIELDS:
        raise ValueError(f"{line.strip()[:40]!r} is not a line of an interface")
    level = _sysfs.whole(words[2].rstrip("."))
    if level is not None and level > 0:
        level -= _WRAP
    return Row(name.strip(), level or None, _sysfs.whole(words[7]), _sysfs.whole(words[8]))
