"""Take a host's identity out of a recording, consistently, so that it can be shown to strangers.

MAC addresses, IP addresses (private ones too), the host's name and kernel command-line words
outside a known list are replaced; addresses keep their common prefixes, so routes still match.
Text, the hex of /proc/net/udp and friends, and the binary answers of rtnetlink and sock_diag are
covered.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import struct
from collections.abc import Callable

from .recording import MARK, parse

_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")
_IP4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IP6 = re.compile(r"(?<![0-9a-fA-F:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![0-9a-fA-F:.])")
_HEX4 = re.compile(r"\b([0-9A-F]{8})(?=:[0-9A-F]{4}\b)")
_HEX6 = re.compile(r"\b([0-9A-F]{32})(?=:[0-9A-F]{4}\b)")
# kernel command-line words that say how the host is tuned, and nothing about whose it is
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
_TEXTS_WITHOUT_ADDRESSES = ("/proc/interrupts", "/proc/stat", "/proc/softirqs", "/sys/class/dmi")


class Names:
    """Replacements, the same for the same original throughout one recording."""

    def __init__(self, key: bytes, hosts: list[str], *, addresses: bool = True) -> None:
        """`key` decides the replacements; `hosts` are the names to hide."""
        self.key = key
        self.addresses = addresses
        self.known: dict[bytes, bytes] = {}
        names = sorted({name for name in hosts if len(name) > 1}, key=len, reverse=True)
        words = "|".join(map(re.escape, names))
        self.hosts = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if names else None

    def _bit(self, prefix: str) -> int:
        return hmac.digest(self.key, prefix.encode(), hashlib.sha256)[0] & 1

    def address(self, packed: bytes) -> bytes:
        """An IP address; two that share a prefix still do (Xu et al.'s Crypto-PAn)."""
        if not self.addresses:
            return packed
        if packed in self.known:
            return self.known[packed]
        kept = _kept(packed)
        if kept is None:
            return packed
        bits = "".join(f"{byte:08b}" for byte in packed)
        tail = len(bits.rstrip("0"))  # a network's address stays a network's address
        new = bits[:kept]
        for position in range(kept, len(bits)):
            flip = self._bit(f"{len(packed)}/{bits[:position]}") if position < tail else 0
            new += str(int(bits[position]) ^ flip)
        made = int(new, 2).to_bytes(len(packed), "big")
        self.known[packed] = made
        return made

    def mac(self, packed: bytes) -> bytes:
        """A locally administered address; broadcast and zero stay."""
        if packed in (b"\0" * 6, b"\xff" * 6) or packed[0] & 1:
            return packed
        digest = hmac.digest(self.key, b"mac" + packed, hashlib.sha256)
        return b"\x02" + digest[:5]


def _kept(packed: bytes) -> int | None:
    """Leading bits that stay (the address's kind); None when the whole address says nothing."""
    if len(packed) == 4:
        if packed[0] in (0, 127, 255) or packed[0] >= 224:
            return None
        return 8
    if packed[:12] in (b"\0" * 12, b"\0" * 10 + b"\xff\xff"):
        return 96 if packed[12:] not in (b"\0\0\0\0", b"\0\0\0\1") else None
    if packed[0] == 0xFF:
        return None
    return 64 if packed[:2] == b"\xfe\x80" else 16


def scrub(archive: str, key: bytes | None = None, *, addresses: bool = True) -> str:
    """The archive without names and addresses; `key` makes the replacements repeatable.

    With `addresses` False IP addresses stay: a flow's receive queue is computed from them.
    """
    comment, moments = parse(archive)
    hosts = [
        body.strip()
        for moment in moments
        for name, body in moment.changed.items()
        if name.endswith("/hostname") and body
    ]
    names = Names(
        key or os.urandom(32),
        [*hosts, *(host.split(".")[0] for host in hosts)],
        addresses=addresses,
    )
    parts = MARK.split(archive)
    out = [names.hosts.sub("host", parts[0]) if names.hosts else parts[0]]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        shown = name if name.startswith("@") else _text(name, names)
        out.append(f"-- {shown} --\n{_body(name, body, names)}")
    return "".join(out) if comment or out else archive


def _body(name: str, body: str, names: Names) -> str:
    if body.startswith("!"):
        return body
    if name.startswith("netlink/"):
        return _netlink(name, body, names)
    if name.startswith("ioctl/"):
        return body
    if name == "/proc/cmdline":
        return _cmdline(body)
    if name.startswith("/proc/") and "/fd/" in name and name.endswith("@"):
        return body if body.startswith("socket:[") else "file\n"  # which files are open is private
    if name.startswith(_TEXTS_WITHOUT_ADDRESSES):
        return body
    if name.startswith(("/proc/net/udp", "/proc/net/tcp", "/proc/net/raw")):
        body = _HEX4.sub(lambda m: _hex(m[1], names), body)
        body = _HEX6.sub(lambda m: _hex(m[1], names), body)
    return _text(body, names)


def _text(text: str, names: Names) -> str:
    if names.hosts:
        text = names.hosts.sub("host", text)
    text = _MAC.sub(lambda m: names.mac(bytes.fromhex(m[0].replace(":", ""))).hex(":"), text)
    text = _IP4.sub(lambda m: _ip4(m[0], names), text)
    return _IP6.sub(lambda m: _ip6(m[0], names), text)


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
    """The kernel prints each 32-bit word in the host's order."""
    words = struct.unpack(f">{len(text) // 8}I", bytes.fromhex(text))
    made = names.address(struct.pack(f"<{len(words)}I", *words))
    return struct.pack(f">{len(words)}I", *struct.unpack(f"<{len(words)}I", made)).hex().upper()


def _cmdline(text: str) -> str:
    words = [word if word.split("=")[0] in WORDS else "…" for word in text.split()]
    return " ".join(words) + "\n"


# attributes that hold addresses, by message type: RTM_NEWLINK, NEWADDR, NEWROUTE, NEWNEIGH
_ATTRIBUTES = {
    16: (16, {1, 2, 54}),
    20: (8, {1, 2, 4, 5}),
    24: (12, {1, 2, 5, 7}),
    28: (12, {1, 2}),
}
_SOCK_DIAG = 20


def _netlink(name: str, body: str, names: Names) -> str:
    data = bytearray(base64.b64decode(body))
    diag = name.startswith("netlink/sock_diag/")
    if diag or name.startswith("netlink/route/"):
        offset = 0
        while offset + 16 <= len(data):
            length, kind = struct.unpack_from("=IH", data, offset)
            if length < 16:
                break
            if diag and kind == _SOCK_DIAG:
                _diag(data, offset + 16, offset + length, names)
            elif not diag and kind in _ATTRIBUTES:
                header, which = _ATTRIBUTES[kind]
                _attributes(data, offset + 16 + header, offset + length, which, names)
            offset += (length + 3) & ~3
    text = base64.b64encode(data).decode()
    return "".join(text[i : i + 96] + "\n" for i in range(0, len(text), 96)) or "\n"


def _diag(data: bytearray, at: int, end: int, names: Names) -> None:
    """A struct inet_diag_msg: family, then ports, then source and destination of 16 bytes each."""
    if at + 40 > end or data[at] not in (2, 10):
        return
    size = 4 if data[at] == 2 else 16
    for place in (at + 8, at + 24):
        data[place : place + size] = names.address(bytes(data[place : place + size]))


def _attributes(data: bytearray, at: int, end: int, which: set[int], names: Names) -> None:
    while at + 4 <= min(end, len(data)):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            return
        value = bytes(data[at + 4 : at + length])
        replace: Callable[[bytes], bytes] | None = None
        if kind & 0x3FFF in which:
            replace = names.mac if len(value) == 6 else None
            replace = names.address if len(value) in (4, 16) else replace
        if replace is not None:
            data[at + 4 : at + length] = replace(value)
        at += (length + 3) & ~3
