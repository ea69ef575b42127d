"""Valid names of network devices: dev_valid_name(), net/core/dev.c."""

from __future__ import annotations

import os
from typing import Final

LONGEST: Final = 15  # bytes; IFNAMSIZ counts the final NUL, include/uapi/linux/if.h
ALTERNATIVE: Final = 127  # bytes; ALTIFNAMSIZ counts the final NUL
_REFUSED: Final = frozenset(b"/: \t\n\v\f\r\xa0\0")  # isspace() of the kernel is that of Latin-1


def valid(name: str, longest: int = LONGEST) -> bool:
    """Whether the kernel accepts this name, of at most `longest` bytes, for a device."""
    raw = os.fsencode(name)
    return 0 < len(raw) <= longest and name not in (".", "..") and not _REFUSED & set(raw)
