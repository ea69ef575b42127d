"""Whether two entries of the journal are of one device, and of one setting of that device.

A device is what `settings.identity` says, not its name: a renamed interface is the same device, and
another one of the same name is not.
"""

from __future__ import annotations

from functools import lru_cache

from .. import settings
from ..settings import Address
from .journal import Entry


def one_setting(one: Entry, other: Entry) -> bool:
    """Whether both changed the same thing."""
    first, second = _address(one.setting), _address(other.setting)
    if first is None or second is None:
        return one.setting == other.setting
    if (first.kind, first.name, _part(first)) != (second.kind, second.name, _part(second)):
        return False
    return one_device(one, other)


def one_device(one: Entry, other: Entry) -> bool:
    """Whether both are of the same device, or of the same target where that is no interface."""
    first, second = _address(one.setting), _address(other.setting)
    if first is None or second is None:
        return one.setting == other.setting
    if not _interface(first) or not _interface(second):
        both = (first.kind, first.target or first.name) == (
            second.kind, second.target or second.name
        )  # fmt: skip
        return both and one_place(one, other) and _same(one, other)
    if one.identity and other.identity:
        sure = settings.certain(one.identity) and settings.certain(other.identity)
        return _same(one, other) and (sure or one_place(one, other))
    return first.nic == second.nic and one_place(one, other)


def one_place(one: Entry, other: Entry) -> bool:
    """Whether both were made where the other can be reached: in one network namespace, if any."""
    addresses = (_address(one.setting), _address(other.setting))
    if not any(address is not None and settings.namespaced(address) for address in addresses):
        return True
    if one.netns_cookie and other.netns_cookie:
        return one.netns_cookie == other.netns_cookie
    return one.netns == other.netns


def _same(one: Entry, other: Entry) -> bool:
    known = one.identity and other.identity
    return not known or settings.same(one.identity, other.identity)


def _interface(address: Address) -> bool:
    """Whether the target is an interface, or something on one; a bare interrupt is not."""
    nic = getattr(settings.kind(address.kind), "NIC", False)
    return bool(nic) and not address.target.isdigit()


def _part(address: Address) -> str:
    return address.part if _interface(address) else address.target


@lru_cache(maxsize=1024)
def _address(setting: str) -> Address | None:
    """The setting taken apart; None where it is none of ours."""
    try:
        return settings.parse(setting)
    except LookupError:
        return None
