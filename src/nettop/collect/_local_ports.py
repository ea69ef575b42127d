"""The local ports that the kernel may choose for a connection.

Those of net.ipv4.ip_local_port_range that net.ipv4.ip_local_reserved_ports does not list
(inet_is_local_reserved_port() in include/net/ip.h).
"""

from __future__ import annotations

from typing import Final

RANGE: Final = "net.ipv4.ip_local_port_range"
RESERVED: Final = "net.ipv4.ip_local_reserved_ports"


def available(whole: range, reserved: str) -> int:
    """How many ports of the range the list leaves, such as `8080,9148-9150`."""
    first, last = whole[0], whole[-1]
    taken = (max(0, min(end, last) - max(start, first) + 1) for start, end in _ranges(reserved))
    return len(whole) - sum(taken)


def _ranges(text: str) -> list[tuple[int, int]]:
    """The ranges of a list; other text is left out."""
    ranges = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            ranges.append((int(first), int(last) if dash else int(first)))
    return ranges
