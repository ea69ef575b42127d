"""Whether data begins to move on a quiet host: one small file, between two looks.

A quiet host is looked at every `QUIET_LOOK` seconds. A transfer that begins between two looks would
be seen late, so /proc/net/dev is read at the interval and the next look is taken at once if bytes
move. Traffic between other network namespaces that passes no interface of this one is seen at the
next look.
"""

from __future__ import annotations

from typing import Final

from ..host.source import Source
from .refresh import MOVES

QUIET_LOOK: Final = 2.0  # seconds between two looks while no interface moves data


class Moves:
    """The bytes of each interface at the last reading."""

    def __init__(self, source: Source) -> None:
        """Nothing is read yet."""
        self._source = source
        self._at = 0.0
        self._lines: frozenset[str] = frozenset()
        self._bytes: dict[str, tuple[int, int]] = {}

    def begin(self) -> bool:
        """Whether an interface moved data since the last call; True if that cannot be known.

        As `RefreshPolicy` judges: more than `MOVES` bytes a second in one direction. An interface
        that is new, or whose counters were reset, has moved none.
        """
        try:
            changed = self._changed()
        except (OSError, ValueError):
            return True
        now, before = self._source.now(), self._bytes
        most, self._at = MOVES * (now - self._at), now
        self._bytes = before | changed if len(before) <= 2 * len(self._lines) else changed
        return any(
            count - old > most
            for name, pair in changed.items()
            for count, old in zip(pair, before.get(name, pair), strict=True)
        )

    def _changed(self) -> dict[str, tuple[int, int]]:
        """Bytes received and sent of the interfaces whose line is new; most lines are not."""
        from ..collect import netdev  # not needed for the first paint

        lines = self._source.text("/proc/net/dev").splitlines()
        before, self._lines = self._lines, frozenset(lines)
        new = [*lines[:2], *(line for line in lines[2:] if line not in before)]
        return {row.name: (row.rx_bytes, row.tx_bytes) for row in netdev.parse("\n".join(new))}
