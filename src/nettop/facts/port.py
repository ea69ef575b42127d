"""What stands still of an interface: settings, limits, place. Joined once for many frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..terms import formulas
from . import wiring
from .kinds.nic import Channels, Coalesce, Feature, Pause, Pcie, Ring
from .place import Place
from .toeplitz import key_bytes, symmetric


@dataclass(frozen=True, slots=True)
class Port:
    """One interface: `fixed` are the fields of its Nic that do not change by themselves."""

    name: str
    kind: str
    driver: str
    speed: float | None
    mtu: int | None
    node: int | None
    local: frozenset[int]
    lower: tuple[str, ...]
    link_ring: str | None = None  # the link statistic of a full ring; "": none; None: not known
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Link:
    """An interface as sysfs or /proc/net/dev tells it, where rtnetlink is not to be had."""

    interface: str
    kind: str = ""
    type: int | None = None
    loopback: bool = False

    def __getattr__(self, name: str) -> None:
        """What only rtnetlink tells is unknown."""


def ports(tables: Mapping[str, Sequence[Any]], place: Place) -> dict[str, Port]:
    """Every interface, from the rows of the tables that stand still, by table name."""
    classes = {row.name: row for row in tables.get("netclass", ())}
    links = {row.interface: row for row in tables.get("links", ())}
    # /sys may show the interfaces of another namespace (nsenter -n), or of a while ago
    if not links:
        for name, row in classes.items():
            kind = row.devtype or "" if row.device is None else ""
            links[name] = _Link(name, kind, row.type, loopback=row.type == 772)
    for row in tables.get("netdev", ()):
        if row.name not in links:
            links[row.name] = _Link(row.name, loopback=row.name == "lo")
    kinds = {name: _kind(link, classes.get(name)) for name, link in links.items()}
    lower = wiring.lower_ports(kinds, _below(links, classes))
    shared = {name: _by_name(tables.get(name, ())) for name in _ONE_ROW}
    many = {name: _grouped(tables.get(name, ())) for name in _MANY_ROWS}
    sysctls = {row.name: row.value for row in tables.get("sysctls", ())}
    return {
        name: _port(
            kinds[name], links[name], classes.get(name), place, lower.get(name, ()),
            {what: found.get(name) for what, found in shared.items()},
            {what: found.get(name, ()) for what, found in many.items()},
            forwarding=_forwarding(sysctls),
        )
        for name in links
    }  # fmt: skip


_ONE_ROW = ("rings", "coalesce", "pause", "channels", "rss", "drvinfo", "linkmodes", "fec", "pci",
            "module")  # fmt: skip
_MANY_ROWS = ("features", "privflags", "addresses", "queues", "ntuple", "rdma")
STILL = ("links", "netclass", "sysctls", "topology", *_ONE_ROW, *_MANY_ROWS)


_WIRED: Final = ("nic", "wireless", "bond", "vlan")


def _name(row: Any) -> str | None:
    name: str | None = getattr(row, "interface", None) or getattr(row, "nic", None)
    return name


def _by_name(rows: Sequence[Any]) -> dict[str | None, Any]:
    return {_name(row): row for row in rows}


def _grouped(rows: Sequence[Any]) -> dict[str | None, list[Any]]:
    found: dict[str | None, list[Any]] = {}
    for row in rows:
        found.setdefault(_name(row), []).append(row)
    return found


def _kind(link: Any, row: Any) -> str:
    device = link.parent or (row.device if row is not None else None)
    wireless = row is not None and row.devtype == "wlan"
    return wiring.kind_of(link, device, wireless=wireless)


def _below(links: Mapping[str, Any], classes: Mapping[str, Any]) -> dict[str, set[str]]:
    below: dict[str, set[str]] = {}
    for name, link in links.items():
        row = classes.get(name)
        master = link.master or (row.master if row is not None else None)
        if master:
            below.setdefault(master, set()).add(name)
        if link.link and link.kind != "veth":
            below.setdefault(name, set()).add(link.link)
        if row is not None:
            below.setdefault(name, set()).update(row.lower or ())
    return below


def _forwarding(sysctls: Mapping[str, str]) -> bool | None:
    known = [
        sysctls[name]
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")
        if name in sysctls
    ]
    return any(value != "0" for value in known) if known else None


def _port(
    kind: str, link: Any, row: Any, place: Place, lower: tuple[str, ...],
    one: Mapping[str, Any], many: Mapping[str, Sequence[Any]], *, forwarding: bool | None,
) -> Port:  # fmt: skip
    name: str = link.interface
    info, modes, queues = one["drvinfo"], one["linkmodes"], many["queues"]
    driver = first(info, "driver") or first(row, "driver") or ""
    mtu = first(link, "mtu") or first(row, "mtu")
    node = first(row, "node") if place.nodes > 1 else None
    local = tuple(cpu for cpu in first(row, "local_cpus") or () if cpu in place.by_cpu)
    local = local or place.near(node)
    # veth, tun and bridges name a speed that nothing keeps them to
    speed = (first(modes, "speed") or first(row, "speed")) if kind in _WIRED else None
    flags = first(row, "flags")
    promisc = link.promisc if link.promisc is not None else _bit(flags, 0x100)
    channels = Channels(**picked(one["channels"], Channels))
    rss, pci = one["rss"], one["pci"]
    key = first(rss, "key")
    fixed: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "index": first(link, "index") or first(row, "index") or 0,
        "driver": driver,
        "driver_version": first(info, "version") or None,
        "firmware": first(info, "firmware") or None,
        "bus": first(row, "address") or first(row, "device") or link.parent or None,
        "para": bool(first(info, "para")) or driver in wiring.PARAVIRTUAL,
        "up": link.up if link.up is not None else _bit(flags, 0x1),
        "carrier": link.carrier if link.carrier is not None else first(row, "carrier"),
        "speed": speed,
        "duplex": first(modes, "duplex") or first(row, "duplex"),
        "mtu": mtu,
        "max_mtu": link.max_mtu,
        "txqueuelen": link.txqueuelen if link.txqueuelen is not None
        else first(row, "tx_queue_len"),
        "promisc": True if link.promiscuity else promisc,
        "address": link.address,
        "addresses": tuple(item.address for item in many["addresses"]),
        "master": link.master or first(row, "master"),
        "lower": lower,
        "forwards": True if link.slave_kind in ("bridge", "openvswitch") else forwarding,
        "node": node,
        "local_cpus": local,
        "node_cores": place.cores(local) if local else None,
        "local_cores": place.firsts(local),
        "rx_queues": _count(channels.rx, channels.combined, queues, "rx-", link.rx_queues),
        "tx_queues": _count(channels.tx, channels.combined, queues, "tx-", link.tx_queues),
        "rss_key": key,
        "rss_table": first(rss, "table") or (),
        "rss_symmetric": _symmetric(rss, key),
        "rx_hash_udp4": first(rss, "hash_udp4"),
        "ntuple_rules": len(many["ntuple"]) or _none_of(many["features"]),
        **_steering(queues),
        "threaded": first(row, "threaded"),
        "defer_hard_irqs": first(row, "defer_hard_irqs"),
        "gro_flush_timeout": first(row, "gro_flush_timeout"),
        "gso_max_size": link.gso_max_size,
        "gro_max_size": link.gro_max_size,
        "tso_max_size": link.tso_max_size,
        "fec": first(one["fec"], "active"),
        "xdp": link.xdp is not None if link.index is not None else None,
        "sriov_vfs": first(row, "sriov_vfs"),
        "rdma": first(many["rdma"][0], "device") if many["rdma"] else None,
        "module_power": first(one["module"], "rx_power"),
        "module_temperature": first(one["module"], "temperature"),
        "ring": Ring(**picked(one["rings"], Ring)),
        "coalesce": Coalesce(**picked(one["coalesce"], Coalesce)),
        "pause": Pause(**picked(one["pause"], Pause)),
        "channels": channels,
        "pcie": pcie(pci),
        "features": tuple(
            Feature(item.name, on=item.on, wanted=item.wanted, fixed=item.fixed)
            for item in many["features"]
        ),
        "private_flags": tuple((item.name, item.on) for item in many["privflags"]),
    }  # fmt: skip
    return Port(
        name, kind, driver, speed, mtu, node, frozenset(local), lower, first(info, "link_ring"),
        fixed,
    )  # fmt: skip


def first(row: Any, name: str) -> Any:
    """A field of a row that may be absent, as may be the field."""
    return None if row is None else getattr(row, name, None)


def picked(row: Any, kind: type) -> dict[str, Any]:
    """The fields of a fact that a row has under the same names."""
    slots: Iterable[str] = kind.__slots__  # type: ignore[attr-defined]
    return {name: first(row, name) for name in slots}


def pcie(row: Any) -> Pcie:
    """The slot, with what it carries after coding."""
    speed, width = first(row, "speed"), first(row, "width")
    usable = formulas.pcie_usable(speed, width) if speed and width else None
    return Pcie(**{**picked(row, Pcie), "usable": usable})


def _bit(flags: int | None, bit: int) -> bool | None:
    return None if flags is None else bool(flags & bit)


def _count(
    own: int | None, combined: int | None, queues: Sequence[Any], prefix: str, made: int | None
) -> int | None:
    """Queues in use: what the driver says, else what sysfs lists, else what was allocated."""
    told = (own or 0) + (combined or 0)
    listed = sum(row.name.startswith(prefix) for row in queues)
    return told or listed or made


def _symmetric(rss: Any, key: str | None) -> bool | None:
    """Whether both directions of a flow reach one queue, by transform or by key."""
    if first(rss, "symmetric"):
        return True
    if key is None or first(rss, "function") != "toeplitz":
        return None
    try:
        return symmetric(key_bytes(key))
    except ValueError:
        return None


def _none_of(features: Sequence[Any]) -> int | None:
    """No steering rules: known to be 0 where the feature exists and is off."""
    for row in features:
        if row.name == "rx-ntuple-filter":
            return None if row.on else 0
    return None


def _steering(queues: Sequence[Any]) -> dict[str, bool | None]:
    """RPS, RFS and XPS of the interface; None where no queue has the file."""
    rps = [row.rps_cpus for row in queues if row.rps_cpus is not None]
    rfs = [row.rps_flow_cnt for row in queues if row.rps_flow_cnt is not None]
    xps = [row.xps_cpus for row in queues if row.xps_cpus is not None]
    spread = [cpu for cpus in xps for cpu in cpus]
    return {
        "rps": any(rps) if rps else None,
        "rfs": any(rfs) if rfs else None,
        "xps": any(xps) if xps else None,
        "xps_one_to_one": all(xps) and len(spread) == len(set(spread)) if xps else None,
    }
