"""Flow-steering rules of the NIC: `ntuple.rule@eth0/7`, by their index in its table.

A value is `tcp4 src-ip A dst-ip B src-port P dst-port Q queue N` with any of the fields, or `drop`
instead of the queue, or `absent`. Types are tcp4, udp4, tcp6, udp6; fields match exactly. By ioctl
(struct ethtool_rxnfc, include/uapi/linux/ethtool.h); the feature rx-ntuple-filter must be on.
"""

import re
import socket
import struct

from ..host.netlink.driver import FLOW_TYPES, GRXCLSRULE, receive_rings
from ..host.source import Source
from . import Address, Command, Host, Limits
from .route import packed

RISK = "none"
SIDE = "rx"
NIC = True
SHOWS = "ethtool -n {nic}"
KEEP = "unit"
NAMES = ("rule",)
TARGETS = re.compile("/[0-9]{1,9}")
EXAMPLE = "eth0/0"
ABSENT = "absent"
_DELETE, _INSERT = 0x31, 0x32
_DROP = (1 << 64) - 1
_SPEC, _MASK, _COOKIE, _LOCATION = 20, 92, 168, 176  # offsets in struct ethtool_rxnfc
_SIZE = 200
_FIELDS = ("src-ip", "dst-ip", "src-port", "dst-port")


def _place(address: Address) -> int:
    if not address.part.isdigit() or len(address.part) > 9:
        raise LookupError(f"{address} needs a place in the table, such as {address.nic}/0")
    return int(address.part)


def _spans(kind: str) -> dict[str, tuple[int, int]]:
    """The offsets of each field in the type's part of the union (tcp_ip4_spec, tcp_ip6_spec)."""
    wide = 4 if kind.endswith("4") else 16
    return {
        "src-ip": (0, wide), "dst-ip": (wide, 2 * wide),
        "src-port": (2 * wide, 2 * wide + 2), "dst-port": (2 * wide + 2, 2 * wide + 4),
    }  # fmt: skip


def read(source: Source, address: Address) -> str:
    """The rule, `absent`, or `other …` for a rule that these words cannot express."""
    ask = bytearray(_SIZE)
    struct.pack_into("=I", ask, 0, GRXCLSRULE)
    struct.pack_into("=I", ask, _LOCATION, _place(address))
    name = f"ntuple/{address.part}/{address.nic}"
    try:
        raw = source.statistics(address.nic, bytes(ask), name)
    except OSError as error:
        if error.errno in (2, 22):  # ENOENT, or EINVAL of older drivers
            return ABSENT
        if error.errno == 95:
            raise OSError(95, f"the driver of {address.nic} has no flow steering") from None
        raise
    return _words(raw)


def _words(raw: bytes) -> str:
    number = struct.unpack_from("=I", raw, 16)[0]
    kind = next((name for name, value in FLOW_TYPES.items() if value == number), "")
    if not kind:
        return f"other type {number}"
    words, rest = [kind], bytearray(raw[_MASK : _MASK + 72])
    for field, (start, end) in _spans(kind).items():
        mask = raw[_MASK + start : _MASK + end]
        if not any(mask):
            continue
        if mask != b"\xff" * len(mask):
            return "other masks"
        rest[start:end] = bytes(end - start)
        value = raw[_SPEC + start : _SPEC + end]
        words += [field, _shown(field, value)]
    if any(rest):
        return "other fields"
    cookie = struct.unpack_from("=Q", raw, _COOKIE)[0]
    return " ".join([*words, *(["drop"] if cookie == _DROP else ["queue", str(cookie)])])


def _shown(field: str, value: bytes) -> str:
    if field.endswith("port"):
        return str(int.from_bytes(value, "big"))
    return socket.inet_ntop(socket.AF_INET if len(value) == 4 else socket.AF_INET6, value)


def write(host: Host, address: Address, value: str) -> None:
    """Insert the rule at its index, or delete the rule there."""
    request = bytearray(_SIZE)
    struct.pack_into("=I", request, 0, _DELETE if value == ABSENT else _INSERT)
    struct.pack_into("=I", request, _LOCATION, _place(address))
    if value != ABSENT:
        words = value.split()
        struct.pack_into("=I", request, 16, FLOW_TYPES[words[0]])
        spans = _spans(words[0])
        for field, text in zip(words[1::2], words[2::2], strict=False):
            if field not in spans:
                continue
            start, end = spans[field]
            request[_SPEC + start : _SPEC + end] = _bytes(field, text)
            request[_MASK + start : _MASK + end] = b"\xff" * (end - start)
        cookie = _DROP if words[-1] == "drop" else int(words[-1])
        struct.pack_into("=Q", request, _COOKIE, cookie)
    host.ioctl(address.nic, bytes(request))


def _bytes(field: str, text: str) -> bytes:
    return int(text).to_bytes(2, "big") if field.endswith("port") else packed(text)[1]


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError for a queue that the driver does not receive on, where it reports their number."""
    words = value.split()
    if words[-2:-1] != ["queue"]:
        return
    try:
        rings = receive_rings(source, address.nic)
    except OSError:
        return
    if rings and int(words[-1]) >= rings:
        raise ValueError(f"{address.nic} has receive rings 0 to {rings - 1}, not {words[-1]}")


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ethtool -N`."""
    if value == ABSENT:
        return (Command(("ethtool", "-N", address.nic, "delete", address.part)),)
    kind, *words = value.split()
    words = [*words[:-1], "action", "-1"] if words[-1] == "drop" else words
    words = ["action" if word == "queue" else word for word in words]
    where = ("flow-type", kind, *words, "loc", address.part)
    return (Command(("ethtool", "-N", address.nic, *where)),)


def normal(address: Address, value: str) -> str:
    """The words in canonical order; ValueError for unknown ones."""
    words = value.lower().split()
    if words == [ABSENT] or words[:1] == ["other"]:
        return " ".join(words)
    end = 1 if words[-1:] == ["drop"] else 2
    kind, pairs, action = words[:1], words[1:-end], words[-end:]
    fields = dict(zip(pairs[::2], pairs[1::2], strict=False))
    good = kind and kind[0] in FLOW_TYPES and len(pairs) == 2 * len(fields)
    if not good or set(fields) - set(_FIELDS) or (end == 2 and action[:1] != ["queue"]):
        raise ValueError(f"{address} is a rule such as 'tcp4 dst-port 5001 queue 2', not {value!r}")
    wide = 4 if kind[0].endswith("4") else 16
    for field, text in fields.items():
        if field.endswith("port"):
            if not text.isdigit() or not 0 < int(text) < 65536:
                raise ValueError(f"{text!r} is not a port")
        elif len(packed(text)[1]) != wide:
            raise ValueError(f"{text!r} is not an address of {kind[0]}")
    if end == 2 and (not action[1].isdigit() or len(action[1]) > 5):
        raise ValueError(f"{action[1]!r} is not a queue")
    ordered = [word for field in _FIELDS if field in fields for word in (field, fields[field])]
    return " ".join([*kind, *ordered, *action])


def limits(source: Source, address: Address) -> Limits:
    """ValueError where undo could not restore the rule there: these words cannot express it."""
    now = read(source, address)
    if now.startswith("other"):
        return Limits(settable=False, because="the rule there could not be put back exactly")
    return Limits(default=ABSENT)
