"""Replace names and addresses in a recording consistently, so that it can be shared.

The replaced values are MAC addresses (also in interface names), IP addresses (also private ones),
the name of the host, and words of the kernel command line that are not in a known list. Addresses
keep their common prefixes, so routes still match. This covers text, hexadecimal addresses as in
/proc/net/udp, and binary answers of rtnetlink and sock_diag with ends of tunnels, next hops and
bridges.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import struct
from typing import Final

from . import ages
from .archive import MARK
from .pseudonyms import Names
from .recording import bare
from .scrub_netlink import scrubbed

_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}(?:(?:[0-9a-fA-F]{2}:){14})?[0-9a-fA-F]{2}\b")
_IP4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IP6 = re.compile(r"(?<![0-9a-fA-F:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![0-9a-fA-F:.])")
_COMMENT = re.compile(r"^([^\S\n]*[#;]).*", re.MULTILINE)
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
    if name == ages.ENTRY or name.startswith("ioctl/"):
        return body
    if name in _WHOLE:
        return _WHOLE[name](body)
    if name.startswith("/proc/") and name.endswith("/mountinfo"):
        return _filesystems(body)
    if name == "/etc/":
        return ""  # the names would show what is installed
    if "/sysctl." in name and name.endswith(".conf"):
        body = _COMMENT.sub(r"\1", body)  # lines keep their numbers
    if name.startswith("/proc/") and "/fd/" in name and name.endswith("@"):
        return _open(body)
    if name == "bpf/calls":
        body = _GROUP.sub("@/group", _NAMED.sub(r"\1,/file", body))
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
