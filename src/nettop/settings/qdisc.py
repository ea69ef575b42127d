"""Queueing disciplines: `qdisc.root@eth0` and `qdisc.leaves@eth0` (those of every queue under mq).

A value is a kind with its options in tc's words: `fq`, `fq maxrate 10gbit`, `pfifo_fast`;
`noqueue`, `mq` or another default of the kernel if the root has no handle of its own. Only kinds
that nettop can restore exactly are replaced; a shaper that somebody configured stays.
"""

import contextlib
import re
import struct
import sys
import zlib
from typing import Any

from ..host.netlink.codec import Field, attributes, decode, messages, numbered, text
from ..host.netlink.route import NEWQDISC, names, qdiscs
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import Address, Command, Host, Limits, sysctl

RISK = "none"
SIDE = "tx"
NIC = True
SHOWS = "tc qdisc show dev {nic}"
KEEP = "unit"
NAMES = ("root", "leaves")
_ROOT = 0xFFFFFFFF
_INGRESS = 0xFFFFFFF1
_OURS = 0x7000  # our handles: above those of administrators, below those of the kernel
# options with their numbers (include/uapi/linux/pkt_sched.h) and how tc writes them
_FQ = numbered(1, "limit flow_limit quantum initial_quantum") | {
    7: Field("maxrate"), 9: Field("refill_delay"), 10: Field("orphan_mask"),
    11: Field("low_rate_threshold"), 12: Field("ce_threshold"), 13: Field("timer_slack"),
    14: Field("horizon"), 15: Field("horizon_drop", "B"),
}  # fmt: skip
_CODEL = numbered(1, "target limit interval ecn flows quantum ce_threshold") | {
    8: Field("drop_batch"), 9: Field("memory_limit"),
}  # fmt: skip
_OPTIONS = {"fq": _FQ, "fq_codel": _CODEL}
# defaults of a new qdisc; options that differ are part of the value
_DEFAULTS = {
    "fq": {"limit": 10000, "flow_limit": 100, "maxrate": 0xFFFFFFFF},
    "fq_codel": {"target": 4999, "limit": 10240, "interval": 99999, "ecn": 1, "flows": 1024},
}
# defaults of other options: a qdisc with another value is not changed
_FIXED: dict[str, dict[str, int | None]] = {
    "fq": {
        "refill_delay": 40000, "orphan_mask": 1023, "low_rate_threshold": 68750,
        "ce_threshold": ((1 << 64) - 1) // 1000 & 0xFFFFFFFF, "timer_slack": 10000,
        "horizon": 10_000_000, "horizon_drop": 1,
    },
    "fq_codel": {"ce_threshold": None, "drop_batch": 64, "memory_limit": 32 << 20},
}  # fmt: skip
# in packets of the largest size
_QUANTA = {"fq": {"quantum": 2, "initial_quantum": 10}, "fq_codel": {"quantum": 1}}
_PLAIN = frozenset({"noqueue", "mq", "pfifo_fast", "pfifo", "bfifo", "noop"})
_ALWAYS = frozenset({"noqueue", "mq", "pfifo_fast", "pfifo", "bfifo"})  # of net/sched itself
_OWN = 'tc qdisc del dev "$1" root 2> /dev/null || :'  # fails if there is no qdisc of ours
_TIMES = {"us": 1, "ms": 1000, "s": 10**6}
_QUANTITY = re.compile(r"(\d{1,12})(us|ms|s|p|[gmk]?bit)\Z")
_UNITS = {"gbit": 10**9, "mbit": 10**6, "kbit": 1000, "bit": 1}


@dataclass(frozen=True, slots=True)
class Discipline:
    """One discipline: where it sits, its own handle (0: the kernel's own choice), its value."""

    parent: int
    handle: int
    value: str
    plain: bool  # can be put back exactly


def every(source: Source, nic: str) -> list[Discipline]:
    """The disciplines of an interface."""
    entries = []
    index = {name: number for number, name in names(source).items()}.get(nic)
    if index is None:
        raise FileNotFoundError(2, f"no interface {nic}")
    length, mtu = (
        int(source.text(f"/sys/class/net/{nic}/{file}")) for file in ("tx_queue_len", "mtu")
    )
    reply = qdiscs(source)
    for kind, start, end in messages(reply):
        if kind != NEWQDISC or end - start < 20:
            continue
        _family, number, handle, parent = struct.unpack_from("=BxxxiII", reply, start)
        if number == index and parent != _INGRESS:
            one = _qdisc(reply, start + 20, end, (parent, handle, length, mtu))
            entries.append(one)
    return entries


def _qdisc(reply: bytes, start: int, end: int, head: tuple[int, int, int, int]) -> Discipline:
    parent, handle, length, mtu = head
    name, value, plain = "", "", False
    for number, a, e in attributes(reply, start, end):
        if number == 1:
            name = text(reply[a:e])
            value, plain = name, name in _PLAIN or name in _OPTIONS
        elif number == 2 and name in _OPTIONS:
            options = decode(reply, a, e, _OPTIONS[name])
            value = _shown(name, options, mtu)
            plain = not handle or all(  # the kernel creates its default qdisc anew
                options.get(key, usual) == usual for key, usual in _FIXED[name].items()
            )
        elif number == 2 and name in ("pfifo", "bfifo") and e - a >= 4:
            limit = int.from_bytes(reply[a : a + 4], sys.byteorder)
            value = name if limit == length and name == "pfifo" else f"{name} limit {limit}"
    return Discipline(parent, handle, value, plain)


def _shown(kind: str, options: dict[str, Any], mtu: int) -> str:
    """The kind and the options that differ from the defaults, in tc's words."""
    words = [kind]
    for name, usual in _DEFAULTS[kind].items():
        now = options.get(name, usual)
        if now == usual:
            continue
        if name == "maxrate":
            words += [name, _rate(now * 8)]
        elif name in ("target", "interval"):
            words += [name, f"{now + 1}us"]  # stored in units of 1024 ns, and reported rounded down
        elif name == "ecn":
            words.append("noecn")
        else:
            words += [name, str(now)]
    for name, packets in _QUANTA[kind].items():
        usual = packets * (mtu + 14)
        if options.get(name, usual) != usual:
            words += [name, str(options[name])]
    return " ".join(words)


def _rate(bits: int) -> str:
    for unit, size in _UNITS.items():
        if bits % size == 0 and bits >= size:
            return f"{bits // size}{unit}"
    return f"{bits}bit"


def _chosen(source: Source, address: Address) -> list[Discipline]:
    entries = every(source, address.nic)
    roots = [q for q in entries if q.parent == _ROOT]
    if address.name == "root":
        return roots
    if not any(q.value == "mq" for q in roots):
        raise FileNotFoundError(2, f"{address.nic} has no mq: its root is its only discipline")
    handle = next(q.handle for q in roots)
    return [q for q in entries if q.parent != _ROOT and q.parent & 0xFFFF0000 == handle]


def read(source: Source, address: Address) -> str:
    """The root's value; for the leaves, their common value or `mixed`."""
    shown = {q.value for q in _chosen(source, address)}
    if not shown:
        return "noqueue"
    return shown.pop() if len(shown) == 1 else "mixed"


def _own(source: Source) -> str:
    """The kernel's default discipline; empty where it is not readable (other namespaces)."""
    try:
        return source.text("/proc/sys/net/core/default_qdisc").strip()
    except OSError:
        return ""


def write(host: Host, address: Address, value: str) -> None:
    """Replace it by tc, whose words the value has.

    Deleting the root restores the default of the kernel, with handle 0. This is tried first if the
    value may be that default; where the default cannot be read, after the kernel took the value.
    """
    source = host.source
    if _may_be_own(source, address, value):
        if value not in _ALWAYS and not _own(source):
            _replace(host, address, value)
        try:
            host.run(("tc", "qdisc", "del", "dev", address.nic, "root"))
        except FileNotFoundError:
            raise
        except OSError:
            pass  # there was no qdisc but the kernel's default
        with contextlib.suppress(FileNotFoundError):  # without mq there are no leaves
            if read(source, address) == value:
                return
        if address.name == "leaves":
            host.run(_root(address.nic, _handle(value), "mq").argv)
    _replace(host, address, value)


def _replace(host: Host, address: Address, value: str) -> None:
    for command in commands(host.source, address, value):
        try:
            host.run(command.argv)
        except OSError as error:
            sentence = (error.strerror or "").removeprefix("Error: ")
            raise OSError(error.errno, sentence) from None


def _may_be_own(source: Source, address: Address, value: str) -> bool:
    """Whether the kernel may give this value by itself, so that taking ours away is enough."""
    own = _own(source)
    if address.name == "root":
        return value in ("noqueue", "mq", own) or (not own and " " not in value)
    roots = [q.handle >> 16 for q in every(source, address.nic) if q.parent == _ROOT]
    return [h & 0xF000 for h in roots] == [_OURS] and value == (own or "pfifo_fast")


def _handle(value: str) -> str:
    """A handle for this value.

    Under another handle a discipline of the same kind is made anew; under its own it would keep
    the options that are not named.
    """
    return f"{_OURS | zlib.crc32(value.encode()) & 0xFFF:x}:"


def _root(nic: str, handle: str, value: str) -> Command:
    named = ("handle", handle) if handle else ()
    return Command(("tc", "qdisc", "replace", "dev", nic, "root", *named, *value.split()))


def _leaves(nic: str, handle: str, leaves: list[Discipline], value: str) -> tuple[Command, ...]:
    """One for each queue, under the root with that handle."""
    lead = ("tc", "qdisc", "replace", "dev", nic, "parent")
    places = (f"{handle}{q.parent & 0xFFFF:x}" for q in leaves)
    return tuple(Command((*lead, place, *value.split())) for place in places)


def _stale(entries: list[Discipline], value: str) -> bool:
    """Whether one is of this kind with other options, which it would keep."""
    kind = value.partition(" ")[0]
    return any(q.handle and q.value != value and q.value.partition(" ")[0] == kind for q in entries)


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """`tc qdisc replace`; leaves of the kernel's own mq have no handle: mq gets one first."""
    nic = address.nic
    try:
        chosen = _chosen(source, address)
        root = next(q for q in every(source, nic) if q.parent == _ROOT)
    except (OSError, StopIteration):
        return (_root(nic, "", value),) if address.name == "root" else ()
    stale = _stale(chosen, value)
    if address.name == "root":
        return (_root(nic, _handle(value) if stale else "", value),)
    if root.handle and not stale:
        return _leaves(nic, f"{root.handle >> 16:x}:", chosen, value)
    return portable(source, address, value)


def portable(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """Replace it, with a handle derived from the value; delete ours to restore the kernel's own."""
    nic = address.nic
    chosen = _chosen(source, address)
    if address.name == "leaves":
        handle = _handle(value)
        return (_root(nic, handle, "mq"), *_leaves(nic, handle, chosen, value))
    if not any(q.handle for q in chosen) and read(source, address) == value:
        return (Command(("sh", "-c", _OWN, "sh", nic)),)
    return (_root(nic, "" if value == "noqueue" else _handle(value), value),)


def normal(address: Address, value: str) -> str:
    """A kind and options for tc; ValueError for words that begin with a dash."""
    words = value.lower().split()
    if not words or any(word[0] == "-" for word in words):
        raise ValueError(f"{address} needs a kind of qdisc, such as fq")
    return " ".join(_QUANTITY.sub(_as_read, word) for word in words)


def _as_read(match: re.Match[str]) -> str:
    """A quantity in the unit in which it is read back: `10ms` is `10000us`."""
    number, unit = int(match[1]), match[2]
    if unit == "p":
        return str(number)
    if unit in _TIMES:
        return f"{number * _TIMES[unit]}us"
    return _rate(number * _UNITS[unit])


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError for a kind that the kernel neither has nor can load, if it lists its modules."""
    kind = value.partition(" ")[0]
    if kind in _ALWAYS or kind in {q.value.partition(" ")[0] for q in every(source, address.nic)}:
        return
    known = sysctl.kernel_modules(source)
    if known and f"sch_{kind}" not in known:
        raise ValueError(f"this kernel has no qdisc {kind!r}")


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """For a root, its leaves: the kernel replaces them with it."""
    if address.name == "root" and read(source, address) == "mq":
        return (f"qdisc.leaves@{address.nic}",)
    return ()


def limits(source: Source, address: Address) -> Limits:
    """Not settable where undo could not restore the current discipline."""
    if read(source, address) == "mixed":
        why = "the queues have different ones, and nettop could not put them back exactly"
        return Limits(settable=False, because=why)
    odd = [q.value for q in _chosen(source, address) if not q.plain]
    if odd:
        why = f"{odd[0]} was configured here, and nettop could not put it back exactly"
        return Limits(settable=False, because=why)
    return Limits(default=(_own(source) or None) if address.name == "leaves" else None)
