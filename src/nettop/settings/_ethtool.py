"""Reading and writing one field of an ethtool message, with the kernel's own sentences."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..host.netlink import ethtool, legacy
from ..host.source import Source
from . import Host

if TYPE_CHECKING:
    from ..host.netlink.kernel import Kernel


def values(source: Source, what: str, nic: str) -> dict[str, Any]:
    """The message's fields; OSError with one sentence when the driver has no such thing."""
    try:
        return ethtool.one(source, what, nic)
    except FileNotFoundError:
        if not source.live and (found := _recorded(source, what, nic)) is not None:
            return found
        if what not in legacy.CALLS:
            raise
        return dict(legacy.one(source, what, nic))
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise OSError(error.errno, f"the driver of {nic} has no {what}") from None
        if error.errno == errno.ENODEV:
            raise OSError(error.errno, f"no interface {nic}") from None
        raise


def _recorded(source: Source, what: str, nic: str) -> dict[str, Any] | None:
    """What a recording's question about every device says of this one: nobody asked it alone."""
    try:
        return ethtool.every(source, what).get(nic)
    except OSError:
        return None


def field(source: Source, what: str, nic: str, name: str, said: str) -> int:
    """One field; FileNotFoundError when the driver does not report it."""
    found = values(source, what, nic).get(name)
    if found is None:
        raise FileNotFoundError(2, f"the driver of {nic} has no {said}")
    return int(found)


def put(host: Host, what: str, nic: str, wanted: Mapping[str, Any]) -> None:
    """Set fields; by ioctl where the kernel is older than ethtool netlink (5.7)."""
    door = cast("Kernel", host)  # a Host changes and asks as a Kernel does
    try:
        ethtool.put(door, what, nic, wanted)
    except FileNotFoundError:
        if what not in legacy.CALLS:
            raise
        legacy.put(door, what, nic, wanted)
