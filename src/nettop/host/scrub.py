"""Replace names and addresses in a recording consistently, so that it can be shared.

The replaced values are MAC addresses (also in interface names), IP addresses (also private ones),
the name of the host, and words of the kernel command line that are not in a known list. Addresses
keep their common prefixes, so routes still match. This covers text, hexadecimal addresses as in
/proc/net/udp, and binary answers of rtnetlink, sock_diag, nf_tables and xfrm.

In these, addresses are replaced in all attributes, nested ones included. Names given by users,
keys, and the attributes of kinds of interfaces that are not listed here are overwritten with zeros.
"""

import base64
import errno
import os
import re
import struct
import sys
from collections.abc import Callable, Mapping
from socket import AF_INET
from typing import Final

from . import source
from .archive import MARK
from .netlink import xfrm
from .netlink.codec import attributes
from .pseudonyms import Names
from .recording import bare

_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}(?:(?:[0-9a-fA-F]{2}:){14})?[0-9a-fA-F]{2}\b")
_IP4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IP6 = re.compile(r"(?<![0-9a-fA-F:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![0-9a-fA-F:.])")
_HOST = re.compile(r"^[^\S\n]*(?:([0-9a-fA-F:.]+)(?=\s))?[^\n]*", re.MULTILINE)  # of hosts(5)
_COMMENT = re.compile(r"^([^\S\n]*[#;]).*", re.MULTILINE)
_GROUPS4 = re.compile(r"(?<=\t)[0-9A-F]{8}\b")
_GROUPS6 = re.compile(r"\b[0-9a-f]{32}\b")
_HEX4 = re.compile(r"\b([0-9A-F]{8})(?=:[0-9A-F]{4}\b)")
_HEX6 = re.compile(r"\b([0-9A-F]{32})(?=:[0-9A-F]{4}\b)")
_NAMED = re.compile(r"(;peer=\d+),[^; ]*")  # of failed calls: the name of a Unix socket
_GROUP = re.compile(r"@/[^, ]*")  # and the control group of a BPF program
# kernel command-line words about the tuning of the host, which do not identify it
WORDS = frozenset(
    """
    amd_iommu amd_pstate audit clocksource cpuidle.off default_hugepagesz
    elevator hpet hugepages hugepagesz idle intel_idle.max_cstate
    intel_iommu intel_pstate iommu iommu.passthrough iommu.strict irqaffinity
    isolcpus kthread_cpus maxcpus mce mitigations net.ifnames
    nmi_watchdog nohz nohz_full nosmt nosoftlockup noxsave
    nr_cpus numa numa_balancing pci pcie_aspm preempt
    processor.max_cstate quiet rcu_nocb_poll rcu_nocbs ro rw
    skew_tick swiotlb threadirqs transparent_hugepage tsc workqueue.power_efficient
    x2apic
    """.split()
)
DAMAGED = f"!{errno.EBADMSG} {os.strerror(errno.EBADMSG)}\n"
_TEXTS_WITHOUT_ADDRESSES = ("/proc/interrupts", "/proc/stat", "/proc/softirqs", "/sys/class/dmi")


def scrub(archive: str, names: Names | None = None) -> str:
    """An archive without names and addresses; pieces of one archive need the same `names`."""
    names = names or Names()
    parts = MARK.split(archive)
    entries = list(zip(parts[1::2], parts[2::2], strict=True))
    names.hide(body.strip() for name, body in entries if name.endswith("/hostname"))
    out = [names.hosts.sub("host", parts[0]) if names.hosts else parts[0]]
    for name, body in entries:
        shown = name if name.startswith("@") else _text(name, names)
        out.append(f"-- {shown} --\n{_body(bare(name), body, names)}")
    return "".join(out)


def _body(name: str, body: str, names: Names) -> str:
    if body.startswith("!"):
        return body
    if name.startswith("netlink/"):
        return _netlink(name, body, names)
    if name == source.AGES or name.startswith("ioctl/"):
        return body
    if name in _WHOLE:
        return _WHOLE[name](body)
    if name.startswith("/proc/") and name.endswith("/mountinfo"):
        return _filesystems(body)
    if name == "/etc/":
        return ""  # the names would show what is installed
    body = _HOST.sub(r"\1 name", body) if name.endswith("/etc/hosts") else body
    if "/sysctl." in name and name.endswith(".conf"):
        body = _COMMENT.sub(r"\1", body)  # lines keep their numbers
    if name.startswith("/proc/") and "/fd/" in name and name.endswith("@"):
        return _open(body)
    if name == "bpf/calls":
        body = _GROUP.sub("@/group", _NAMED.sub(r"\1,/file", body))
    if name.startswith(_TEXTS_WITHOUT_ADDRESSES):
        return _names(body, names)
    return _text(_hexadecimal(name, body, names), names)


def _hexadecimal(name: str, body: str, names: Names) -> str:
    """The addresses of sockets, and of groups, which IPv6 has in the order of the network."""
    if name.startswith(("/proc/net/udp", "/proc/net/tcp", "/proc/net/raw")):
        body = _HEX4.sub(lambda m: _hex(m[1], names), body)
        body = _HEX6.sub(lambda m: _hex(m[1], names), body)
    if name == "/proc/net/igmp":
        body = _GROUPS4.sub(lambda m: _hex(m[0], names), body)
    if name == "/proc/net/igmp6":
        body = _GROUPS6.sub(lambda m: names.address(bytes.fromhex(m[0])).hex(), body)
    return body


def _text(text: str, names: Names) -> str:
    if names.hosts:
        text = names.hosts.sub("host", text)
    text = _names(text, names)
    text = _MAC.sub(lambda m: names.mac(bytes.fromhex(m[0].replace(":", ""))).hex(":"), text)
    text = _IP4.sub(lambda m: _ip4(m[0], names), text)
    return _IP6.sub(lambda m: _ip6(m[0], names), text)


def _names(text: str, names: Names) -> str:
    raw = text.encode("utf-8", "surrogateescape")
    return names.named(raw).decode("utf-8", "surrogateescape")


def _ip4(text: str, names: Names) -> str:
    numbers = [int(part) for part in text.split(".")]
    if max(numbers) > 255:
        return text
    return ".".join(map(str, names.address(bytes(numbers))))


def _ip6(text: str, names: Names) -> str:
    import ipaddress

    try:
        packed = ipaddress.IPv6Address(text).packed
    except ValueError:
        return text
    return str(ipaddress.IPv6Address(names.address(packed)))


def _hex(text: str, names: Names) -> str:
    """The replacement of a hexadecimal address of 32-bit words in the host's byte order."""
    words = struct.unpack(f">{len(text) // 8}I", bytes.fromhex(text))
    made = names.address(struct.pack(f"<{len(words)}I", *words))
    return struct.pack(f">{len(words)}I", *struct.unpack(f"<{len(words)}I", made)).hex().upper()


SERVES: Final = ("/dev/net/tun", "/dev/fuse")  # who has it open serves packets, or files


def _open(target: str) -> str:
    """What a descriptor leads to; which files are open is private, not so who serves a tunnel."""
    if target.startswith(("socket:[", "pipe:[")) or target.rstrip("\n") in SERVES:
        return target
    return next((f"{kind}file\n" for kind in ("/dev/", "/") if target.startswith(kind)), "file\n")


def _filesystems(text: str) -> str:
    """The number, device and type of each mount of a process; where it is, is private."""
    out = []
    for line in text.splitlines():
        words = line.split()
        if len(words) > 4 and "-" in words[5:-1]:
            kind = words[words.index("-", 5) + 1]
            out.append(f"{words[0]} 0 {words[2]} / / - {kind} none\n")
    return "".join(out)


def _mounts(text: str) -> str:
    """The mounts of network namespaces only, numbered: where other things are is private."""
    spaces = [words[3] for line in text.splitlines() if len(words := line.split(" ")) > 4]
    return "".join(
        f"0 0 0:4 {space} /run/netns/space{place}\n"
        for place, space in enumerate(sorted({one for one in spaces if one.startswith("net:[")}))
    )


def _cmdline(text: str) -> str:
    words = [word if word.split("=")[0] in WORDS else "…" for word in text.split()]
    return " ".join(words) + "\n"


def _netlink(name: str, body: str, names: Names) -> str:
    try:
        data = names.named(base64.b64decode(body))
    except ValueError:  # what is in it cannot be replaced
        return DAMAGED
    text = base64.b64encode(scrubbed(name, data, names)).decode()
    return "".join(text[i : i + 96] + "\n" for i in range(0, len(text), 96)) or "\n"


_WHOLE: Final = {"/proc/self/mountinfo": _mounts, "/proc/cmdline": _cmdline}  # by one rule


Rule = Callable[[bytes, Names], bytes]
Rules = Mapping[int, Rule]


def _address(value: bytes, names: Names) -> bytes:
    """An IP address, a bridge's identifier (priority and MAC address), or a hardware address."""
    if len(value) in {4, 16}:
        return names.address(value)
    return value[:2] + names.mac(value[2:]) if len(value) == 8 else names.mac(value)


def _via(value: bytes, names: Names) -> bytes:
    """An address behind its family (struct rtvia)."""
    return value[:2] + _address(value[2:], names)


def _blank(value: bytes, _names: Names) -> bytes:
    """Zeros of equal length, for text of users, keys, and attributes not known to be harmless."""
    return bytes(len(value))


def _inside(rules: Rules) -> Rule:
    return lambda value, names: _replaced(value, rules, names)


def _hops(value: bytes, names: Names) -> bytes:
    """The next hops of a multipath route: each is a struct rtnexthop followed by attributes."""
    made, at = bytearray(value), 0
    while at < len(value):
        length = int.from_bytes(value[at : at + 2], sys.byteorder)
        if not 8 <= length <= len(value) - at:
            return bytes(len(value))
        made[at + 8 : at + length] = _replaced(value[at + 8 : at + length], _HOP, names)
        at += (length + 3) & ~3
    return bytes(made)


def _info(value: bytes, names: Names) -> bytes:
    """The attributes of one kind of interface; those of a kind that is not listed are zeroed."""
    kinds = {
        number: value[start:end].rstrip(b"\0").decode("ascii", "replace")
        for number, start, end in attributes(value, 0, len(value))
    }
    rules: dict[int, Rule] = {3: _blank}
    for data, kind, known in ((2, 1, _KINDS), (5, 4, _PORTS)):
        inner = known.get(kinds.get(kind, ""))
        rules[data] = _blank if inner is None else _inside(inner)
    return _replaced(value, rules, names)


def _each(numbers: str) -> dict[int, Rule]:
    return {int(number): _address for number in numbers.split()}


# numbers: include/uapi/linux/{if_link,if_tunnel,rtnetlink,inet_diag}.h
_HOP: Final[Rules] = {5: _address, 18: _via, 22: _blank}  # gateway, via, encapsulation
_MANY: Final[Rules] = dict.fromkeys(range(32), _address)
_KINDS: Final[Mapping[str, Rules]] = {
    **{kind: {} for kind in "vlan veth dummy ifb tun vrf ipvlan ipvtap ipoib xfrm".split()},
    "vxlan": _each("2 4 16 17"),
    "geneve": _each("2 7"),
    **dict.fromkeys("gre gretap erspan ip6gre ip6gretap ip6erspan".split(), _each("6 7")),
    **dict.fromkeys("ipip sit ip6tnl".split(), _each("2 3 11 12")),
    **dict.fromkeys("vti vti6".split(), _each("4 5")),
    "bridge": _each("10 11 20"),
    "bond": _each("26") | {8: _inside(_MANY), 31: _inside(_MANY), 23: _inside(_each("5"))},
    **dict.fromkeys(("macvlan", "macvtap"), _each("4") | {5: _inside(_each("4"))}),
}
_PORTS: Final[Mapping[str, Rules]] = {"bridge": _each("13 14"), "bond": _each("4"), "vrf": {}}
# by message type, RTM_NEWLINK, NEWADDR, NEWROUTE, NEWNEIGH, NEWRULE: the length of the head, and
# the attributes
_MESSAGES: Final[Mapping[int, tuple[int, Rules]]] = {
    16: (
        16,
        _each("1 2 34 36 54")
        | {18: _info, 20: _blank, 22: _blank, 24: _blank, 25: _blank}
        | {26: _inside({10: _inside(_each("7"))})},
    ),
    20: (8, _each("1 2 4 5 7")),
    24: (12, _each("1 2 7") | {**_HOP, 9: _hops}),
    28: (12, _each("1 2")),
    32: (12, _each("1 2")),
}
_VERDICT: Final[Rules] = {1: _blank, 2: _inside({2: _blank})}  # a value; the chain of a jump


def _expressions(value: bytes, names: Names) -> bytes:
    """The expressions of a rule: counters, verdicts, what sets the MSS stay; others are zeros."""
    return _replaced(value, {1: _expression}, names)


def _expression(value: bytes, names: Names) -> bytes:
    kinds = {
        number: value[start:end].rstrip(b"\0")
        for number, start, end in attributes(value, 0, len(value))
    }
    rules = {
        b"counter": {},
        b"exthdr": {},  # numbers only: which header or option, and the registers
        b"immediate": {2: _inside({2: _inside(_VERDICT)})},
        b"target": {2: _inside({3: _blank})},  # the name of the target stays, such as TCPMSS
    }
    return _replaced(value, rules.get(kinds.get(1, b""), {2: _blank}), names)


def _word(value: bytes, names: Names) -> bytes:
    """A name that a user gave: letters of equal length, the same ones each time."""
    text = value.rstrip(b"\0")
    return names.word(text) + bytes(len(value) - len(text))


# NFT_MSG_NEWCHAIN, NEWRULE, NEWSET, NEWSETELEM: include/uapi/linux/netfilter/nf_tables.h
_NETFILTER: Final = {
    0xA03: (4, {1: _word, 3: _word, 12: _blank}),
    0xA06: (4, {1: _word, 2: _word, 4: _expressions, 5: _blank, 7: _blank}),
    0xA09: (4, {1: _word, 2: _word, 13: _blank}),
    0xA0C: (4, {1: _word, 2: _word, 3: _blank}),
}
_DIAG: Final[Rules] = {12: _blank, 13: _blank, 18: _blank}  # SCTP's addresses, keys of TCP MD5
_SOCK_DIAG = (18, 20)  # both families in one answer, and one


# RTM_NEWROUTE, RTM_NEWRULE: their headers have the prefix lengths of destination and source, the
# attributes 1 and 2, behind the family (struct rtmsg, struct fib_rule_hdr)
_NETWORKS: Final = (24, 32)


def _network(length: int) -> Rule:
    return lambda value, names: names.network(value, length)


def scrubbed(name: str, answer: bytes, names: Names) -> bytes:
    """The scrubbed answer to the request of this name; its length is unchanged."""
    if name.startswith("netlink/xtables/"):  # addresses of every kind, in structures of many
        return b""
    data = bytearray(answer)
    diag = name.startswith("netlink/sock_diag/")
    messages = _NETFILTER if name.startswith("netlink/netfilter/") else _MESSAGES
    known = "netlink/route/", "netlink/xfrm/"
    if not diag and messages is _MESSAGES and not name.startswith(known):
        return answer
    offset = 0
    while offset + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, offset)
        end = min(offset + length, len(data))
        if length < 16:
            break
        if name.startswith("netlink/xfrm/"):
            _policies(data, offset + 16, end, names)
        elif diag and kind in _SOCK_DIAG:
            _diag(data, offset + 16, end, names)
        elif not diag and kind in messages:
            head, rules = messages[kind]
            if kind in _NETWORKS and messages is _MESSAGES:
                lengths = data[offset + 17], data[offset + 18]
                rules = {**rules, **{at + 1: _network(bits) for at, bits in enumerate(lengths)}}
            start = offset + 16 + head
            data[start:end] = _replaced(bytes(data[start:end]), rules, names)
        offset += (length + 3) & ~3
    return bytes(data)


def _policies(data: bytearray, at: int, end: int, names: Names) -> None:
    """The addresses of an IPsec policy and of its first template; other templates are zeroed."""
    if at + xfrm.POLICY_SIZE > end:
        return
    *_, family, to, source = xfrm.SELECTOR.unpack_from(data, at)[:7]
    size = 4 if family == AF_INET else 16
    for place, length in ((at, to), (at + 16, source)):
        data[place : place + size] = names.network(bytes(data[place : place + size]), length)
    start = at + xfrm.POLICY_SIZE
    data[start:end] = _replaced(bytes(data[start:end]), {5: _template}, names)


def _template(value: bytes, names: Names) -> bytes:
    kept = xfrm.FAMILY_AT, xfrm.FAMILY_AT + 2
    made = bytearray(len(value))
    for place, comes in ((0, False), (xfrm.SOURCE_AT, True)):
        peer = xfrm.end(value, comes=comes)
        made[place : place + len(peer)] = names.address(peer) if any(peer) else peer
    made[slice(*kept)] = value[slice(*kept)]
    return bytes(made)


def _diag(data: bytearray, at: int, end: int, names: Names) -> None:
    """A struct inet_diag_msg: family, then ports, then source and destination of 16 bytes each."""
    if at + 40 > end or data[at] not in (2, 10):
        return
    size = 4 if data[at] == 2 else 16
    for place in (at + 8, at + 24):
        data[place : place + size] = names.address(bytes(data[place : place + size]))
    if at + 72 < end:
        data[at + 72 : end] = _replaced(bytes(data[at + 72 : end]), _DIAG, names)


def _replaced(value: bytes, rules: Rules, names: Names) -> bytes:
    """Attributes with the values replaced that `rules` name; no length changes.

    Bytes that cannot be parsed are zeroed.
    """
    made = bytearray(value)
    try:
        for number, start, end in attributes(value, 0, len(value)):
            if number in rules:
                made[start:end] = rules[number](value[start:end], names)
    except ValueError:
        return bytes(len(made))
    return bytes(made)
