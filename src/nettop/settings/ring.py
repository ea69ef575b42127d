"""Descriptor rings: `ring.rx@eth0`, ETHTOOL_MSG_RINGS_SET (ethtool -G).

Many drivers restart the device for it and drop the link for seconds; some round to a power of two.
"""

from ..host.source import Source
from . import Address, Limits
from ._ethtool import Message, values
from ._text import number

RISK = "link"
NIC = True
ROUNDS = True
VALUE = number
COMMAND = "ethtool -G {nic} {name} {value}"
SHOWS = "ethtool -g {nic}"
NAMES = ("rx", "tx", "rx-jumbo", "rx-mini")
LINKS = {  # systemd 244
    "rx": "RxBufferSize", "tx": "TxBufferSize",
    "rx-jumbo": "RxJumboBufferSize", "rx-mini": "RxMiniBufferSize",
}  # fmt: skip
_MESSAGE = Message("rings", {name: name.replace("-", "_") for name in NAMES}, "{} ring")
read, write, side_effects = _MESSAGE.read, _MESSAGE.write, _MESSAGE.side_effects


def limits(source: Source, address: Address) -> Limits:
    """Up to the driver's maximum."""
    name = address.name.replace("-", "_")
    fields = values(source, "rings", address.nic)
    if name not in fields:
        return Limits(settable=False, because=f"the driver has no {address.name} ring")
    most = fields.get(name + "_max")
    return Limits(min=1, max=most, because="the driver's limit" if most else "")
