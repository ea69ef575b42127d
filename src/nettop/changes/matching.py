"""Whether two journal entries are of the same device, and of the same setting of that device.

`settings.identity` identifies a device, not its name: a renamed interface is the same device, and
another one with the same name is not.
"""

from __future__ import annotations

from functools import lru_cache

from .. import settings
from ..settings import Address
from .journal import JournaledChange


def same_setting(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether both entries changed the same setting of the same device."""
    first, second = _address(a.setting), _address(b.setting)
    if first is None or second is None:
        return a.setting == b.setting
    if (first.kind, first.name, _part(first)) != (second.kind, second.name, _part(second)):
        return False
    return same_device(a, b)


def same_device(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether both entries are of the same device, or target if it is not an interface."""
    first, second = _address(a.setting), _address(b.setting)
    if first is None or second is None:
        return a.setting == b.setting
    if not _interface(first) or not _interface(second):
        both = (first.kind, first.target or first.name) == (
            second.kind, second.target or second.name
        )  # fmt: skip
        return both and same_namespace(a, b) and _same(a, b)
    if a.identity and b.identity:
        sure = settings.certain(a.identity) and settings.certain(b.identity)
        return _same(a, b) and (sure or same_namespace(a, b))
    return first.nic == second.nic and same_namespace(a, b)


def same_namespace(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether both were made in the same network namespace, if one of them depends on it."""
    addresses = (_address(a.setting), _address(b.setting))
    if not any(address is not None and settings.namespaced(address) for address in addresses):
        return True
    if a.netns_cookie and b.netns_cookie:
        return a.netns_cookie == b.netns_cookie
    return a.netns == b.netns


def _same(a: JournaledChange, b: JournaledChange) -> bool:
    known = a.identity and b.identity
    return not known or settings.same(a.identity, b.identity)


def _interface(address: Address) -> bool:
    """Whether the target is an interface or a part of one; a plain interrupt number is not."""
    nic = getattr(settings.kind(address.kind), "NIC", False)
    return bool(nic) and not address.target.isdigit()


def _part(address: Address) -> str:
    return address.part if _interface(address) else address.target


@lru_cache(maxsize=1024)
def _address(setting: str) -> Address | None:
    """The address of a setting; None for an unknown setting."""
    try:
        return settings.parse(setting)
    except LookupError:
        return None
