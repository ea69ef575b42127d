"""Offloads by their kernel names: `feature.rx-gro@eth0`, ETHTOOL_MSG_FEATURES_SET (ethtool -K).

Some depend on others (segmentation on scatter-gather and checksums; netdev_fix_features() in
net/core/dev.c). Features that are turned off together with one are restored with it.
"""

from ..host.netlink import legacy
from ..host.netlink.codec import Bits
from ..host.source import Source
from ..terms.dataclass import dataclass
from ..terms.errors import nearest
from . import Address, Host, Limits
from ._ethtool import put, values
from ._text import switch

RISK = "none"
NIC = True
VALUE = switch
COMMAND = "ethtool -K {nic} {name} {value}"
SHOWS = "ethtool -k {nic}"
LINKS = {
    "rx-checksum": "ReceiveChecksumOffload", "tx-tcp-segmentation": "TCPSegmentationOffload",
    "tx-tcp6-segmentation": "TCP6SegmentationOffload", "rx-gro": "GenericReceiveOffload",
    "tx-generic-segmentation": "GenericSegmentationOffload", "rx-lro": "LargeReceiveOffload",
    "rx-gro-hw": "GenericReceiveOffloadHardware",
    "rx-vlan-hw-parse": "ReceiveVLANCTAGHardwareAcceleration",
    "tx-vlan-hw-insert": "TransmitVLANCTAGHardwareAcceleration",
    "rx-vlan-filter": "ReceiveVLANCTAGFilter", "rx-ntuple-filter": "NTupleFilter",
}  # fmt: skip
# the names of `ethtool -k`, which users may type
_LONG = {
    "gro": "rx-gro", "gso": "tx-generic-segmentation", "lro": "rx-lro", "rx": "rx-checksum",
    "sg": "tx-scatter-gather", "tso": "tx-tcp-segmentation", "ntuple": "rx-ntuple-filter",
    "rxhash": "rx-hashing", "rxvlan": "rx-vlan-hw-parse", "txvlan": "tx-vlan-hw-insert",
    "generic-receive-offload": "rx-gro", "large-receive-offload": "rx-lro",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "tcp-segmentation-offload": "tx-tcp-segmentation", "rx-checksumming": "rx-checksum",
    "scatter-gather": "tx-scatter-gather", "receive-hashing": "rx-hashing",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class State:
    """One feature: the state in effect, the requested state, whether the driver fixes it."""

    on: bool
    wanted: bool
    fixed: bool


def states(source: Source, nic: str) -> dict[str, State]:
    """Every feature the kernel knows, by name."""
    sets = values(source, "features", nic)
    hw, wanted, active, nochange = (
        sets.get(k, Bits(0, 0, 0)).value for k in ("hw", "wanted", "active", "nochange")
    )
    return {
        name: State(
            bool(active >> i & 1), bool(wanted >> i & 1), bool(not hw >> i & 1 or nochange >> i & 1)
        )
        for i, name in enumerate(legacy.strings(source, "features"))
        if name
    }


def _state(source: Source, address: Address) -> State:
    every = states(source, address.nic)
    if address.name not in every:
        hint = nearest(_LONG.get(address.name, address.name), every)
        raise LookupError(f"the kernel knows no feature {address.name!r}{hint}")
    return every[address.name]


def read(source: Source, address: Address) -> str:
    """On or off, the state in effect."""
    return "on" if _state(source, address).on else "off"


def asked(source: Source, address: Address) -> str:
    """On or off, the requested state (`off [requested on]` of `ethtool -k`)."""
    # the ioctl does not report the requested state
    if "wanted" not in values(source, "features", address.nic):
        raise FileNotFoundError(2, f"the requested features of {address.nic} are not known")
    return "on" if _state(source, address).wanted else "off"


def write(host: Host, address: Address, value: str) -> None:
    """Request the feature; it stays off while one that it depends on is off."""
    put(host, "features", address.nic, {address.name: value == "on"})


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """Every other feature that is not fixed."""
    features = states(source, address.nic).items()
    return tuple(
        f"feature.{n}@{address.nic}" for n, s in features if not s.fixed and n != address.name
    )


def rank(address: Address, value: str) -> int:
    """A feature that others depend on is switched on first and off last."""
    depth = 2
    if "checksum" in address.name:
        depth = 0
    elif address.name in ("tx-scatter-gather", "rx-hashing"):
        depth = 1
    return depth if value == "on" else 4 - depth


def limits(source: Source, address: Address) -> Limits:
    """On or off; not settable where the driver fixes it."""
    state = _state(source, address)
    why = "the driver has fixed it" if state.fixed else ""
    return Limits(choices=("on", "off"), settable=not state.fixed, because=why)
