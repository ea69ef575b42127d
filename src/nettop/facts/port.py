"""Settings, limits and topology of each interface: a join that many frames share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from ..collect.channels import Row as Channels
from ..collect.coalesce import Row as Coalesce
from ..collect.eee import Row as Eee
from ..collect.features import Row as FeatureRow
from ..collect.links import Row as LinkRow
from ..collect.netclass import Row as NetClassRow
from ..collect.pause import Row as Pause
from ..collect.pci import Row as Pcie
from ..collect.queues import Row as QueueRow
from ..collect.rings import Row as Ring
from ..collect.rss import Row as RssRow
from ..frame.fields import repeated
from ..frame.rates import Tables
from ..terms.dataclass import dataclass
from . import wiring
from .kinds.nic import Feature, Nic
from .place import OnlineCpus
from .toeplitz import key_bytes, symmetric


@dataclass(frozen=True, slots=True)
class Port:
    """One interface. `nic` has its settings and limits, but no rates and no interrupts."""

    name: str
    kind: str
    driver: str
    speed: float | None
    mtu: int | None
    node: int | None
    local: frozenset[int]
    lower: tuple[str, ...]
    nic: Nic
    link_ring: str | None = None  # the link statistic of a full ring; "": none; None: unknown
    ring_drops_unless: str | None = None  # the pause with which a full ring fills the FIFO


@dataclass(frozen=True, slots=True)
class _Link:
    """An interface of sysfs or /proc/net/dev, in place of a row of `links`."""

    interface: str
    kind: str = ""
    type: int | None = None
    loopback: bool = False

    def __getattr__(self, name: str) -> None:
        """Fields that only rtnetlink has are unknown."""


def ports(tables: Tables, place: OnlineCpus, ends: wiring.Ends | None = None) -> dict[str, Port]:
    """Every interface, from the rows of the tables in `STILL`, and ends of veth pairs elsewhere."""
    classes: dict[str, NetClassRow] = {row.name: row for row in tables.get("netclass", ())}
    links: dict[str, LinkRow | _Link] = {row.interface: row for row in tables.get("links", ())}
    # /sys may show other interfaces: of another namespace (nsenter -n) or of an earlier reading
    if not links:
        for name, row in classes.items():
            kind = row.devtype or "" if row.device is None else ""
            links[name] = _Link(name, kind, row.type, loopback=row.type == 772)
    for row in tables.get("netdev", ()):
        if row.name not in links:
            links[row.name] = _Link(row.name, loopback=row.name == "lo")
    kinds = {name: _kind(link, classes.get(name)) for name, link in links.items()}
    lower = wiring.lower_ports(kinds, directly_below(links, classes))
    shared = {what: {_name(row): row for row in tables.get(what, ())} for what in _ONE_ROW}
    many = {name: _grouped(tables.get(name, ())) for name in _MANY_ROWS}
    sysctls = {row.name: row.value for row in tables.get("sysctls", ())}
    many["macvlans"], many["peers"] = {}, {}
    for name, link in links.items():
        if link.kind == "veth":
            mtu = (
                links[link.link].mtu
                if link.link in links
                else wiring.far_mtu(link.peer, link.index, ends or {})
            )
            many["peers"][name] = [mtu]
        if link.kind in _MACVLAN:
            many["macvlans"].setdefault(link.link, []).append(link)
    return {
        name: _port(
            kinds[name], links[name], classes.get(name), place, lower.get(name, ()),
            {what: found.get(name) for what, found in shared.items()},
            {what: found.get(name, ()) for what, found in many.items()},
            forwarding=_forwarding(sysctls),
        )
        for name in links
    }  # fmt: skip


_ONE_ROW = ("rings", "coalesce", "pause", "channels", "rss", "drvinfo", "linkmodes", "eee", "fec",
            "pci", "module", "iommu")  # fmt: skip
_MANY_ROWS = ("features", "privflags", "addresses", "queues", "ntuple", "rdma")
STILL = ("links", "netclass", "sysctls", "topology", *_ONE_ROW, *_MANY_ROWS)


_OF_LINK: Final = repeated(Nic, LinkRow)
_OF_CLASS: Final = repeated(Nic, NetClassRow)
_CAN: Final = 280  # ARPHRD_CAN
_MACVLAN: Final = ("macvlan", "macvtap")
_WIRED: Final = ("nic", "wireless", "bond", "vlan")


def _name(row: object) -> str | None:
    name: str | None = _get(row, "interface") or _get(row, "nic")
    return name


def _grouped(rows: Iterable[Any]) -> dict[str | None, list[Any]]:
    groups: dict[str | None, list[Any]] = {}
    for row in rows:
        groups.setdefault(_name(row), []).append(row)
    return groups


def _kind(link: LinkRow | _Link, row: NetClassRow | None) -> str:
    device = link.parent or (row.device if row is not None else None)
    wireless = row is not None and row.devtype == "wlan"
    return wiring.kind_of(link, device, wireless=wireless)


def directly_below(
    links: Mapping[str, LinkRow | _Link], classes: Mapping[str, NetClassRow]
) -> dict[str, set[str]]:
    """The members of a bond or bridge, the parent of a VLAN or macvlan, by interface."""
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


def _full_duplex(supported: Sequence[str] | None) -> bool | None:
    """Whether a supported mode has full duplex; None: no mode is known.

    The names are those of include/uapi/linux/ethtool.h. 10BASE-T1S on a shared cable has none.
    """
    modes = [mode for mode in supported or () if mode.endswith(("/Full", "/Half"))]
    return any(mode.endswith("/Full") for mode in modes) if modes else None


def _copper(modes: object) -> bool | None:
    """Whether the port takes twisted pair: by its connector, else by its modes; None: neither."""
    connector = _get(modes, "port")
    if connector is not None:
        return bool(connector in ("TP", "MII"))
    names = [mode for mode in _get(modes, "supported") or () if "base" in mode]
    return all("baseT" in mode for mode in names) if names else None


def _port(
    kind: str, link: LinkRow | _Link, row: NetClassRow | None, place: OnlineCpus,
    lower: tuple[str, ...], one: Mapping[str, Any], many: Tables, *, forwarding: bool | None,
) -> Port:  # fmt: skip
    name = link.interface
    info, modes, queues = one["drvinfo"], one["linkmodes"], many["queues"]
    driver = _get(info, "driver") or _get(row, "driver") or ""
    mtu = _get(link, "mtu") or _get(row, "mtu")
    node = _get(row, "node") if place.nodes > 1 else None
    local = tuple(cpu for cpu in _get(row, "local_cpus") or () if cpu in place.by_cpu)
    local = local or place.near(node)
    # the speed of veth, tun and bridges is a fixed number without meaning
    speed = (_get(modes, "speed") or _get(row, "speed")) if kind in _WIRED else None
    flags = _get(row, "flags")
    promisc = link.promisc if link.promisc is not None else _bit(flags, 0x100)
    channels = one["channels"] or Channels(name)
    coalesce = one["coalesce"] or Coalesce(name)
    rss = one["rss"]
    key = _get(rss, "key")
    bus = _get(row, "address") or _get(row, "device") or link.parent or None
    nic = Nic(
        name=name,
        kind=kind,
        index=_get(link, "index") or _get(row, "index") or 0,
        driver=driver,
        driver_version=_get(info, "version") or None,
        firmware=_get(info, "firmware") or None,
        bus=bus,
        para=bool(_get(info, "para")) or driver in wiring.PARAVIRTUAL,
        up=link.up if link.up is not None else _bit(flags, 0x1),
        carrier=link.carrier if link.carrier is not None else _get(row, "carrier"),
        speed=speed,
        duplex=_get(modes, "duplex") or _get(row, "duplex"),
        full_duplex=_full_duplex(_get(modes, "supported")),
        autoneg=_get(modes, "autoneg"),
        copper=_copper(modes),
        mtu=mtu,
        peer_mtu=many["peers"][0] if many["peers"] else None,
        txqueuelen=link.txqueuelen if link.txqueuelen is not None
        else _get(row, "tx_queue_len"),
        promisc=True if link.promiscuity else promisc,
        promisc_set=link.promisc,
        promisc_users=link.promiscuity,
        can=link.type == _CAN,
        macvlans=len(many["macvlans"]) if link.index is not None else None,
        addresses=tuple(item.address for item in many["addresses"]),
        master=link.master or _get(row, "master"),
        lower=lower,
        forwards=True if link.slave_kind in ("bridge", "openvswitch") else forwarding,
        node=node,
        local_cpus=local,
        node_cores=place.cores(local) if local else None,
        local_cores=place.firsts(local),
        rx_queues=_count(channels.rx, channels.combined, queues, "rx-", link.rx_queues),
        tx_queues=_count(channels.tx, channels.combined, queues, "tx-", link.tx_queues),
        rss_key=key,
        rss_table=_get(rss, "table") or (),
        rss_symmetric=_symmetric(rss, key),
        rx_hash_udp4=_get(rss, "hash_udp4"),
        ntuple_rules=len(many["ntuple"]) or _none_of(many["features"]),
        **_steering(queues),  # type: ignore[arg-type]
        **{name: getattr(link, name) for name in _OF_LINK},
        **{name: _get(row, name) for name in _OF_CLASS},
        port_speed=_get(modes, "best"),
        offered_speed=_get(modes, "offered"),
        common_speed=_get(modes, "common"),
        fec=_get(one["fec"], "active"),
        iommu=_get(one["iommu"], "type"),
        xdp=link.xdp is not None if link.index is not None else None,
        xdp_mode=link.xdp,
        xdp_program=None if link.xdp_program is None else str(link.xdp_program),
        rdma=_get(many["rdma"][0], "device") if many["rdma"] else None,
        module_power=_get(one["module"], "rx_power"),
        module_temperature=_get(one["module"], "temperature"),
        ring=one["rings"] or Ring(name),
        coalesce=coalesce,
        dynamic_moderation=_dynamic(coalesce, info),
        pause=one["pause"] or Pause(name),
        pause_agreed=_agreed(one["pause"], modes),
        eee=one["eee"] or Eee(name),
        channels=channels,
        slotted=_slotted(name, bus, one["pci"]),
        pcie=one["pci"] or Pcie(name),
        features=_shared(
            tuple(_feature(one.name, one.on, one.wanted, one.fixed) for one in many["features"])
        ),
        private_flags=tuple((item.name, item.on) for item in many["privflags"]),
    )  # fmt: skip
    return Port(
        name, kind, driver, speed, mtu, node, frozenset(local), lower, nic,
        _get(info, "link_ring"), _get(info, "ring_drops_unless"),
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _feature(name: str, on: bool, wanted: bool, fixed: bool) -> Feature:
    """One object for the interfaces of which it is the same: a thousand have sixty each."""
    return Feature(name, on=on, wanted=wanted, fixed=fixed)


@lru_cache(maxsize=64)
def _shared(features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """One object for the interfaces that have the same features: what is found by it is shared."""
    return features


def _get(row: object, name: str) -> Any:
    """A field of a row, either of which may be absent."""
    return None if row is None else getattr(row, name, None)


def _dynamic(coalesce: Coalesce, info: object) -> bool | None:
    """Some drivers have no adaptive flag and take 1 or 3 us for dynamic moderation."""
    special = _get(info, "dynamic_usecs")
    return None if coalesce.rx_usecs is None or not special else coalesce.rx_usecs in special


def _agreed(pause: Pause | None, modes: object) -> bool | None:
    """Whether the link partner offers flow control too; None where it is not negotiated."""
    partner = _get(modes, "partner")
    if pause is None or not pause.autoneg or not partner:
        return None
    return "Pause" in partner or "Asym_Pause" in partner


def _slotted(name: str, bus: str | None, pcie: Pcie | None) -> bool | None:
    """Whether it is a card in a slot: behind a PCI Express port, not named as on-board (eno1)."""
    if bus is None:
        return None
    return pcie is not None and bool(pcie.width) and not name.startswith("eno")


def _bit(flags: int | None, bit: int) -> bool | None:
    return None if flags is None else bool(flags & bit)


def _count(
    own: int | None, combined: int | None, queues: Sequence[QueueRow], prefix: str, most: int | None
) -> int | None:
    """Queues in use by the driver, else listed in sysfs, else allocated (`most`)."""
    used = (own or 0) + (combined or 0)
    listed = sum(row.name.startswith(prefix) for row in queues)
    return used or listed or most


def _symmetric(rss: RssRow | None, key: str | None) -> bool | None:
    """Whether both directions of a flow reach the same queue, by transform or by key."""
    if rss is not None and rss.symmetric:
        return True
    if key is None or rss is None or rss.function != "toeplitz":
        return None
    try:
        return symmetric(key_bytes(key))
    except ValueError:
        return None


def _none_of(features: Sequence[FeatureRow]) -> int | None:
    """0 steering rules if the feature exists and is off, else None."""
    for row in features:
        if row.name == "rx-ntuple-filter":
            return None if row.on else 0
    return None


def _steering(queues: Sequence[QueueRow]) -> dict[str, bool | None]:
    """RPS, RFS and XPS of the interface; None if no queue has the file."""
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
