"""Device settings by ethtool netlink, or by ioctl on a kernel before 5.7."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Final

from ..host.netlink import ethtool, legacy, legacy_bits
from ..host.netlink.codec import Attributes
from ..host.source import Source

_ABSENT: Final = {errno.ENOENT, errno.EOPNOTSUPP}


def every(source: Source, what: str) -> Mapping[str, Attributes]:
    """The settings `what` (rings, pause …) of every device that has them, by device and attribute.

    The attributes are those of Documentation/netlink/specs/ethtool.yaml. OSError.
    """
    try:
        return ethtool.every(source, what)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise
        if what in legacy.CALLS:
            return legacy.every(source, what)
        if what in legacy_bits.CALLS and (found := legacy_bits.every(source, what)):
            return found
        raise


def flag(value: int | None) -> bool | None:
    """A number as a truth value; None stays None."""
    return None if value is None else bool(value)
