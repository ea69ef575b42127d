"""Read and write one field of an ethtool message; errors carry the kernel's own text."""

import errno
from collections.abc import Mapping
from typing import Any, cast

from ..host.netlink import ethtool, legacy
from ..host.netlink.kernel import Kernel
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import Address, Host


def values(source: Source, what: str, nic: str) -> dict[str, Any]:
    """The message's fields; OSError with one sentence where the driver does not support it."""
    try:
        return ethtool.one(source, what, nic)
    except FileNotFoundError:
        if not source.live and (recorded := _recorded(source, what, nic)) is not None:
            return recorded
        if what not in legacy.READ:
            raise
        return legacy.one(source, what, nic)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise OSError(error.errno, f"the driver of {nic} has no {what}") from None
        if error.errno == errno.ENODEV:
            raise OSError(error.errno, f"no interface {nic}") from None
        raise


def _recorded(source: Source, what: str, nic: str) -> dict[str, Any] | None:
    """The fields of one device from a recorded reply about all devices; None where it is absent."""
    try:
        return ethtool.every(source, what).get(nic)
    except OSError:
        return None


def field(source: Source, what: str, nic: str, name: str, title: str) -> int:
    """One field; FileNotFoundError that names `title` where the driver does not report it."""
    value = values(source, what, nic).get(name)
    if value is None:
        raise FileNotFoundError(2, f"the driver of {nic} has no {title}")
    return int(value)


def put(host: Host, what: str, nic: str, fields: Mapping[str, object]) -> None:
    """Set fields; by ioctl where the kernel is older than ethtool netlink (5.7)."""
    kernel = cast("Kernel", host)  # a Host has the methods of a Kernel that `put` calls
    try:
        ethtool.put(kernel, what, nic, fields)
    except FileNotFoundError:
        if what not in legacy.WRITTEN:
            raise
        # the fields of these messages are numbers, or on and off
        legacy.put(kernel, what, nic, cast("Mapping[str, int]", fields))


@dataclass(frozen=True, slots=True)
class Message:
    """Settings that are fields of one message: their fields by name, and how errors call one."""

    what: str
    fields: Mapping[str, str]
    title: str  # `{}` is the name
    switches: frozenset[str] = frozenset()  # on or off; the others are numbers

    def read(self, source: Source, address: Address) -> str:
        """The number, or on/off; OSError if the driver does not report it."""
        name = address.name
        value = field(source, self.what, address.nic, self.fields[name], self.title.format(name))
        return ("on" if value else "off") if name in self.switches else str(value)

    def write(self, host: Host, address: Address, value: str) -> None:
        """Set one field; the kernel keeps the others."""
        raw = int(value == "on") if address.name in self.switches else int(value)
        put(host, self.what, address.nic, {self.fields[address.name]: raw})

    def side_effects(self, source: Source, address: Address) -> tuple[str, ...]:
        """The other settings of the message that the driver reports: it may change them too."""
        known = values(source, self.what, address.nic)
        others = (n for n, one in self.fields.items() if n != address.name and one in known)
        return tuple(f"{address.kind}.{name}@{address.nic}" for name in others)
