"""The answers of a generated host to the ethtool ioctl; names of devices, features and modes.

Numbers are those of include/uapi/linux/ethtool.h, written here once more.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Final

from generated.model import Host, Port

FEATURES: Final = tuple(
    "tx-scatter-gather tx-checksum-ipv4 tx-checksum-ip-generic tx-checksum-ipv6 "
    "tx-generic-segmentation tx-tcp-segmentation tx-tcp6-segmentation tx-udp-segmentation "
    "tx-udp_tnl-segmentation rx-gro rx-lro rx-gro-hw rx-gro-list rx-udp-gro-forwarding "
    "rx-hashing rx-checksum rx-ntuple-filter rx-vlan-hw-parse tx-vlan-hw-insert loopback "
    "esp-hw-offload highdma".split()
)
MODES: Final = (
    "10baseT/Half", "10baseT/Full", "100baseT/Half", "100baseT/Full", "1000baseT/Full", "Autoneg",
    "TP", "FIBRE", "Pause", "2500baseT/Full", "10000baseT/Full", "25000baseCR/Full",
    "40000baseCR4/Full", "50000baseCR2/Full", "100000baseCR4/Full",
)  # fmt: skip
_MODE_BITS: Final = (0, 1, 2, 3, 5, 6, 7, 10, 13, 47, 12, 31, 24, 34, 38)  # ETHTOOL_LINK_MODE_*_BIT
_LEGACY_COALESCE: Final = {
    "rx_usecs": 0, "rx_max_frames": 1, "tx_usecs": 4, "tx_max_frames": 5,
    "use_adaptive_rx": 9, "use_adaptive_tx": 10,
}  # fmt: skip


def parent(host: Host, port: Port) -> str:
    """The name of the device on its bus."""
    place = [one for one in host.ports if one.hardware].index(port) if port.hardware else 0
    return {
        "virtio": f"virtio{place}",
        "vmbus": f"00000000-0000-4000-8000-{place:012x}",
        "platform": "fd580000.ethernet",
        "usb": f"2-{place + 1}:1.0",
    }.get(port.bus, slot(host, port))


def slot(host: Host, port: Port) -> str:
    """A PCI address: the ports of one card are its functions."""
    if port.function is not None:
        return f"0000:{0x40 * port.node + 1:02x}:00.{port.function}"
    place = [one for one in host.ports if one.hardware].index(port) if port.hardware else 0
    return f"0000:{0x40 * port.node + place + 1:02x}:00.0"


def ioctls(host: Host, port: Port, moment: int) -> Iterator[tuple[str, bytes]]:
    name = port.name
    driver = port.driver or port.kind
    if not driver or name == "lo":
        return
    bus = parent(host, port) if port.hardware else ""
    words = (driver, host.release, "N/A", bus, "")
    yield (
        f"ioctl/drvinfo/{name}",
        struct.pack("=I", 3)
        + b"".join(word.encode().ljust(32, b"\0") for word in words)
        + bytes(32),
    )
    if host.kernel < (5, 7):
        yield from _legacy(port)
    if "statistics" in host.absent:
        return
    values = [host.count(f"{name} {stat}", rate, moment) for stat, rate in port.stats.items()]
    size = len(values)
    yield f"ioctl/count/1/{name}", struct.pack("=IIQI", 0x37, 0, 2 if size else 0, size)
    if size:
        yield (
            f"ioctl/names/1/{name}",
            struct.pack("=III", 0x1B, 1, size)
            + b"".join(stat.encode().ljust(32, b"\0") for stat in port.stats),
        )
        yield f"ioctl/statistics/{name}", struct.pack(f"=II{size}Q", 0x1D, size, *values)


def _legacy(port: Port) -> Iterator[tuple[str, bytes]]:
    """What kernels before 5.7 answer by ioctl instead."""
    if port.ring is not None:
        rx, rx_max, tx, tx_max = port.ring
        yield (
            f"ioctl/rings/{port.name}",
            struct.pack("=9I", 0x10, rx_max, 0, 0, tx_max, rx, 0, 0, tx),
        )
    if port.channels is not None:
        now, most = port.channels
        yield f"ioctl/channels/{port.name}", struct.pack("=9I", 0x3C, 0, 0, 0, most, 0, 0, 0, now)
    if port.pause is not None:
        words = (port.pause[key] for key in ("autoneg", "rx", "tx"))
        yield f"ioctl/pause/{port.name}", struct.pack("=4I", 0x12, *words)
    if port.eee is not None:
        active, enabled = port.eee
        yield (
            f"ioctl/eee/{port.name}",
            struct.pack("=10I", 0x44, 0, 0, 0, active, enabled, enabled, 17, 0, 0),
        )
    if port.coalesce is not None:
        words_ = [0] * 22
        for key, value in port.coalesce.items():
            words_[_LEGACY_COALESCE[key]] = value
        yield f"ioctl/coalesce/{port.name}", struct.pack("=23I", 0x0E, *words_)
    if port.features is not None:
        names = b"".join(name.encode().ljust(32, b"\0") for name in FEATURES)
        count = len(FEATURES)
        yield f"ioctl/count/4/{port.name}", struct.pack("=IIQI", 0x37, 0, 1 << 4, count)
        yield f"ioctl/names/4/{port.name}", struct.pack("=III", 0x1B, 4, count) + names
        first = feature_bits(port.features)  # the first block; the second one is empty
        yield f"ioctl/features/{port.name}", struct.pack("=II4I16x", 0x3A, 2, *first)
    if port.hardware and port.modes:
        yield f"ioctl/link-size/{port.name}", struct.pack("=II7xb32x", 0x4C, 0, -2)
        speed, duplex = (port.speed or -1, port.duplex) if port.carrier else (-1, 255)
        head = struct.pack("=IiBBBB3xb", 0x4C, speed, duplex, 0, 0, 1, 2) + bytes(32)
        sets = (_set(port.modes), _set(port.modes), _set(port.peer_modes))
        yield f"ioctl/link/{port.name}", head + struct.pack("=3Q", *sets)


def _set(names: tuple[str, ...]) -> int:
    """Modes as one 64-bit set of ETHTOOL_LINK_MODE_*_BIT."""
    return sum(1 << _MODE_BITS[MODES.index(name)] for name in names)


def feature_bits(told: Mapping[str, str]) -> tuple[int, int, int, int]:
    """Sets of bits: changeable, requested, on, and never changed."""
    place = {name: 1 << bit for bit, name in enumerate(FEATURES)}
    changeable = sum(place[name] for name, state in told.items() if state in ("on", "off"))
    on = sum(place[name] for name, state in told.items() if state in ("on", "always"))
    always = sum(place[name] for name, state in told.items() if state == "always")
    return changeable, on, on, always
