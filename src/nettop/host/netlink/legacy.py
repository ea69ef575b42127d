"""What kernels before ethtool netlink tell and take by ioctl (before 5.7; link modes before 5.6).

Offloads, link modes, rings, channels, coalescing, pause and EEE: include/uapi/linux/ethtool.h,
net/ethtool/ioctl.c. The answers carry the names of the netlink tables (`ethtool.MESSAGES`). An
ioctl has no way to say that a driver lacks one field: an unsupported coalescing field reads 0
there, so only those fields are given that a driver with any coalescing has.
"""

import errno
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from ..source import Source
from . import ethtool
from .codec import Attributes, Bits, text
from .driver import string_names
from .kernel import Kernel
from .route import names

GFEATURES, SFEATURES, GLINKSETTINGS = 0x3A, 0x3B, 0x4C
FEATURES: Final = 4  # ETH_SS_FEATURES
_BLOCKS: Final = 8  # room for 256 features; Linux 5.4 has two blocks
_MODES_AT: Final = 48  # in struct ethtool_link_settings

# ETHTOOL_LINK_MODE_*_BIT as of Linux 5.5: these kernels have no string set with the names
LINK_MODES: Final = tuple(
    "10baseT/Half 10baseT/Full 100baseT/Half 100baseT/Full 1000baseT/Half 1000baseT/Full Autoneg "
    "TP AUI MII FIBRE BNC 10000baseT/Full Pause Asym_Pause 2500baseX/Full Backplane "
    "1000baseKX/Full 10000baseKX4/Full 10000baseKR/Full 10000baseR_FEC 20000baseMLD2/Full "
    "20000baseKR2/Full 40000baseKR4/Full 40000baseCR4/Full 40000baseSR4/Full 40000baseLR4/Full "
    "56000baseKR4/Full 56000baseCR4/Full 56000baseSR4/Full 56000baseLR4/Full 25000baseCR/Full "
    "25000baseKR/Full 25000baseSR/Full 50000baseCR2/Full 50000baseKR2/Full 100000baseKR4/Full "
    "100000baseSR4/Full 100000baseCR4/Full 100000baseLR4_ER4/Full 50000baseSR2/Full "
    "1000baseX/Full 10000baseCR/Full 10000baseSR/Full 10000baseLR/Full 10000baseLRM/Full "
    "10000baseER/Full 2500baseT/Full 5000baseT/Full None RS BASER 50000baseKR/Full "
    "50000baseSR/Full 50000baseCR/Full 50000baseLR_ER_FR/Full 50000baseDR/Full "
    "100000baseKR2/Full 100000baseSR2/Full 100000baseCR2/Full 100000baseLR2_ER2_FR2/Full "
    "100000baseDR2/Full 200000baseKR4/Full 200000baseSR4/Full 200000baseLR4_ER4_FR4/Full "
    "200000baseDR4/Full 200000baseCR4/Full 100baseT1/Full 1000baseT1/Full 400000baseKR8/Full "
    "400000baseSR8/Full 400000baseLR8_ER8_FR8/Full 400000baseDR8/Full 400000baseCR8/Full".split()
)


def strings(source: Source, which: str) -> tuple[str, ...]:
    """The names of the bits of `features` or `linkmodes`, by netlink if it is there. OSError."""
    try:
        return ethtool.strings(source, which)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EOPNOTSUPP}:
            raise
        found = LINK_MODES if which == "linkmodes" else _feature_names(source)
        if not found:
            raise
        return found


def _feature_names(source: Source) -> tuple[str, ...]:
    """The names that the first device with an answer reports; none if no device answers."""
    with suppress(OSError):
        for device in names(source).values():
            with suppress(OSError):
                return string_names(source, device, FEATURES)
    return ()


def features(source: Source, device: str) -> Attributes:
    """The bit sets `hw`, `wanted`, `active` and `nochange` of one device. OSError, ValueError."""
    ask = struct.pack(f"=II{16 * _BLOCKS}x", GFEATURES, _BLOCKS)
    raw = source.statistics(device, ask, f"features/{device}")
    count = struct.unpack_from("=I", raw, 4)[0] if len(raw) >= 8 else 0
    if not 0 < count <= _BLOCKS or len(raw) < 8 + 16 * count:
        raise ValueError("the answer about features is cut off")
    words = struct.unpack_from(f"={4 * count}I", raw, 8)
    return {
        name: _bits(words[place::4])
        for place, name in enumerate(("hw", "wanted", "active", "nochange"))
    }


def linkmodes(source: Source, device: str) -> Attributes:
    """Speed, duplex, connector and modes of one link; OSError, ValueError.

    The first call returns, as a negative number, how many words a set of modes has.
    """
    raw = source.statistics(device, _link_request(0), f"link-size/{device}")
    count = -struct.unpack_from("=b", raw, 15)[0] if len(raw) >= _MODES_AT else 0
    if not 0 < count <= 127:
        raise ValueError("the size of link modes is cut off")
    raw = source.statistics(device, _link_request(count), f"link/{device}")
    if len(raw) < _MODES_AT + 12 * count:
        raise ValueError("the answer about link modes is cut off")
    speed, duplex, port, _phy, autoneg = struct.unpack_from("=IBBBB", raw, 4)
    words = struct.unpack_from(f"={3 * count}I", raw, _MODES_AT)
    supported, advertised, partner = (
        _bits(words[count * place : count * (place + 1)]).value for place in range(3)
    )
    return {
        "speed": speed, "duplex": duplex, "port": port, "autoneg": autoneg,
        "ours": Bits(advertised, supported, 32 * count), "peer": Bits(partner, partner, 32 * count),
    }  # fmt: skip


def _link_request(words: int) -> bytes:
    return struct.pack(f"=II7xb{_MODES_AT - 16 + 12 * words}x", GLINKSETTINGS, 0, words)


def _bits(words: tuple[int, ...]) -> Bits:
    value = sum(word << 32 * place for place, word in enumerate(words))
    return Bits(value, value, 32 * len(words))


def _put_features(kernel: Kernel, device: str, values: Mapping[str, int]) -> None:
    """Request features of one device by name."""
    ask = struct.pack(f"=III{32 * 256}x", 0x1B, FEATURES, 0)  # ETHTOOL_GSTRINGS
    raw = kernel.ioctl(device, ask)
    count = min(256, struct.unpack_from("=I", raw, 8)[0])
    known = [raw[12 + 32 * n : 44 + 32 * n].split(b"\0")[0].decode() for n in range(count)]
    unknown = set(values) - set(known)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: not known to this kernel's ethtool")
    blocks = -(-count // 32)
    valid, wanted = [0] * blocks, [0] * blocks
    for name, on in values.items():
        block, bit = divmod(known.index(name), 32)
        valid[block] |= 1 << bit
        wanted[block] |= bool(on) << bit
    words = [word for pair in zip(valid, wanted, strict=True) for word in pair]
    kernel.ioctl(device, struct.pack(f"=II{2 * blocks}I", SFEATURES, blocks, *words))


# what: (get, set, the 32-bit words after the command)
CALLS: Final[Mapping[str, tuple[int, int, tuple[str, ...]]]] = {
    "coalesce": (
        0x0E,
        0x0F,
        tuple(
            "rx_usecs rx_max_frames rx_usecs_irq rx_max_frames_irq tx_usecs tx_max_frames "
            "tx_usecs_irq tx_max_frames_irq stats_block_usecs use_adaptive_rx use_adaptive_tx "
            "pkt_rate_low rx_usecs_low rx_max_frames_low tx_usecs_low tx_max_frames_low "
            "pkt_rate_high rx_usecs_high rx_max_frames_high tx_usecs_high tx_max_frames_high "
            "rate_sample_interval".split()
        ),
    ),
    "rings": (
        0x10,
        0x11,
        ("rx_max", "rx_mini_max", "rx_jumbo_max", "tx_max", "rx", "rx_mini", "rx_jumbo", "tx"),
    ),
    "pause": (0x12, 0x13, ("autoneg", "rx", "tx")),
    "eee": (  # struct ethtool_eee; the netlink names of what both have
        0x44,
        0x45,
        tuple(
            "supported advertised lp_advertised active enabled tx_lpi_enabled tx_lpi_timer "
            "reserved_0 reserved_1".split()
        ),
    ),
    "channels": (
        0x3C,
        0x3D,
        (
            "rx_max", "tx_max", "other_max", "combined_max",
            "rx_count", "tx_count", "other_count", "combined_count",
        ),
    ),
}  # fmt: skip
_ALWAYS: Final = frozenset(CALLS["coalesce"][2][:8]) | {"use_adaptive_rx", "use_adaptive_tx"}


_SETS: Final[Mapping[str, Callable[[Source, str], Attributes]]] = {
    "features": features, "linkmodes": linkmodes,
}  # fmt: skip
READ: Final = CALLS.keys() | _SETS.keys()
WRITTEN: Final = CALLS.keys() | {"features"}


def one(source: Source, what: str, device: str) -> Attributes:
    """The values of one device; OSError (EOPNOTSUPP) when the driver has none, ValueError."""
    if what in _SETS:
        return _SETS[what](source, device)
    get, _put, fields = CALLS[what]
    ask = struct.pack(f"=I{4 * len(fields)}x", get)
    raw = source.statistics(device, ask, f"{what}/{device}")
    return dict(zip(fields, _words(raw, len(fields)), strict=True))


def _words(raw: bytes, count: int) -> tuple[int, ...]:
    if len(raw) < 4 + 4 * count:
        raise ValueError("the driver's answer is cut off")
    return struct.unpack_from(f"={count}I", raw, 4)


def every(source: Source, what: str) -> dict[str, Attributes]:
    """The values of every device that has any, by name, as `ethtool.every` gives them."""
    found = {}
    for device in names(source).values():
        try:
            values = one(source, what, device)
        except OSError:
            continue
        if what == "coalesce":
            values = {
                name: value
                for name, value in values.items()
                if name in _ALWAYS and (value or not name.startswith("use_adaptive"))
            }  # a driver without adaptive moderation answers 0 as well: off is unknown
        elif what in CALLS:  # a maximum of 0 means that the driver has no such ring or channel
            values = {
                name: value
                for name, value in values.items()
                if values.get(f"{name.removesuffix('_count').removesuffix('_max')}_max", 1)
            }
        found[device] = values
    return found


def put(kernel: Kernel, what: str, device: str, values: Mapping[str, int]) -> None:
    """Set values of one device, keeping the others: read, change, write, as ethtool(8) did.

    ValueError for a name that the kernel lacks.
    """
    if what == "features":
        _put_features(kernel, device, values)
        return
    get, write, fields = CALLS[what]
    unknown = set(values) - set(fields)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: not known to this kernel's ethtool")
    now = kernel.ioctl(device, struct.pack(f"=I{4 * len(fields)}x", get))
    words = dict(zip(fields, _words(now, len(fields)), strict=True)) | dict(values)
    try:
        request = struct.pack(f"=I{len(fields)}I", write, *(words[name] for name in fields))
    except struct.error:
        raise ValueError(f"{text(device.encode())}: a value does not fit") from None
    kernel.ioctl(device, request)
