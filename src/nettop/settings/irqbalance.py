"""Whether irqbalance leaves an interface's interrupts alone: `irqbalance.ban@eth0`, on or off.

Asked and told through its own socket, /run/irqbalance/irqbalancePID.sock (irqbalance.c,
sock_handle()): `setup` lists what is banned, `settings ban irqs …` replaces that list. It lasts as
long as that process; for ever it is IRQBALANCE_ARGS in /etc/default/irqbalance or
/etc/sysconfig/irqbalance.
"""

from __future__ import annotations

import socket
from itertools import pairwise

from ..source import Source
from . import Address, Deed, Host, Limits, irq
from ._text import switch

RISK = "none"
NIC = True
NAMES = ("ban",)
_FOLDER = "/run/irqbalance"
_SECONDS = 5.0


def _ask(source: Source, question: str) -> str:
    """One question to the daemon; FileNotFoundError when none runs."""
    try:
        found = [name for name in source.listing(_FOLDER) if name.endswith(".sock")]
    except FileNotFoundError:
        found = []
    root = getattr(source, "root", None)
    if not found or root is None:
        raise FileNotFoundError(2, "irqbalance does not run here")
    for name in found:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_SECONDS)
            try:
                door.connect(f"{root}{_FOLDER}/{name}")
            except ConnectionRefusedError:
                continue  # left behind by one that died
            door.sendall(question.encode())
            if question != "setup":
                return ""
            door.shutdown(socket.SHUT_WR)
            parts = []
            while part := door.recv(1 << 16):
                parts.append(part)
            return b"".join(parts).decode("ascii", "replace")
    raise FileNotFoundError(2, "irqbalance does not run here")


def banned(source: Source) -> frozenset[int]:
    """The interrupts it leaves alone: `SLEEP 10 IRQ 25 LOAD … BANNED …`."""
    words = _ask(source, "setup").split()
    found = pairwise(words)
    return frozenset(int(number) for word, number in found if word == "IRQ" and number.isdigit())


def _own(source: Source, nic: str) -> frozenset[int]:
    found = frozenset(irq.of(source, nic))
    if not found:
        raise FileNotFoundError(2, f"{nic} has no interrupts")
    return found


def read(source: Source, address: Address) -> str:
    """On when all its interrupts are banned, off when none, else `partly`."""
    own, out = _own(source, address.nic), banned(source)
    if own <= out:
        return "on"
    return "partly" if own & out else "off"


def write(host: Host, address: Address, value: str) -> None:
    """Ban its interrupts, or give them back; those of other devices stay as they are."""
    own, out = _own(host.source, address.nic), banned(host.source)
    now = sorted(out | own if value == "on" else out - own)
    _ask(host.source, "settings ban irqs " + (" ".join(map(str, now)) or "NONE"))


def deeds(source: Source, address: Address, value: str) -> tuple[Deed, ...]:
    """`irqbalance --banirq` at its next start."""
    try:
        own = sorted(irq.of(source, address.nic))
    except OSError:
        own = []
    if value == "on":
        return (Deed(("irqbalance", *(f"--banirq={number}" for number in own))),)
    return (Deed(("irqbalance",)),)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """On or off; `partly` is only ever read."""
    return value if value == "partly" else switch(value)


def identity(source: Source, address: Address) -> str:  # noqa: ARG001
    """The daemon's process: a new one has forgotten it."""
    return " ".join(name for name in source.listing(_FOLDER) if name.endswith(".sock"))


def limits(source: Source, address: Address) -> Limits:
    """On or off."""
    read(source, address)
    return Limits(default="off", choices=("on", "off"))
