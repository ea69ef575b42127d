"""TARGET of `nettop why`: an interface, a process, or ADDRESS, ADDRESS:PORT or :PORT of an end."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from ..facts.flow_words import end
from ..terms.errors import Refused, nearest

if TYPE_CHECKING:
    from ..facts import Facts
    from ..facts.limits import Limit

LAST_PORT: Final = 65_535
LONG: Final = 7  # colons of an IPv6 address in full: no port can follow
UNKNOWN: Final = "no interface, process, ADDRESS, ADDRESS:PORT or :PORT"


def check(facts: Facts, target: str) -> None:
    """Refused (2) for what is no interface here and has the form of no other target.

    The interfaces of other namespaces, NAME@NAMESPACE, are not known at once.
    """
    names = [nic.name for nic in facts.nics]
    known = target in names or target.isdecimal() or "@" in target
    if not known and address_of(target) is None:
        raise Refused(f"{UNKNOWN} {target!r}{nearest(target, names)}", 2)


def chosen(facts: Facts, target: str | None) -> list[Limit]:
    """The limits of the target; all without one. Refused (2) when no limit is of that target."""
    if target is None:
        return list(facts.limits)
    names = [nic.name for nic in facts.nics]
    names += dict.fromkeys(one.target for one in facts.limits if one.over == "nic" and one.device)
    if target in names:
        return [one for one in facts.limits if target in (one.nic, interface(one))]
    if not (found := flows(facts, target)) and target.isdecimal():
        raise Refused(_no_flow(facts, target), 2)
    address = address_of(target)
    if not found and address is not None:
        raise Refused(f"no limit was seen of a flow from or to {address}", 2)
    if found:
        return found
    raise Refused(f"{UNKNOWN} {target!r}{nearest(target, names)}", 2)


def flows(facts: Facts, target: str) -> list[Limit]:
    """The flows and sockets of a process or an address; none of an interface."""
    if target.isdecimal():
        return [one for one in facts.limits if one.pid == int(target)]
    ends = ((one, one.target.split(">")) for one in facts.limits)
    if is_port(target):
        return [one for one, both in ends if any(end.endswith(target) for end in both)]
    address = address_of(target)
    if address and bare(target):
        return [one for one, both in ends if any(e.rpartition(":")[0] == address for e in both)]
    return [one for one, both in ends if address and address in both]


def is_port(target: str) -> bool:
    """Whether it is `:PORT`."""
    number = target.removeprefix(":")
    return target != number and number.isdecimal() and int(number) <= LAST_PORT


def address_of(target: str) -> str | None:
    """`ADDRESS:PORT` as limits have it, `:PORT`, or an address; IPv6 also in a long form.

    With a port it also may have no brackets. None: it is none of these.
    """
    if is_port(target):
        return target
    if alone := bare(target):
        return alone
    text, _, port = target.rpartition(":")
    try:
        address = ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    if not port.isdecimal() or int(port) > LAST_PORT:
        return None
    return _end(address, int(port))


def bare(target: str) -> str:
    """The address of a target without a port, as ends have it; empty: it has one, or is none."""
    try:
        address = ip_address(target[1:-1] if target[:1] + target[-1:] == "[]" else target)
    except ValueError:
        return ""
    if address.version == 6 and not target.startswith("[") and target.count(":") < LONG:
        return ""  # its last group may be a port
    return _end(address, 0).removesuffix(":0")


def _end(address: IPv4Address | IPv6Address, port: int) -> str:
    """An end as limits have it: those of IPv4 in IPv6 sockets are IPv4."""
    return end(str(getattr(address, "ipv4_mapped", None) or address), port)


def interface(limit: Limit) -> str:
    """The interface of a limit in another namespace, `NAME@NAMESPACE`; empty: not known."""
    return f"{limit.device}@{limit.namespace}" if limit.device is not None else ""


def _no_flow(facts: Facts, pid: str) -> str:
    """Why a process has no limit: of some sockets only root sees the process."""
    message = f"process {pid} has no active flow"
    hidden = sum(one.pid is None for one in facts.limits if one.over != "nic")
    if hidden:
        message += f"; the processes of {hidden} flow{'s' * (hidden > 1)} are not known"
    return message
