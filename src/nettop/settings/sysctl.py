"""Kernel parameters: `sysctl.net.ipv4.tcp_rmem`, files below /proc/sys.

Written as sysctl(8) does: a dot inside a component (a VLAN's name) is a slash. Most of net.ipv4 is
of the network namespace; net.core is largely of the host
(Documentation/admin-guide/sysctl/net.rst).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..host.source import Source
from . import Address, Command, Host, Keep, Limits

_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_NUMBER = re.compile(r"-?[0-9]+")
RISK = "none"
TARGET = False
TEXT = ("net.core.flow_limit_cpu_bitmap", "net.core.rps_default_mask")
_ODD = re.compile(r"[*?\[\]{}=#;\s]")  # the name of an interface may be `*`
# net.ipv4.conf.eth0.rp_filter, net.ipv6.neigh.eth0/100.gc_stale_time, net.mpls.conf.eth0.input
_DEVICE = re.compile(r"(net\.[^.]+\.(?:conf|neigh)\.)([^.]+)(\..+)", re.DOTALL)
_EVERY = ("all", "default")
# of all interfaces: the kernel writes them to each one (net/ipv4/devinet.c, net/ipv6/addrconf.c)
_ALL = re.compile(
    r"(net\.(ipv4)\.conf\.)all\.(forwarding)|(net\.(ipv6)\.conf\.)all\."
    r"(forwarding|disable_ipv6|disable_policy|ignore_routes_with_linkdown|addr_gen_mode)"
)
_NO_IPV6 = re.compile(r"net\.ipv6\.conf\.(?!default\.)[^.]+\.disable_ipv6", re.DOTALL)
_GLOBAL = "00"  # the scope of an address in /proc/net/if_inet6
_LISTS = frozenset({*TEXT, "net.ipv4.ip_local_reserved_ports"})
_CONTROL = "net.ipv4.tcp_congestion_control"
_NO_CONTROL = frozenset({"diag", "sigpool"})  # modules whose names look like a congestion control
# what the kernel refuses: net/ipv4/sysctl_net_ipv4.c, net/core/sysctl_net_core.c
_INT = (1 << 31) - 1
_SWITCH = (0, 255)  # kept in one byte since Linux 5.13
_BOUNDS: dict[str, tuple[int | None, int]] = {
    **dict.fromkeys(("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"), (1, _INT)),
    **dict.fromkeys((f"net.core.{way}mem_{what}" for way in "rw" for what in ("max", "default")),
                    (2048, _INT)),
    **dict.fromkeys(("net.core.busy_poll", "net.core.busy_read", "net.core.somaxconn",
                     "net.core.netdev_budget_usecs"), (0, _INT)),
    **dict.fromkeys(("net.core.netdev_max_backlog", "net.core.netdev_budget"), (None, _INT)),
    **dict.fromkeys((f"net.ipv4.tcp_{name}" for name in (
        "sack", "dsack", "window_scaling", "timestamps", "slow_start_after_idle",
        "no_metrics_save", "mtu_probing", "moderate_rcvbuf", "recovery", "ecn_fallback",
    )), _SWITCH),
    "net.ipv4.tcp_tw_reuse": (0, 2),
    "net.ipv4.tcp_early_retrans": (0, 4),
    "net.ipv4.ip_local_port_range": (1, 65535),
    "net.core.rps_sock_flow_entries": (0, 1 << 29),
}  # fmt: skip
SIDE = {
    **dict.fromkeys((f"net.core.{name}" for name in (
        "rmem_max", "rmem_default", "busy_poll", "busy_read", "dev_weight", "dev_weight_rx_bias",
        "flow_limit_cpu_bitmap", "flow_limit_table_len", "gro_normal_batch", "netdev_budget",
        "netdev_budget_usecs", "netdev_max_backlog", "rps_default_mask", "rps_sock_flow_entries",
    )), "rx"),
    **dict.fromkeys((f"net.ipv4.{name}" for name in (
        "tcp_rmem", "tcp_adv_win_scale", "tcp_app_win", "tcp_low_latency", "tcp_moderate_rcvbuf",
        "udp_rmem_min",
    )), "rx"),
    **dict.fromkeys(
        ("net.core.wmem_max", "net.core.wmem_default", "net.core.default_qdisc",
         "net.core.dev_weight_tx_bias"), "tx",
    ),
    **dict.fromkeys((f"net.ipv4.{name}" for name in (
        "tcp_wmem", "tcp_autocorking", "tcp_congestion_control", "tcp_limit_output_bytes",
        "tcp_min_tso_segs", "tcp_no_metrics_save", "tcp_notsent_lowat", "tcp_pacing_ca_ratio",
        "tcp_pacing_ss_ratio", "tcp_slow_start_after_idle", "tcp_tso_win_divisor", "udp_wmem_min",
    )), "tx"),
}  # fmt: skip


def path(name: str) -> str:
    """The file of a parameter; LookupError if the name is not that of a parameter."""
    parts = [part.replace("/", ".") for part in name.split(".")]
    if len(parts) < 2 or any(part in ("", ".", "..") for part in parts):
        raise LookupError(f"{name!r} is not a kernel parameter")
    return "/proc/sys/" + "/".join(parts)


def device(address: Address) -> str:
    """The interface in the name of a parameter; empty for `all` and `default`."""
    found = _DEVICE.fullmatch(address.name)
    return "" if found is None or found[2] in _EVERY else found[2].replace("/", ".")


def on(address: Address, nic: str) -> Address:
    """The parameter of another interface."""
    named = _DEVICE.sub(lambda found: found[1] + nic.replace(".", "/") + found[3], address.name)
    return replace(address, name=named)


def read(source: Source, address: Address) -> str:
    """Its words, joined by single spaces."""
    try:
        return " ".join(source.text(path(address.name)).split())
    except FileNotFoundError:
        raise FileNotFoundError(2, _absent(source), address.name) from None


def write(host: Host, address: Address, value: str) -> None:
    """Write it; OSError if the kernel refuses the value."""
    try:
        host.write(path(address.name), value)
    except OSError as error:
        if error.errno in (1, 13, 22) and foreign(host.source):
            why = f"{error.strerror}; set a parameter of the host outside this namespace"
            raise OSError(error.errno, why, address.name) from None
        raise


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`sysctl -w name=value`; `echo` into its file for a name that sysctl would read otherwise."""
    if _ODD.search(address.name):
        return (Command(path=path(address.name), text=value),)
    return (Command(("sysctl", "-w", f"{address.name}={value}")),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`sysctl -n`; `cat` of its file for a name that sysctl would read otherwise."""
    if _ODD.search(address.name):
        return ()
    return ("sysctl", "-n", address.name)


def keep(address: Address, value: str) -> Keep:
    """A line of a sysctl.d drop-in, which would take an odd name for a pattern."""
    if _ODD.search(address.name):
        return Keep("unit")
    return Keep("sysctl", address.name, value)


def normal(address: Address, value: str) -> str:
    """Words joined by single spaces; hexadecimal numbers, except masks, in decimal."""
    plain = address.name in _LISTS
    words = " ".join(word if plain else _decimal(word) for word in value.split())
    if not words:
        raise ValueError("a kernel parameter cannot be empty")
    odd = next((word for word in words.split() if not _NUMBER.fullmatch(word)), None)
    if odd is not None and address.name in _BOUNDS:
        raise ValueError(f"{address} takes whole numbers, not {odd!r}")
    return words


def _decimal(word: str) -> str:
    return str(int(word, 16)) if _HEX.fullmatch(word) else word


def limits(source: Source, address: Address) -> Limits:
    """The known range of usual parameters. The kernel reports no range; it refuses a bad value."""
    now = read(source, address)
    if address.name == _CONTROL:
        return Limits(choices=_controls(source))
    least, most = _BOUNDS.get(address.name, (None, None))
    if len(now.split()) > 1 or most is None:
        return Limits()
    return Limits(min=least, max=most, because="the kernel's limit")


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """For a parameter of all interfaces, that of each; with forwarding also redirects and LRO."""
    name = address.name.replace("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding")
    found = _ALL.fullmatch(name)
    if found is None:
        return ()
    before, family, leaf = filter(None, found.groups())
    try:
        names = [one for one in source.listing(f"/proc/sys/net/{family}/conf") if one != "all"]
    except OSError:
        return ()
    each = tuple(f"sysctl.{before}{one.replace('.', '/')}.{leaf}" for one in names)
    if family == "ipv6":
        return each
    return ("sysctl.net.ipv4.conf.all.accept_redirects", *each, *_merging(source, names))


def _merging(source: Source, names: Sequence[str]) -> Iterator[str]:
    """The large receive offload of hardware, which forwarding turns off for good."""
    from .feature import states

    for nic in names if getattr(source, "live", False) else ():
        try:
            source.link(f"/sys/class/net/{nic}/device")
            state = states(source, nic).get("rx-lro")
        except OSError:
            continue
        if state is not None and not state.fixed:
            yield f"feature.rx-lro@{nic}"


def _keeps_addresses(source: Source, address: Address) -> None:
    """ValueError if the kernel would remove IPv6 addresses, which an undo cannot put back."""
    try:
        lines = source.text("/proc/net/if_inet6").splitlines()
    except OSError:
        return
    nic = device(address)
    for words in map(str.split, lines):
        if len(words) > 5 and words[3] == _GLOBAL and nic in ("", words[5]):
            why = f"the kernel would remove the IPv6 addresses of {words[5]}"
            raise ValueError(f"{address}: {why}, and undo could not put them back")


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError unless it has at most as many numbers as now, each in the kernel's range."""
    now, words = read(source, address).split(), value.split()
    if _NO_IPV6.fullmatch(address.name) and now == ["0"] != words:
        _keeps_addresses(source, address)
    if not now or address.name in _LISTS or not all(map(_NUMBER.fullmatch, now)):
        return
    odd = next((word for word in words if not _NUMBER.fullmatch(word)), None)
    if odd is not None:
        raise ValueError(f"{address} takes whole numbers, not {odd!r}")
    if len(words) > len(now):
        raise ValueError(f"{address} takes {len(now)} of them, not {len(words)}")
    least, most = _BOUNDS.get(address.name, (None, None))
    for word in words if len(now) > 1 else ():
        if least is not None and int(word) < least:
            raise ValueError(f"{address} cannot be below {least} (the kernel's limit)")
        if most is not None and int(word) > most:
            raise ValueError(f"{address} cannot exceed {most} (the kernel's limit)")


def _controls(source: Source) -> tuple[str, ...]:
    """The congestion controls that are loaded, and those that the kernel can load."""
    loaded = source.text("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    parts = (name.partition("tcp_") for name in kernel_modules(source))
    others = {name for before, tcp, name in parts if tcp and not before} - _NO_CONTROL
    return (*loaded, *sorted(others - {*loaded}))


def _absent(source: Source) -> str:
    if foreign(source):
        return "this network namespace has no such parameter: set it on the host"
    return "the kernel has no such parameter"


def foreign(source: Source) -> bool:
    """Whether this is not the first network namespace: only the first one shows the backlog."""
    try:
        return "netdev_max_backlog" not in source.listing("/proc/sys/net/core")
    except OSError:
        return False


_NAME = re.compile(r"/([a-z0-9_]+)\.ko")


def kernel_modules(source: Source) -> frozenset[str]:
    """The kernel's modules, built-in ones included; empty where the host does not list them."""
    try:
        folder = "/lib/modules/" + source.text("/proc/sys/kernel/osrelease").strip()
        built_in, others = (source.text(f"{folder}/modules.{end}") for end in ("builtin", "dep"))
    except OSError:
        return frozenset()
    own = (row.partition(":")[0] for row in others.splitlines())  # dependencies follow the colon
    return frozenset(_NAME.findall("\n".join([built_in, *own])))
