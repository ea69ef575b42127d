"""Take a host's identity out of a recording, consistently, so that it can be shown to strangers.

MAC addresses (those in interface names too), IP addresses (private ones too), the host's name and
kernel command-line words outside a known list are replaced; addresses keep their common prefixes,
so routes still match. Text, the hex of /proc/net/udp and friends, and the binary answers of
rtnetlink and sock_diag are covered, down to tunnels' ends, next hops and bridges.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import struct
from collections.abc import Iterable

from .archive import MARK
from .scrub_netlink import scrubbed

_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}(?:(?:[0-9a-fA-F]{2}:){14})?[0-9a-fA-F]{2}\b")
_NAMED = re.compile(rb"(?<=enx|wlx|wwx|slx)[0-9a-f]{12}")  # systemd's names by MAC address
_IP4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IP6 = re.compile(r"(?<![0-9a-fA-F:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![0-9a-fA-F:.])")
_COMMENT = re.compile(r"^([^\S\n]*[#;]).*", re.MULTILINE)
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

    def __init__(self, key: bytes | None = None, *, addresses: bool = True) -> None:
        """`key` decides the replacements, one nobody knows when none is given.

        With `addresses` False IP addresses stay: a flow's receive queue is computed from them.
        """
        self.key = key or os.urandom(32)
        self.addresses = addresses
        self.known: dict[bytes, bytes] = {}
        self.hidden: set[str] = set()
        self.hosts: re.Pattern[str] | None = None

    def hide(self, hosts: Iterable[str]) -> None:
        """These names of the host, and what stands before their first dot."""
        found = {name for host in hosts for name in (host, host.split(".")[0]) if len(name) > 1}
        if not found <= self.hidden:
            self.hidden |= found
            words = "|".join(map(re.escape, sorted(self.hidden, key=len, reverse=True)))
            self.hosts = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")

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
        if not packed.strip(b"\0") or (len(packed) == 6 and packed[0] & 1):
            return packed
        digest = hmac.digest(self.key, b"mac" + packed, hashlib.sha256)
        return (b"\x02" + digest)[: len(packed)]

    def named(self, text: bytes) -> bytes:
        """Interface names that hold a MAC address, as long as before."""
        return _NAMED.sub(lambda m: self.mac(bytes.fromhex(m[0].decode())).hex().encode(), text)


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


def scrub(archive: str, names: Names | None = None) -> str:
    """An archive without names and addresses; `names` goes on where one comes in pieces."""
    names = names or Names()
    parts = MARK.split(archive)
    entries = list(zip(parts[1::2], parts[2::2], strict=True))
    names.hide(body.strip() for name, body in entries if name.endswith("/hostname"))
    out = [names.hosts.sub("host", parts[0]) if names.hosts else parts[0]]
    for name, body in entries:
        shown = name if name.startswith("@") else _text(name, names)
        out.append(f"-- {shown} --\n{_body(name, body, names)}")
    return "".join(out)


def _body(name: str, body: str, names: Names) -> str:
    if body.startswith("!"):
        return body
    if name.startswith("netlink/"):
        return _netlink(name, body, names)
    if name.startswith("ioctl/"):
        return body
    if name == "/proc/cmdline":
        return _cmdline(body)
    if name == "/etc/":
        return ""  # what is installed
    if "/sysctl." in name and name.endswith(".conf"):
        body = _COMMENT.sub(r"\1", body)  # lines keep their numbers
    if name.startswith("/proc/") and "/fd/" in name and name.endswith("@"):
        return body if body.startswith("socket:[") else "file\n"  # which files are open is private
    if name.startswith(_TEXTS_WITHOUT_ADDRESSES):
        return _names(body, names)
    if name.startswith(("/proc/net/udp", "/proc/net/tcp", "/proc/net/raw")):
        body = _HEX4.sub(lambda m: _hex(m[1], names), body)
        body = _HEX6.sub(lambda m: _hex(m[1], names), body)
    return _text(body, names)


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
    """The kernel prints each 32-bit word in the host's order."""
    words = struct.unpack(f">{len(text) // 8}I", bytes.fromhex(text))
    made = names.address(struct.pack(f"<{len(words)}I", *words))
    return struct.pack(f">{len(words)}I", *struct.unpack(f"<{len(words)}I", made)).hex().upper()


def _cmdline(text: str) -> str:
    words = [word if word.split("=")[0] in WORDS else "…" for word in text.split()]
    return " ".join(words) + "\n"


def _netlink(name: str, body: str, names: Names) -> str:
    data = names.named(base64.b64decode(body))
    text = base64.b64encode(scrubbed(name, data, names)).decode()
    return "".join(text[i : i + 96] + "\n" for i in range(0, len(text), 96)) or "\n"
