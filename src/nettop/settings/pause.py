"""Ethernet flow control: `pause.rx@eth0`, ETHTOOL_MSG_PAUSE_SET (ethtool -A).

With autoneg on, rx and tx are what was negotiated with the other end: a value set then is only
offered. So autoneg is turned off before rx and tx, and turned on after them.
"""

from ..host.source import Source
from . import Address, Limits
from ._ethtool import Message
from ._text import switch

RISK = "link"
NIC = True
VALUE = switch
LIMITS = Limits(choices=("on", "off"))
COMMAND = "ethtool -A {nic} {name} {value}"
SHOWS = "ethtool -a {nic}"
NAMES = ("autoneg", "rx", "tx")
SIDE = {
    "rx": "tx",
    "tx": "rx",
}  # a host that obeys pause frames sends; one that receives sends them
# systemd 246
LINKS = {"autoneg": "AutoNegotiationFlowControl", "rx": "RxFlowControl", "tx": "TxFlowControl"}
_MESSAGE = Message("pause", {name: name for name in NAMES}, "pause {}", switches=frozenset(NAMES))
read, write = _MESSAGE.read, _MESSAGE.write


def side_effects(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """The two other values: autoneg, rx and tx change together."""
    return tuple(f"pause.{name}@{address.nic}" for name in NAMES if name != address.name)


def rank(address: Address, value: str) -> int:
    """Autoneg off first, autoneg on last."""
    if address.name != "autoneg":
        return 1
    return 0 if value == "off" else 2
