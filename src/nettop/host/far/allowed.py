"""What a reader may read: everything else is refused, also for root.

Files: figures of the kernel below /proc and /sys, and the few files of /etc, /run and /usr/lib that
name settings. Of a process its state, the call in which a thread sleeps, and what its descriptors
are; not its memory, its environment or what its files hold. No key, nothing whose reading changes
something (/proc/kmsg, /proc/net/rpc/*/channel, debugfs). Netlink messages and ethtool
commands: those that read (include/uapi/linux/{rtnetlink,sock_diag,nf_tables,ethtool{,_netlink}}.h).
"""

import errno
import re
import stat
from functools import lru_cache

_PROCESS = rb"(?:stat|statm|status|comm|cgroup|cmdline|schedstat|limits|syscall|wchan)"
_FILES = rb"(?:io|mountinfo|fdinfo/\d+)"  # bytes moved, mounts, flags and position of a descriptor
_NETWORK = rb"net/(?!rpc)\w[\w.-]*(?:/[\w.-]+)?"
_FIRST = rb"1/root"  # the root directory of the first process: its cgroups only
_CGROUP = rb"sys/fs/cgroup/"
_SETTINGS = (
    rb"etc/sysctl\.conf|(?:etc|run|usr/lib|usr/local/lib|lib)/sysctl\.d/[^/]+\.conf"
    rb"|etc/tuned/active_profile|etc/(?:default|sysconfig)/irqbalance"
    rb"|(?:etc|run|usr/lib|lib)/systemd/network/[^/]+\.(?:link|network)"
    rb"|(?:usr/)?lib/modules/[^/]+/modules\.(?:builtin|dep)|run/udev/data/n\d+"
)
_SYS = rb"sys/(?:class|devices|bus|module|hypervisor|kernel/iommu_groups)/.+"
_FILE = re.compile(
    rb"/(?:proc/(?:stat|interrupts|softirqs|meminfo|cpuinfo|cmdline|vmstat|uptime|loadavg|version"
    rb"|schedstat|modules|buddyinfo|zoneinfo|locks|diskstats|irq/\d+/\w+"
    rb"|(?:(?:self|\d+)/)?"
    + _NETWORK
    + rb"|(?:self|\d+)/(?:task/\d+/)?"
    + _PROCESS
    + rb"|\d+/"
    + _FILES
    + rb"|sys/(?:"
    rb"net|kernel|vm)/.+|" + _FIRST + rb"/" + _CGROUP + rb".+)"
    rb"|" + _SYS + rb"|" + _CGROUP + rb".+|" + _SETTINGS + rb")",
    re.DOTALL,
)
_FOLDER = re.compile(
    rb"/(?:proc(?:/irq|/net(?:/stat|/bonding)?|/(?:self|\d+)(?:/fd|/task|/net(?:/stat|/bonding)?)?"
    rb"|/irq/\d+|/sys(?:/(?:net|kernel|vm)(?:/.+)?)?)?"
    rb"|sys/(?:class|devices|bus|module|hypervisor|kernel/iommu_groups|fs/cgroup)(?:/.+)?"
    rb"|proc/" + _FIRST + rb"/sys/fs/cgroup(?:/.+)?|etc"
    rb"|(?:etc|run|usr/lib|usr/local/lib|lib)/sysctl\.d|(?:etc|run|usr/lib|lib)/systemd/network"
    rb"|run/systemd/system|run/irqbalance)",
    re.DOTALL,
)
_LINK = re.compile(
    rb"/(?:proc/(?:self|\d+)/(?:fd/\d+|ns/\w+)|sys/(?:class|devices|bus)/.+"
    rb"|(?:etc|run|usr/lib|usr/local/lib|lib)/sysctl\.d/[^/]+)",
    re.DOTALL,
)
_SECRET = re.compile(rb"(?:_key|secret|_secret)$")
_UP = re.compile(rb"/sys/class/net/[^/]+/device/\.\./")  # the bus device of a virtio device

# RTM_GETLINK ADDR ROUTE NEIGH QDISC TCLASS TFILTER STATS
_ROUTE = frozenset((18, 22, 26, 30, 38, 42, 46, 94))
_DIAG = frozenset((18, 20))  # TCPDIAG_GETSOCK, SOCK_DIAG_BY_FAMILY
_NETFILTER = frozenset((10 << 8 | 4, 10 << 8 | 7))  # NFT_MSG_GETCHAIN, NFT_MSG_GETRULE
_GENERIC = {
    # ETHTOOL_MSG_*_GET: strings, link, features, rings, channels, coalescing, pause, EEE, FEC,
    # module …
    "ethtool": frozenset((1, 2, 4, 6, 11, 13, 15, 17, 19, 21, 23, 29, 31, 32, 34, 38)),
    "netdev": frozenset((10, 11, 12)),  # NETDEV_CMD_QUEUE_GET, NAPI_GET, QSTATS_GET
}
# ETHTOOL_G…: driver, coalescing, rings, pause, strings, statistics, hash, rules, channels,
# features, EEE, RSS, link settings
_ETHTOOL = frozenset((
    0x03, 0x0E, 0x10, 0x12, 0x1B, 0x1D, 0x29, 0x2D, 0x2E, 0x2F, 0x30, 0x37, 0x3A, 0x3C, 0x44, 0x46,
    0x4C,
))  # fmt: skip


class NotAllowedError(PermissionError):
    """The request is not on the list."""

    def __init__(self, sentence: str) -> None:
        super().__init__(errno.EPERM, sentence)


def _plain(path: bytes) -> bytes:
    """The path for the patterns; NotAllowedError if it is relative or has parts like `..`."""
    known = _UP.sub(b"/sys/devices/", path, 1)
    parts = known.split(b"/")
    if parts[0] or b"\0" in path or not {b"", b".", b".."}.isdisjoint(parts[1:]):
        raise NotAllowedError("a far reader does not read this path")
    return known


@lru_cache(16384)
def file(path: bytes) -> None:
    """NotAllowedError for a file that may not be read."""
    known = _plain(path)
    if _FILE.fullmatch(known) is None or _SECRET.search(known) is not None:
        raise NotAllowedError("a far reader does not read this file")


@lru_cache(4096)
def folder(path: bytes) -> None:
    """NotAllowedError for a directory that may not be listed."""
    if _FOLDER.fullmatch(_plain(path)) is None:
        raise NotAllowedError("a far reader does not list this directory")


@lru_cache(16384)
def link(path: bytes) -> None:
    """NotAllowedError for a link that may not be followed by one step."""
    if _LINK.fullmatch(_plain(path)) is None:
        raise NotAllowedError("a far reader does not read this link")


def mode(path: bytes, bits: int) -> None:
    """NotAllowedError for a file outside /proc that only some users may read."""
    if not stat.S_ISREG(bits):
        raise OSError(errno.EINVAL, "not a regular file")
    if not path.startswith(b"/proc/") and not bits & stat.S_IROTH:
        raise NotAllowedError("a far reader does not read what only some users may read")


def netlink(family: str, kind: int, dump: bool) -> None:
    """NotAllowedError for a netlink message that does more than read."""
    if family == "route":
        known = kind in _ROUTE
    elif family == "sock_diag":
        known = kind in _DIAG and dump
    elif family == "netfilter":
        known = kind in _NETFILTER and dump
    else:
        known = kind in _GENERIC.get(family, ())
    if not known:
        raise NotAllowedError("a far reader does not send this netlink message")


def ethtool(command: int) -> None:
    """NotAllowedError for an ethtool command (SIOCETHTOOL) that does more than read."""
    if command not in _ETHTOOL:
        raise NotAllowedError("a far reader does not send this ethtool command")
