"""Offloads and link modes by ioctl, for kernels before 5.7 and 5.6 without their netlink messages.

ETHTOOL_GFEATURES, ETHTOOL_SFEATURES, ETHTOOL_GLINKSETTINGS: include/uapi/linux/ethtool.h,
net/ethtool/ioctl.c. The answers carry the names of the netlink tables (`ethtool.MESSAGES`).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from ..source import Source
from . import ethtool
from .codec import Attributes, Bits
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


CALLS: Final = {"features": features, "linkmodes": linkmodes}


def every(source: Source, what: str) -> dict[str, Attributes]:
    """The answer of every device that has one, by name; none if no device can be asked."""
    found = {}
    with suppress(OSError):
        for device in names(source).values():
            with suppress(OSError):
                found[device] = CALLS[what](source, device)
    return found


def put(kernel: Kernel, device: str, values: Mapping[str, bool]) -> None:
    """Request features of one device by name; ValueError for a name that the kernel lacks."""
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
        wanted[block] |= on << bit
    words = [word for pair in zip(valid, wanted, strict=True) for word in pair]
    kernel.ioctl(device, struct.pack(f"=II{2 * blocks}I", SFEATURES, blocks, *words))
