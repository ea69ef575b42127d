"""Whether irqbalance may move the interrupts of an interface: `irqbalance.ban@eth0`, on or off.

If another program banned only some of them, the value is their numbers, `63-64`, which can be
restored but not requested. Requests go to irqbalance's own socket,
/run/irqbalance/irqbalancePID.sock (irqbalance.c, sock_handle()): `setup` lists the banned
interrupts, `settings ban irqs …` replaces that list. The list lasts as long as the process;
IRQBALANCE_ARGS in /etc/default/irqbalance or /etc/sysconfig/irqbalance makes it permanent.
"""

import socket
from itertools import pairwise

from ..host.source import Source
from . import Address, Command, Host, Limits, _device, irq
from ._text import cpus as numbers
from ._text import ranges, switch

RISK = "none"
NIC = True
NAMES = ("ban",)
TEXT = NAMES
VALUE = switch  # a list of numbers can be read, not written
LIMITS = Limits(default="off", choices=("on", "off"))
FORGETS = "irqbalance was restarted or the interface replaced, which ended the change"
_FOLDER = "/run/irqbalance"
_SECONDS = 5.0
_MOST = 499  # bytes of a request that it reads: irqbalance.c, sock_handle(), `char buff[500]`
_TELL = (
    "import glob, socket, sys; door = socket.socket(socket.AF_UNIX); "
    'door.connect(glob.glob("/run/irqbalance/*.sock")[0]); door.sendall(sys.argv[1].encode())'
)


def _ask(source: Source, question: str) -> tuple[str, str]:
    """The socket that answers a request, and its answer; FileNotFoundError if no daemon runs."""
    try:
        sockets = [name for name in source.listing(_FOLDER) if name.endswith(".sock")]
    except FileNotFoundError:
        sockets = []
    root = getattr(source, "root", None)
    if not sockets or root is None:
        raise FileNotFoundError(2, "irqbalance does not run here")
    for name in sockets:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_SECONDS)
            try:
                door.connect(f"{root}{_FOLDER}/{name}")
            except ConnectionRefusedError:
                continue  # the socket of a daemon that has ended
            door.sendall(question.encode())
            if question != "setup":
                return name, ""
            door.shutdown(socket.SHUT_WR)
            parts = []
            while part := door.recv(1 << 16):
                parts.append(part)
            return name, b"".join(parts).decode("ascii", "replace")
    raise FileNotFoundError(2, "irqbalance does not run here")


def banned(source: Source) -> frozenset[int]:
    """The banned interrupts, from its setup line `SLEEP 10 IRQ 25 LOAD … BANNED …`."""
    words = _ask(source, "setup")[1].split()
    pairs = pairwise(words)
    return frozenset(int(number) for word, number in pairs if word == "IRQ" and number.isdigit())


def _own(source: Source, nic: str) -> frozenset[int]:
    own = frozenset(irq.of(source, nic))
    if not own:
        raise FileNotFoundError(2, f"{nic} has no interrupts")
    return own


def read(source: Source, address: Address) -> str:
    """`on`: all interrupts are banned; `off`: none is; else the numbers of the banned ones."""
    own, out = _own(source, address.nic), banned(source)
    if own <= out:
        return "on"
    return ranges(own & out) if own & out else "off"


def _words(source: Source, nic: str, value: str) -> str:
    """The request: the whole list, so that the bans of other devices do not change."""
    own, out = _own(source, nic), banned(source)
    chosen = {"on": own, "off": frozenset[int]()}.get(value)
    now = sorted(out - own | (numbers(value) if chosen is None else chosen))
    return "settings ban irqs " + (" ".join(map(str, now)) or "NONE")


def write(host: Host, address: Address, value: str) -> None:
    """Ban the interrupts of the interface in irqbalance, or remove the ban."""
    _ask(host.source, _words(host.source, address.nic, value))


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError for a list longer than the daemon reads: it would cut a number."""
    if len(_words(source, address.nic, value)) > _MOST:
        raise ValueError(
            "irqbalance does not read so long a list: name them in IRQBALANCE_ARGS "
            "(--banirq=…) and start it again, or nettop set service.running@irqbalance off"
        )


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """A command that writes the same words into its socket; no common tool does."""
    return (Command(("python3", "-c", _TELL, _words(source, address.nic, value))),)


def identity(source: Source, address: Address) -> str:
    """The interface's device and the daemon's process: a new process has no ban."""
    return f"{_device.identity(source, address.nic)} at {_ask(source, 'setup')[0]}"
