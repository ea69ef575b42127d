"""A service of systemd, running or not: `service.running@irqbalance`, by systemctl.

Whether it runs is read from its control group, as the kernel has it.
"""

import re

from ..host.source import Source
from . import Address, Command, Host, Limits
from ._text import switch

RISK = "none"
NAMES = ("running",)
VALUE = switch
LIMITS = Limits(choices=("on", "off"))
_NAME = re.compile(r"[A-Za-z0-9_:@][A-Za-z0-9_:@.\\-]*\Z")


def _unit(address: Address) -> str:
    name = address.target.removesuffix(".service")
    if not _NAME.match(name):
        raise LookupError(f"{address.target!r} is not a service")
    return name + ".service"


def read(source: Source, address: Address) -> str:
    """On or off."""
    unit = _unit(address)
    try:
        source.listing("/run/systemd/system")
    except OSError:
        raise FileNotFoundError(2, "systemd does not run here") from None
    try:
        procs = source.text(f"/sys/fs/cgroup/system.slice/{unit}/cgroup.procs")
    except FileNotFoundError:
        return "off"
    return "on" if procs.strip() else "off"


def write(host: Host, address: Address, value: str) -> None:
    """Start or stop it."""
    host.run(("systemctl", "start" if value == "on" else "stop", _unit(address)))


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`systemctl start` or `stop`."""
    return (Command(("systemctl", "start" if value == "on" else "stop", _unit(address))),)
