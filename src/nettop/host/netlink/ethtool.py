"""The ethtool netlink family: its tables, reads of one or every device, and writes.

Numbers: include/uapi/linux/ethtool_netlink_generated.h; meaning: Documentation/networking/
ethtool-netlink.rst. The first messages came with Linux 5.6, most with 5.7; `legacy` is for older
kernels.
"""

import errno
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from ...terms.dataclass import dataclass
from ..source import Source
from . import codec
from .codec import (
    NESTED,
    Attributes,
    Field,
    Request,
    Table,
    attribute,
    decode,
    encode,
    messages,
    numbered,
)
from .kernel import Kernel

_COMPACT, _STATISTICS = 1, 4  # ETHTOOL_FLAG_COMPACT_BITSETS, ETHTOOL_FLAG_STATS
_NAME: Final = 2  # ETHTOOL_A_HEADER_DEV_NAME
_HEADER: Final = {**numbered(1, "index name:text flags"), 4: Field("phy")}
NO_LIST: Final = frozenset(
    {errno.ENOENT, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ETIMEDOUT}
)
"""Errors after which reading each device separately would fail too."""

_MODERATION: Final = {1: Field("steps", "many", numbered(1, "usec packets completions"))}
_COALESCE: Final = {
    **numbered(
        2,
        "rx_usecs rx_max_frames rx_usecs_irq rx_max_frames_irq tx_usecs tx_max_frames tx_usecs_irq "
        "tx_max_frames_irq stats_block_usecs use_adaptive_rx:B use_adaptive_tx:B pkt_rate_low "
        "rx_usecs_low rx_max_frames_low tx_usecs_low tx_max_frames_low pkt_rate_high rx_usecs_high "
        "rx_max_frames_high tx_usecs_high tx_max_frames_high rate_sample_interval "
        "use_cqe_mode_tx:B use_cqe_mode_rx:B tx_aggr_max_bytes tx_aggr_max_frames "
        "tx_aggr_time_usecs",
    ),
    29: Field("rx_profile", "nest", _MODERATION),
    30: Field("tx_profile", "nest", _MODERATION),
}
_STRING: Final = {1: Field("string", "many", numbered(1, "index value:text"))}
_SET: Final = {**numbered(1, "id count"), 3: Field("strings", "nest", _STRING)}


@dataclass(frozen=True, slots=True)
class MessageKind:
    """One kind of ethtool message: its commands and the table of its attributes."""

    get: int
    table: Table
    put: int | None = None
    flags: int = 0
    header: int = 1  # the attribute that names the device


MESSAGES: Final[Mapping[str, MessageKind]] = {
    "linkinfo": MessageKind(
        2, numbered(2, "port:B phyaddr:B tp_mdix:B tp_mdix_ctrl:B transceiver:B"), 3
    ),
    "linkmodes": MessageKind(
        4,
        numbered(
            2,
            "autoneg:B ours:bits peer:bits speed duplex:B master_slave_cfg:B master_slave_state:B "
            "lanes rate_matching:B",
        ),
        5,
        _COMPACT,
    ),
    "linkstate": MessageKind(
        6, numbered(2, "link:B sqi sqi_max ext_state:B ext_substate:B ext_down_cnt")
    ),
    "features": MessageKind(
        11, numbered(2, "hw:bits wanted:bits active:bits nochange:bits"), 12, _COMPACT
    ),
    "privflags": MessageKind(13, numbered(2, "flags:bits"), 14, _COMPACT),
    "rings": MessageKind(
        15,
        numbered(
            2,
            "rx_max rx_mini_max rx_jumbo_max tx_max rx rx_mini rx_jumbo tx rx_buf_len "
            "tcp_data_split:B cqe_size tx_push:B rx_push:B tx_push_buf_len tx_push_buf_len_max "
            "hds_thresh hds_thresh_max",
        ),
        16,
    ),
    "channels": MessageKind(
        17,
        numbered(
            2, "rx_max tx_max other_max combined_max rx_count tx_count other_count combined_count"
        ),
        18,
    ),
    "coalesce": MessageKind(19, _COALESCE, 20),
    "pause": MessageKind(
        21,
        {
            **numbered(2, "autoneg:B rx:B tx:B"),
            5: Field("stats", "nest", numbered(2, "tx_frames:Q rx_frames:Q")),
        },
        22,
        _STATISTICS,
    ),
    "eee": MessageKind(
        23, numbered(4, "active:B enabled:B tx_lpi_enabled:B tx_lpi_timer"), 24, _COMPACT
    ),
    "fec": MessageKind(
        29,
        {
            **numbered(2, "modes:bits auto:B active"),
            5: Field("stats", "nest", numbered(2, "corrected:raw uncorrectable:raw")),
        },
        30,
        _COMPACT | _STATISTICS,
    ),
    "module": MessageKind(34, numbered(2, "power_mode_policy:B power_mode:B"), 35),
    "eeprom": MessageKind(31, numbered(2, "offset length page:B bank:B i2c_address:B data:raw")),
    "rss": MessageKind(
        38, numbered(2, "context hfunc indir:raw hkey:raw input_xfrm start_context"), 48
    ),
}

STRING_SETS: Final[Mapping[str, int]] = {
    "privflags": 2, "features": 4, "hash": 5, "linkmodes": 9,
    "eth-phy": 17, "eth-mac": 18, "eth-ctrl": 19, "rmon": 20,
}  # fmt: skip


def one(source: Source, what: str, device: str, **values: int) -> Attributes:
    """The message `what` of one device; `values` select a part. OSError (EOPNOTSUPP: none)."""
    message = MESSAGES[what]
    body = _header(device, message.flags, message.header) + encode(message.table, values)
    tail = "".join(f"/{value}" for value in values.values())
    request = Request("ethtool", message.get, body, f"ethtool/{what}/{device}{tail}")
    for _name, found in _answers(source.netlink(request), message):
        return found
    raise OSError(errno.ENODATA, "the kernel gave no answer", device)


def every(source: Source, what: str) -> Mapping[str, Attributes]:
    """The message `what` of every device that has it, by device name. OSError.

    One request covers all devices. An error of one driver ends the kernel's list
    (net/ethtool/netlink.c); each device is then read separately, and those with errors left out.
    """
    message = MESSAGES[what]
    body = _header(None, message.flags, message.header)
    request = Request("ethtool", message.get, body, f"ethtool/{what}", dump=True)
    try:
        return _every(source.netlink(request), what)
    except OSError as error:
        if error.errno in NO_LIST:
            raise
    from .route import names

    found = {}
    for device in names(source).values():
        try:
            found[device] = one(source, what, device)
        except OSError:
            continue
    return found


@lru_cache(maxsize=16)
def _every(reply: bytes, what: str) -> Mapping[str, Attributes]:
    """The answers of a list; cached, because settings seldom change."""
    return dict(_answers(reply, MESSAGES[what]))


def _answers(reply: bytes, message: MessageKind) -> list[tuple[str, Attributes]]:
    """Name and attributes of each device; 4 bytes of generic header come first.

    The attributes of devices that are alike are one object: of a thousand veth interfaces, which
    differ in the device's header only, the bytes of one are decoded.
    """
    known: dict[bytes, Attributes] = {}
    out = []
    for device, own in by_device(reply, message.header):
        values = known.get(own)
        if values is None:
            values = known[own] = decode(own, 0, len(own), message.table)
        out.append((device, values))
    return out


def by_device(reply: bytes, header: int = 1) -> Iterator[tuple[str, bytes]]:
    """Name of the device and the attributes after the header of each message of an answer."""
    for _kind, start, end in messages(reply):
        first = next(codec.attributes(reply, start + 4, end), None)
        if first is None or first[0] != header:  # the kernel writes the header first
            continue
        for number, a, e in codec.attributes(reply, first[1], first[2]):
            if number == _NAME and e - a > 1:
                yield codec.text(reply[a:e]), reply[(first[2] + 3) & ~3 : end]
                break


def _header(device: str | None, flags: int = 0, number: int = 1) -> bytes:
    values: Attributes = {} if device is None else {"name": device}
    if flags:
        values["flags"] = flags
    return attribute(number | NESTED, encode(_HEADER, values))


def strings(source: Source, which: str, device: str | None = None) -> tuple[str, ...]:
    """The names of the bits of a string set; private flags have other names on every device."""
    number = STRING_SETS[which]
    inner = attribute(1 | NESTED, encode(_SET, {"id": number}))
    body = _header(device) + attribute(2 | NESTED, inner)
    name = f"ethtool/strings/{which}" + (f"/{device}" if device else "")
    reply = source.netlink(Request("ethtool", 1, body, name))
    return _strings(reply, number)


def _strings(reply: bytes, number: int) -> tuple[str, ...]:
    table = {2: Field("sets", "nest", {1: Field("set", "many", _SET)})}
    for _kind, start, end in messages(reply):
        for one_set in decode(reply, start + 4, end, table).get("sets", {}).get("set", ()):
            if one_set.get("id") == number:
                found = one_set.get("strings", {}).get("string", ())
                by_index = {s.get("index", 0): s.get("value", "") for s in found}
                return tuple(by_index.get(i, "") for i in range(max(by_index, default=-1) + 1))
    return ()


def put(kernel: Kernel, what: str, device: str, values: Mapping[str, object]) -> None:
    """Set values of one device: `put(kernel, "rings", "eth0", {"rx": 1024})`.

    Features and private flags are set by name: `{"rx-gro": False}`; other fields have the names of
    `MESSAGES[what]`. OSError with the kernel's message, ValueError for an unknown name. The kernel
    may round values or apply a part only, so the caller must read them back.
    """
    message = MESSAGES[what]
    if message.put is None:
        raise ValueError(f"{what} cannot be set by netlink")
    if what == "features":
        values = {"wanted": values}
    elif what == "privflags":
        values = {"flags": values}
    kernel.change("ethtool", message.put, _header(device) + encode(message.table, values))
