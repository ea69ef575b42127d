"""The text of a rule of the packet filter, as `nft list chain` has it.

It is made of the expressions that were read; what is not understood of them is `…`. Statements that
nft implies, such as `meta l4proto tcp` before a port, are left out as it does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final

from ...collect.nft_rules import Row as RuleRow
from ...collect.nft_rules import Words
from ...collect.nft_sets import Row as SetRow
from ...collect.nftables import SIGNS, limit, states
from ...terms.text import few
from .flow import Host
from .packet import OVER, PROTOCOLS

UNKNOWN: Final = "…"
WIDTH: Final = 16  # bytes of a whole name of an interface
MOST: Final = 6  # elements of a list in a rule that are told
_PLAIN: Final = {"masq": "masquerade", "redir": "redirect", "counter": "counter", "log": "log",
                 "reject": "reject", "notrack": "notrack"}  # fmt: skip
_META: Final = {1: "meta protocol", 3: "meta mark", 4: "iif", 5: "oif", 6: "iifname",
                7: "oifname", 10: "meta skuid", 11: "meta skgid", 15: "meta nfproto",
                16: "meta l4proto"}  # fmt: skip
_STATE: Final = "ct state"
_ADDRESSES: Final = {(1, 12): ("ip saddr", 4), (1, 16): ("ip daddr", 4),
                     (1, 8): ("ip6 saddr", 16), (1, 24): ("ip6 daddr", 16)}  # fmt: skip
_FIELDS: Final[Mapping[tuple[int, ...], str]] = {
    (1, 9, 1): "ip protocol", (1, 8, 1): "ip ttl", (1, 6, 1): "ip6 nexthdr", (2, 0, 1): "type",
    (2, 0, 2): "sport", (2, 2, 2): "dport", (2, 13, 1): "flags",
}  # fmt: skip
_TRANSPORT: Final = ("sport", "dport", "type", "flags")  # behind the name of their protocol
_NUMBERS: Final = {f"{number:02x}": name for name, number in PROTOCOLS.items()}
_NAMES: Final = {
    "meta nfproto": {"02": "ipv4", "0a": "ipv6"},
    "meta protocol": {"0800": "ip", "86dd": "ip6", "0806": "arp"},
    "meta l4proto": _NUMBERS, "ip protocol": _NUMBERS, "ip6 nexthdr": _NUMBERS,
}  # fmt: skip
_IMPLIED: Final = {"ip": ("meta nfproto ipv4", "meta protocol ip"), "icmp": ("meta nfproto ipv4",),
                   "ip6": ("meta nfproto ipv6", "meta protocol ip6")}  # fmt: skip
_VERDICTS: Final = {"0": "drop", "1": "accept", "-3": "jump", "-4": "goto", "-5": "return"}


def written(rule: RuleRow, host: Host) -> str:
    """The rule in one line."""
    own = (one for one in host.frame.rows("nft_sets")
           if (one.family, one.table) == (rule.family, rule.table))  # fmt: skip
    text = _Text({one.set: one for one in own})
    for words in rule.does:
        text.add(words)
    return " ".join(text.parts)


class _Text:
    """The statements of a rule so far, and what its registers have."""

    def __init__(self, sets: Mapping[str, SetRow]) -> None:
        self.parts: list[str] = []
        self._sets = sets
        self._fields: dict[object, tuple[str, int]] = {}  # with the bytes of a whole value
        self._loaded: list[str] = []  # since the last test
        self._masks: dict[object, str] = {}
        self._given: list[str] = []  # values that the rule itself has

    def add(self, words: Words) -> None:
        """Take the next expression."""
        name, *values = words
        match name, values:
            case (("meta" | "ct" | "payload" | "fib"), [_, _, *_]):
                self._load(name, values)
            case "bitwise", [register, _, str(mask), _]:
                self._masks[register] = mask
            case "cmp", [register, int(by), str(data)] if by < len(SIGNS):
                self._compare(register, SIGNS[by], data)
            case "range", [register, int(inverted), *bounds]:
                name, size = self._field(register)
                told = [_value(name, str(one), size) for one in bounds]
                pairs = ["-".join(one) for one in zip(told[::2], told[1::2], strict=False)]
                value = pairs[0] if len(pairs) == 1 else f"{{ {few(pairs, MOST)} }}"
                self._test(name, "!= " * inverted + value)
            case "lookup", [str(one), _, *to, int(flags)]:
                self._look_up(one, "vmap " if to == [0] else "map " if to else "!= " * flags)
            case "immediate", [_, str(data)] if ":" in data:
                self.parts.append(_verdict(data))
            case "immediate", [_, str(data)]:
                self._given.append(data)
            case "meta", [3]:
                self.parts.append(f"meta mark set {self._last('meta mark')}")
            case _:
                self.parts.append(self._statement(str(name), values))

    def _load(self, name: str, values: list[str | int]) -> None:
        """Store the name of what a register is loaded with."""
        register, field, size = values[0], UNKNOWN, 0
        match name, values:
            case "payload", [_, int(base), int(offset), int(length)]:
                field, size = _ADDRESSES.get((base, offset), (UNKNOWN, 0))
                if (base, offset, length) in _FIELDS:
                    field, size = _FIELDS[base, offset, length], 0
            case _, [int(key), register]:
                known = {"meta": _META, "ct": {0: _STATE}}.get(name, {})
                field = known.get(key, UNKNOWN)
        self._fields[register] = field, size
        self._loaded.append(field)
        self._masks.pop(register, None)

    def _field(self, register: object) -> tuple[str, int]:
        return self._fields.get(register, (UNKNOWN, 0))

    def _compare(self, register: object, sign: str, data: str) -> None:
        name, size = self._field(register)
        mask = self._masks.pop(register, "")
        if name == _STATE and mask and not int(data or "0", 16):
            self._test(name, f"{'' if sign else '!= '}{states(bytes.fromhex(mask))}")
            return
        value = _value(name, data, size)
        if mask and size:
            value += f"/{int(mask, 16).bit_count()}"
        elif mask:
            name, sign = f"{name} & 0x{mask}", sign or "== "
        begin = self.parts[-1].partition(f"{name} >= ")[2] if self.parts else ""
        if sign == "<= " and begin:  # both ends of one range
            self.parts[-1] = self.parts[-1].replace(">= ", "") + f"-{value}"
        else:
            self._test(name, sign + value)

    def _test(self, name: str, value: str) -> None:
        """Add a test, without the statements that it implies."""
        self._loaded.clear()
        if UNKNOWN in name:
            self.parts += [UNKNOWN] if self.parts[-1:] != [UNKNOWN] else []
            return
        field, *mask = name.split(" & ")
        whole = " & ".join((" . ".join(map(self._of_protocol, field.split(" . "))), *mask))
        for one in _IMPLIED.get(whole.partition(" ")[0], ()):
            if one in self.parts:
                self.parts.remove(one)
        self.parts.append(f"{whole} {value}")

    def _of_protocol(self, field: str) -> str:
        """The field with its protocol, which another statement may have named for it."""
        if field not in _TRANSPORT:
            return field
        named = [one for one in self.parts if one.startswith(("meta l4proto ", "ip protocol "))]
        if named and named[0].startswith("meta"):
            self.parts.remove(named[0])
        protocol = named[0].rpartition(" ")[2] if named else "tcp" if field == "flags" else "th"
        return f"{protocol} {field}"

    def _look_up(self, name: str, sign: str) -> None:
        fields = self._loaded[:] or [UNKNOWN]
        row = self._sets.get(name)
        told = f"@{name}"
        if name.startswith("__"):  # a list in the rule
            told = UNKNOWN
            if row is not None and len(fields) == 1:
                told = f"{{ {few(_elements(fields[0], row), MOST)} }}"
        self._test(" . ".join(fields), sign + told)

    def _statement(self, name: str, values: list[str | int]) -> str:
        match name, values:
            case "limit", [int(rate), int(unit), int(burst), int(kind), *flags]:
                return f"limit rate {_over(flags)}{limit(rate, unit, burst, kind)}"
            case "quota", [int(size), int(flags), _]:
                return f"quota {_over([flags])}{size} bytes"
            case "queue", [int(first), *rest]:
                many = rest[0] if rest and isinstance(rest[0], int) else 1
                return f"queue to {first}" + (f"-{first + many - 1}" if many > 1 else "")
            case "nat", [int(kind), *_]:
                return f"{'dnat' if kind else 'snat'}{self._to()}"
            case (("masq" | "redir"), _):
                return f"{_PLAIN[name]}{self._to()}"
        words = (
            one for one in values if isinstance(one, str) and one != "?"
        )  # of matches of iptables
        return _PLAIN.get(name) or " ".join((name, *words, UNKNOWN))

    def _last(self, field: str) -> str:
        return _value(field, self._given[-1], 0) if self._given else UNKNOWN

    def _to(self) -> str:
        """The addresses and ports of a translation."""
        ports = [str(int(one, 16)) for one in self._given if len(one) == 4]
        addresses = [_value("addr", one, 0) for one in self._given if len(one) in (8, 32)]
        at = f":{'-'.join(ports)}" if ports else ""
        return f" to {'-'.join(addresses)}{at}" if ports or addresses else ""


def _over(flags: list[str | int]) -> str:
    return "over " if flags and int(flags[0]) & OVER else ""


def _elements(field: str, row: SetRow) -> Iterator[str]:
    for first, last, has in row.elements:
        ends = dict.fromkeys(_value(field, one, 0) for one in (first, last))
        yield "-".join(ends) + (f" : {_verdict(has)}" if ":" in has else "")


def _verdict(data: str) -> str:
    code, _, chain = data.partition(":")
    return f"{_VERDICTS.get(code, UNKNOWN)} {chain}".rstrip()


def _value(field: str, raw: str, size: int) -> str:
    """What a field is compared with; of an address that is cut its prefix."""
    try:
        data = bytes.fromhex(raw)
    except ValueError:  # a scrubbed recording
        return UNKNOWN
    if field in ("iifname", "oifname"):
        name, end, _ = data.partition(b"\0")
        part = "" if end or len(data) == WIDTH else "*"
        return f'"{name.decode(errors="replace")}{part}"'
    if field.endswith("addr") and data:
        whole = data.ljust(size, b"\0")
        cut = f"/{8 * len(data)}" if len(data) < size else ""
        return f"{ip_address(whole)}{cut}" if len(whole) in (4, 16) else UNKNOWN
    if field in _NAMES:
        return _NAMES[field].get(raw, f"0x{raw}")
    if field == _STATE:
        return states(data)
    if field == "meta mark":
        return f"0x{int.from_bytes(data, sys.byteorder):x}"
    if field.startswith("meta sk") or field in ("iif", "oif"):
        return str(int.from_bytes(data, sys.byteorder))
    if field in (*_TRANSPORT, "ip ttl"):
        return str(int.from_bytes(data, "big"))
    return f"0x{raw}"
