"""Device settings by ethtool netlink, or by ioctl on a kernel before 5.7."""

from __future__ import annotations

import errno
from typing import Any

from ..host.netlink import ethtool, legacy
from ..host.source import Source


def every(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """The settings of every device that has them, by device name and netlink field name."""
    try:
        return ethtool.every(source, what)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EOPNOTSUPP} or what not in legacy.CALLS:
            raise
        return legacy.every(source, what)


def flag(value: int | None) -> bool | None:
    """A number that means yes or no; None stays unknown."""
    return None if value is None else bool(value)
