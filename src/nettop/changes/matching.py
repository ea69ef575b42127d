"""Whether two journal entries are of the same device, and of the same setting of that device.

`settings.identity` identifies a device, not its name: a renamed interface is the same device, and
another one with the same name is not.
"""

from __future__ import annotations

from functools import lru_cache

from .. import settings
from ..settings import Address
from .entry import JournaledChange


def same_setting(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether both entries changed the same setting of the same device."""
    first, second = _address(a.setting), _address(b.setting)
    if first is None or second is None:
        return a.setting == b.setting
    return settings.on(first, "") == settings.on(second, "") and same_device(a, b)


def side_effect(
    of: JournaledChange, setting: str, entry: JournaledChange
) -> tuple[str | None, str | None]:
    """Old and new value of a setting beside `entry`, as the change `of` moved it; else None.

    A setting of the device of `entry` is found by its device, and not by the name that it had; one
    of another interface by its name.
    """
    wanted, same = _beside(setting, entry), same_device(of, entry)
    for key, values in of.side_effects.items():
        found, own = _beside(key, of)
        if (found, own) == wanted and (same or not own):
            return values
        if not own and found == _address(setting) and same_namespace(of, entry):
            return values  # of an interface above that of `of`
    return None, None


def _beside(setting: str, entry: JournaledChange) -> tuple[Address | str, bool]:
    """A setting without the name of its device, and whether that is the device of the entry."""
    address, first = _address(setting), _address(entry.setting)
    if address is None or first is None:
        return setting, False
    nic = settings.device(address)
    own = bool(nic) and nic == settings.device(first)
    return settings.on(address, "") if own else address, own


def same_device(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether both entries are of the same device, or target if it is not an interface."""
    first, second = _address(a.setting), _address(b.setting)
    if first is None or second is None:
        return a.setting == b.setting
    if not settings.device(first) or not settings.device(second):
        both = (first.kind, first.target or first.name) == (
            second.kind, second.target or second.name
        )  # fmt: skip
        return both and same_namespace(a, b) and _same(a, b)
    if a.identity and b.identity:
        sure = settings.certain(a.identity) and settings.certain(b.identity)
        return _same(a, b) and (sure or same_namespace(a, b))
    return settings.device(first) == settings.device(second) and same_namespace(a, b)


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


@lru_cache(maxsize=1024)
def _address(setting: str) -> Address | None:
    """The address of a setting; None for an unknown setting."""
    try:
        return settings.parse(setting)
    except LookupError:
        return None
