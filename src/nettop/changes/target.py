"""Where the target of a change is now: here, in another network namespace, or gone.

A change is gone with the boot, the namespace, the device or the process that it belonged to. A
target that cannot be seen does not count as gone, nor one that may have moved while it was looked
for (`Survey.settled`). A process that needs to be sure holds a file of the device (`hold`).

Two journal entries are of the same device by `settings.identity`, not by its name: a renamed
interface is the same device, and another one with the same name is not.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from .. import settings
from ..settings import Address, Host
from ..terms.dataclass import dataclass
from ..terms.errors import absent
from . import context
from .entry import JournaledChange
from .namespaces import Namespace, Survey

_LOOKS: Final = 2  # at most, while devices come and go
_held: Final[dict[str, int]] = {}  # an open file of a device, by its identity


@dataclass(frozen=True, slots=True)
class Target:
    """`address` is what to read and write; None if it is not here, and `because` says why."""

    address: Address | None
    because: str = ""
    gone: bool = False  # and the change with it
    space: Namespace | None = None  # where the device is, if that is sure


def find(
    entry: JournaledChange, host: Host, survey: Survey | None = None, *, force: bool = False
) -> Target:
    """The target of an entry; LookupError for an unknown setting, OSError if it is not known.

    Without a `survey` other namespaces are not searched. With `force`, an interface with the same
    name and index counts as the device if nothing else identifies it.
    """
    for _ in range(_LOOKS):
        place = _find(entry, host, survey, force=force)
        if not place.gone or survey is None or survey.settled:
            return place
        survey.again()
    why = f"where the target of {entry.setting} is cannot be told now, because devices come and go"
    raise OSError(errno.EAGAIN, why)


def hold(entry: JournaledChange, host: Host) -> None:
    """Hold a file of the device of an entry, if it has one here: it tells when the device ends.

    A file of sysfs stays that of its device when this is renamed or moved, and cannot be read any
    more when this is gone (kernfs_get_active() in fs/kernfs/file.c).
    """
    nic = settings.device(entry.address)
    if not nic or entry.identity in _held or not settings.certain(entry.identity):
        return
    handle = os.open(f"/sys/class/net/{nic}/ifindex", os.O_RDONLY | os.O_CLOEXEC)
    if settings.same(entry.identity, settings.identity(host.source, entry.address)):
        _held[entry.identity] = handle
    else:
        os.close(handle)


def _exists(entry: JournaledChange) -> bool | None:
    """Whether the device of an entry exists, in whatever namespace; None if no file of it is held.

    OSError if the file cannot be read for another reason.
    """
    for identity, handle in _held.items():
        if settings.same(entry.identity, identity):
            try:
                os.pread(handle, 1, 0)
            except OSError as error:
                if not absent(error):
                    raise
                return False
            return True
    return None


def _find(entry: JournaledChange, host: Host, survey: Survey | None, *, force: bool) -> Target:
    address = entry.address
    now = context.boot()
    if settings.runtime(address) and entry.boot and now and entry.boot != now:
        return _gone("the host was rebooted: the change is gone")
    if not settings.namespaced(address):
        return _of_the_host(entry, address, host)
    ours = made_here(entry)
    if not settings.device(address):
        return _of_the_host(entry, address, host) if ours else _namespace(entry, survey)
    if not entry.identity:
        return Target(address) if ours else _namespace(entry, survey)
    here = _device(entry, address, host)
    if here is not None and (ours or force or settings.certain(entry.identity)):
        return Target(here)
    if not ours and not settings.certain(entry.identity):
        return _namespace(entry, survey)
    return _moved(entry, address, host, survey)


def renamed(address: Address, name: str, entry: JournaledChange) -> Address:
    """The address with the current `name` of the interface, if it was that of the entry."""
    same = settings.device(address) == settings.device(entry.address)
    return settings.on(address, name) if same and name else address


def devices(host: Host, address: Address, side_effects: Iterable[str]) -> dict[str, str]:
    """The identity of each other interface that side effects of an address are on, by its name."""
    found = {settings.device(settings.parse(name)) for name in side_effects}
    return {
        nic: settings.identity(host.source, settings.parse(f"link.mtu@{nic}"))
        for nic in sorted(found - {"", settings.device(address)})
    }


def beside(address: Address, name: str, entry: JournaledChange, host: Host) -> Address | None:
    """The address of a side effect of an entry, whose interface has this `name` now.

    None if it is on another interface, which is not here any more.
    """
    nic = settings.device(address)
    identity = entry.devices.get(nic, "")
    if not identity:  # of the same interface, of none, or in an older journal
        return renamed(address, name, entry)
    for one in _names(nic, host):
        here = settings.on(address, one)
        if settings.same(identity, settings.identity(host.source, here)):
            return here
    return None


def _gone(because: str) -> Target:
    return Target(None, because, gone=True)


def made_here(entry: JournaledChange) -> bool:
    """Whether the entry was made in the namespace of this process."""
    here = context.netns()
    if entry.netns_cookie and here.cookie:
        return entry.netns_cookie == here.cookie
    return not entry.netns or entry.netns == here.inode


def _of_the_host(entry: JournaledChange, address: Address, host: Host) -> Target:
    """A target that is not an interface: a process, an interrupt, a file, a parameter."""
    if not entry.identity:
        return Target(address)
    now = settings.identity(host.source, address)
    if settings.same(entry.identity, now):
        return Target(address)
    if not now:
        return _gone(f"{address.target} is gone, and the change with it")
    return _gone(f"{address.target} is another one now: nothing was changed")


def _device(entry: JournaledChange, address: Address, host: Host) -> Address | None:
    """The address with the current name of the device of the entry; None if it is not here."""
    for name in _names(settings.device(address), host):
        other = renamed(address, name, entry)
        if settings.same(entry.identity, settings.identity(host.source, other)):
            return other
    return None


def _names(first: str, host: Host) -> Iterator[str]:
    yield first
    yield from (name for name in _interfaces(host) if name != first)


def _interfaces(host: Host) -> list[str]:
    """The names of the interfaces; OSError if none is shown: each namespace has one, `lo`."""
    try:
        names = host.source.listing("/sys/class/net")
    except OSError as error:
        if host.real or not absent(error):
            raise
        return []
    if host.real and not names:
        raise FileNotFoundError(2, "no interface is shown", "/sys/class/net")
    return names


def _namespace(entry: JournaledChange, survey: Survey | None) -> Target:
    """The other namespace in which the entry was made."""
    name = f" {entry.netns_name}" if entry.netns_name else ""
    origin = f"made in network namespace{name}" if name else "made in another namespace"
    if survey is None:
        return Target(None, f"{origin}: undo it there")
    for space in survey.found:
        known = entry.netns_cookie and space.cookie
        same = entry.netns_cookie == space.cookie if known else entry.netns == space.inode
        if same:
            return Target(None, f"made in {space.called}: {space.way(f'undo {entry.id}')}")
    if not survey.complete:
        return Target(None, f"{origin}, which cannot be seen from here: {survey.unseen}")
    return _gone(f"network namespace{name} is gone, and the change with it")


def _moved(entry: JournaledChange, address: Address, host: Host, survey: Survey | None) -> Target:
    """A device that is not here: in another namespace, created anew, or gone.

    OSError if it exists, and is in no namespace that can be seen.
    """
    nic = settings.device(address)
    now = settings.identity(host.source, address)
    exists = _exists(entry)
    if host.real and exists is not False:
        away = f"{nic} is another device now" if now else f"{nic} is not in this network namespace"
        if survey is None:
            return Target(None, f"{away}; the one that was changed may be in another namespace")
        there = survey.device(lambda name, identity: _may_be(entry, nic, name, identity))
        if there is not None:
            sure = settings.certain(entry.identity)
            return Target(None, _there(entry, nic, *there), space=there[0] if sure else None)
        if exists:
            raise OSError(errno.EAGAIN, f"{away}, nor in another one that can be seen: it exists")
        if not survey.complete:
            return Target(None, f"{away}, and may be in another one: {survey.unseen}")
        hardware = settings.hardware(entry.identity)
        if hardware and _driven(hardware) and not _shown(hardware, host, survey):
            because = f"{nic} ({hardware}) is in a network namespace that cannot be seen from here"
            return Target(None, because)
    forgets = getattr(settings.kind(address.kind), "FORGETS", "")
    if forgets:
        return _gone(forgets)
    if now:
        return _gone(f"{nic} was created anew: the change is gone with the old one")
    return _gone(f"{nic} is gone, and the change with it")


def _may_be(entry: JournaledChange, nic: str, name: str, identity: str) -> bool:
    """Whether an interface of another namespace is, or may be, the device of the entry."""
    same = settings.same(entry.identity, identity)
    return same and (settings.certain(entry.identity) or name == nic)


def _there(entry: JournaledChange, nic: str, space: Namespace, name: str) -> str:
    """The place of the device, and the command that undoes the change there."""
    if not settings.certain(entry.identity):
        way = space.way(f"undo {entry.id} --force")
        return f"{nic} may be the one that is now in {space.called}; if it is: {way}"
    moved = "" if name == nic else f"{name} "
    return f"{nic} is now {moved}in {space.called}: {space.way(f'undo {entry.id}')}"


def _driven(hardware: str) -> bool:
    """Whether a driver is bound to the device of this bus address."""
    bus = hardware.partition(" ")[0]
    for kind in os.listdir("/sys/bus"):
        try:
            os.stat(f"/sys/bus/{kind}/devices/{bus}/driver")
        except OSError as error:
            if not absent(error):
                raise
        else:
            return True
    return False


def _shown(hardware: str, host: Host, survey: Survey) -> bool:
    """Whether a visible interface has this hardware: then the old interface was created anew."""
    here = [
        settings.identity(host.source, settings.parse(f"link.mtu@{name}"))
        for name in _interfaces(host)
    ]
    there = [identity for space in survey.found for identity in space.devices.values()]
    return any(settings.hardware(identity) == hardware for identity in (*here, *there))


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
