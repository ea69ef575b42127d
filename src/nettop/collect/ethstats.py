"""Statistics of the MAC by IEEE 802.3 and RMON (Linux 5.13).

ETHTOOL_MSG_STATS_GET; numbers: include/uapi/linux/ethtool_netlink.h, and what each counts:
Documentation/networking/statistics.rst. Unlike those of `ethtool -S`, they have one meaning for
all drivers. mlx5, bnxt, ice and a few others provide them, most drivers do not.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final

from ..frame.fields import counter, label, light
from ..host.netlink.codec import (
    NESTED,
    Field,
    Request,
    attribute,
    attributes,
    decode,
    encode,
    numbered,
)
from ..host.netlink.ethtool import NO_LIST, by_device
from ..host.netlink.route import names
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.9, memory="statistics")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One statistic, named as `ethtool -S DEVICE --all-groups` names it."""

    interface: str = label("interface name")
    name: str = label("group and name, e.g. eth-mac-FrameCheckSequenceErrors")
    value: int = counter("count of frames, octets or events")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every standard statistic of every interface. OSError on a kernel without the request."""
    return [
        Row(interface, name, value)
        for interface, values in readings(source, memory).items()
        for name, value in values.items()
    ]


_MOMENT = 0.05  # seconds: collectors of one frame run one after the other
_LOOK = 10.0  # seconds between requests to all interfaces


@dataclass
class _Known:
    """What is kept from frame to frame; times are seconds of the source's clock."""

    looked: float = float("-inf")
    at: float = float("-inf")
    values: dict[str, dict[str, int]] = field(default_factory=dict)
    error: OSError | None = None


def readings(source: Source, memory: Memory) -> Mapping[str, Mapping[str, int]]:
    """The counts by interface and name; OSError on a kernel without the request."""
    known = recall(memory, _Known)
    now = source.now()
    if not 0 <= now - known.looked < _LOOK:
        known.looked, known.error = now, None
        try:
            known.values = every(source)
        except OSError as error:
            known.values, known.error = {}, error.with_traceback(None)
    elif not 0 <= now - known.at < _MOMENT and known.values:
        known.values = {
            interface: found for interface in known.values if (found := _one(source, interface))
        }
    known.at = now
    why = known.error
    if why is not None:  # a new exception: the traceback of the old one holds locals
        raise OSError(why.errno, why.strerror, why.filename)
    return known.values


def _one(source: Source, interface: str) -> dict[str, int]:
    try:
        return one(source, interface)
    except (OSError, ValueError):  # renamed or gone
        return {}


_STATS_GET: Final = 32
_DEVICE: Final = {2: Field("device", "nest", {2: Field("name", "text")})}
_GROUP, _ID, _VALUE, _RECEIVED, _SENT = 4, 2, 4, 5, 6
_BUCKET: Final = numbered(7, "low high count:Q")

GROUPS: Final[Mapping[int, tuple[str, tuple[str, ...]]]] = {
    0: ("eth-phy", ("SymbolErrorDuringCarrier",)),
    1: (
        "eth-mac",
        tuple(
            "FramesTransmittedOK SingleCollisionFrames MultipleCollisionFrames FramesReceivedOK "
            "FrameCheckSequenceErrors AlignmentErrors OctetsTransmittedOK "
            "FramesWithDeferredXmissions LateCollisions FramesAbortedDueToXSColls "
            "FramesLostDueToIntMACXmitError CarrierSenseErrors OctetsReceivedOK "
            "FramesLostDueToIntMACRcvError MulticastFramesXmittedOK BroadcastFramesXmittedOK "
            "FramesWithExcessiveDeferral MulticastFramesReceivedOK BroadcastFramesReceivedOK "
            "InRangeLengthErrors OutOfRangeLengthField FrameTooLongErrors".split()
        ),
    ),
    2: (
        "eth-ctrl",
        ("MACControlFramesTransmitted", "MACControlFramesReceived", "UnsupportedOpcodesReceived"),
    ),
    3: (
        "rmon",
        (
            "etherStatsUndersizePkts", "etherStatsOversizePkts", "etherStatsFragments",
            "etherStatsJabbers",
        ),
    ),
}  # fmt: skip
"""The groups asked for, each with the names of its statistics by number."""


def every(source: Source) -> dict[str, dict[str, int]]:
    """The statistics of each device, by its name; devices without any are left out.

    An error of one driver ends the kernel's list; each device is then asked separately. OSError on
    a kernel without them; ValueError for an answer that is cut off.
    """
    try:
        return _ask(source, None, "ethtool/stats")
    except OSError as error:
        if error.errno in NO_LIST:
            raise
    found = {}
    for device in names(source).values():
        with suppress(OSError):
            if values := one(source, device):
                found[device] = values
    return found


def one(source: Source, device: str) -> dict[str, int]:
    """The statistics of one device; empty if it has none."""
    return _ask(source, device, f"ethtool/stats/{device}").get(device, {})


def _ask(source: Source, device: str | None, name: str) -> dict[str, dict[str, int]]:
    about = {} if device is None else {"device": {"name": device}}
    wanted = sum(1 << group for group in GROUPS).to_bytes(4, sys.byteorder)
    size = len(GROUPS).to_bytes(4, sys.byteorder)
    bits = attribute(1, b"") + attribute(2, size) + attribute(4, wanted)  # a list without a mask
    body = encode(_DEVICE, about) if about else attribute(2 | NESTED, b"")
    body += attribute(3 | NESTED, bits)
    return parse(source.netlink(Request("ethtool", _STATS_GET, body, name, dump=device is None)))


def parse(reply: bytes) -> dict[str, dict[str, int]]:
    """The statistics of an answer, by device and name; ValueError when it is cut off."""
    found: dict[str, dict[str, int]] = {}
    known: dict[bytes, dict[str, int]] = {}  # most software interfaces give the same: nothing
    for device, own in by_device(reply, 2):
        values = known.get(own)
        if values is None:
            values = known[own] = {
                name: value
                for what, a, e in attributes(own, 0, len(own))
                if what == _GROUP
                for name, value in _group(own, a, e)
            }
        if values:
            found.setdefault(device, {}).update(values)
    return found


def _group(data: bytes, start: int, end: int) -> Iterator[tuple[str, int]]:
    """The statistics of one group, and the packets by size that RMON counts."""
    number = decode(data, start, end, {_ID: Field("id")}).get("id", -1)
    group, names = GROUPS.get(number, ("", ()))
    if not group:  # a later kernel's
        return
    for what, a, e in attributes(data, start, end):
        if what == _VALUE:
            for which, begin, stop in attributes(data, a, e):
                if which < len(names) and stop - begin == 8:
                    yield f"{group}-{names[which]}", int.from_bytes(data[begin:stop], sys.byteorder)
        elif what in (_RECEIVED, _SENT):
            bucket = decode(data, a, e, _BUCKET)
            if "low" in bucket and "high" in bucket and "count" in bucket:
                way = "rx" if what == _RECEIVED else "tx"
                yield f"{way}-{group}-{_size(bucket['low'], bucket['high'])}", bucket["count"]


def _size(low: int, high: int) -> str:
    """The name of a range of packet sizes; 0 has no upper end."""
    if not high:
        return f"etherStatsPkts{low}toMaxOctets"
    return f"etherStatsPkts{low}Octets" if low == high else f"etherStatsPkts{low}to{high}Octets"
