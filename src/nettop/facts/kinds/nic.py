"""A network interface with everything known about it: settings, limits, rates, place, drops."""

from __future__ import annotations

from typing import Final

from ...collect.channels import Row as Channels
from ...collect.coalesce import Row as Coalesce
from ...collect.eee import Row as Eee
from ...collect.links import Row as LinkRow
from ...collect.netclass import Row as NetClassRow
from ...collect.nicstats import Row as NicStats
from ...collect.pause import Row as Pause
from ...collect.pci import Row as Pcie
from ...collect.rings import Row as Ring
from ...frame.fields import Repeated, gauge, label, light, maybe
from ...terms.dataclass import dataclass
from ..kind import Kind

_DRIVER: Final = Repeated(NicStats)
_LINK: Final = Repeated(LinkRow)
_CLASS: Final = Repeated(NetClassRow)


@light
@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the interface: `nic.per_s` per second, `nic.total` since its creation.

    The driver table (`rules/drivers.toml`) maps the drivers' names to these. None: not reported.
    """

    rx_bytes: float | None = maybe("bytes received", "bytes")
    tx_bytes: float | None = maybe("bytes sent", "bytes")
    rx_packets: float | None = maybe("packets received", "packets")
    tx_packets: float | None = maybe("packets sent", "packets")
    rx_dropped: float | None = maybe("packets dropped by the stack on receive", "packets")
    tx_dropped: float | None = maybe("packets dropped on transmit", "packets")
    rx_missed: float | None = maybe("packets missed by the NIC, no buffer", "packets")
    ring_drops: float | None = _DRIVER.ring_drops
    alloc_fails: float | None = _DRIVER.alloc_fails
    phy_errors: float | None = _DRIVER.phy_errors
    length_errors: float | None = _DRIVER.length_errors
    phy_discards: float | None = _DRIVER.phy_discards
    rx_errors: float | None = maybe("receive errors whose kind is not counted", "frames")
    tx_errors: float | None = maybe("transmit errors", "packets")
    pause_rx: float | None = _DRIVER.pause_rx
    pause_tx: float | None = _DRIVER.pause_tx
    pfc_rx: float | None = _DRIVER.pfc_rx
    pfc_tx: float | None = _DRIVER.pfc_tx
    tx_timeouts: float | None = _DRIVER.tx_timeouts
    tx_stops: float | None = _DRIVER.tx_stops
    allowance_bw_in: float | None = _DRIVER.allowance_bw_in
    allowance_bw_out: float | None = _DRIVER.allowance_bw_out
    allowance_pps: float | None = _DRIVER.allowance_pps
    allowance_conntrack: float | None = _DRIVER.allowance_conntrack
    allowance_linklocal: float | None = _DRIVER.allowance_linklocal
    xdp_drops: float | None = _DRIVER.xdp_drops
    xdp_fails: float | None = _DRIVER.xdp_fails
    bus_overflows: float | None = _DRIVER.bus_overflows
    bus_stalls: float | None = _DRIVER.bus_stalls
    port_rx_bytes: float | None = _DRIVER.port_rx_bytes
    port_tx_bytes: float | None = _DRIVER.port_tx_bytes
    fec_lost: float | None = maybe("blocks that FEC could not correct", "blocks")
    interrupts: float | None = maybe("interrupts of all its lines", "interrupts")
    qdisc_drops: float | None = maybe("packets dropped by the queueing discipline", "packets")
    carrier_changes: float | None = maybe("link state changes", "events")
    rx_foreign: float | None = maybe(
        "packets received with the hardware address of another host", "packets"
    )


@dataclass(frozen=True, slots=True)
class Feature:
    """One offload (ethtool -k): whether it is on, requested, and fixed."""

    name: str = label("kernel feature name, e.g. tx-tcp-segmentation")
    on: bool = gauge("on")
    wanted: bool = gauge("requested")
    fixed: bool = gauge("cannot be changed")


@light
@dataclass(frozen=True, slots=True)
class Nic:
    """One interface. `rx_queues` is the number of receive queues, which are facts themselves.

    `ring`, `coalesce` and the like are rows of their tables: a field of these is a field here.
    """

    name: str = label("interface name")
    kind: str = gauge("nic veth bond bridge vlan tunnel loopback wireless other")
    index: int = gauge("interface index", default=0)
    driver: str = gauge("kernel driver; empty when none", default="")
    driver_version: str | None = maybe("driver version")
    firmware: str | None = maybe("firmware version")
    bus: str | None = maybe("bus address, e.g. 0000:41:00.0")
    para: bool = gauge("paravirtual device: virtio, ena, gve, vmxnet3, hv_netvsc …", default=False)
    up: bool | None = maybe("administratively up")
    carrier: bool | None = maybe("link detected")
    speed: float | None = maybe("link speed", "bit/s")
    duplex: str | None = maybe("full or half")
    full_duplex: bool | None = maybe("the card has a mode with full duplex")
    autoneg: bool | None = maybe("the link is negotiated")
    copper: bool | None = maybe("twisted pair, not fibre or a cable with modules")
    mtu: int | None = maybe("MTU", "bytes")
    peer_mtu: int | None = maybe("MTU of the other end of a veth", "bytes")
    max_mtu: int | None = _LINK.max_mtu
    txqueuelen: int | None = maybe("transmit queue length", "packets")
    promisc: bool | None = maybe("promiscuous mode")
    promisc_set: bool | None = maybe("promiscuous mode set by a program or administrator")
    promisc_users: int | None = maybe("users of promiscuous mode", "users")
    macvlans: int | None = maybe("macvlan and macvtap interfaces on it", "interfaces")
    address: str | None = _LINK.address
    addresses: tuple[str, ...] = gauge("IP addresses", default=())
    master: str | None = maybe("bond or bridge of this port")
    lower: tuple[str, ...] = gauge("physical ports below a bond, bridge or VLAN", default=())
    forwards: bool | None = maybe("packet forwarding: ip_forward, bridge or OVS")
    node: int | None = maybe("NUMA node; None when unknown or the host has one node")
    local_cpus: tuple[int, ...] = gauge("CPUs of the device's NUMA node", default=())
    node_cores: int | None = maybe("physical cores of the device's NUMA node", "cores")
    rx_queues: int | None = maybe("receive queues in use", "queues")
    tx_queues: int | None = maybe("transmit queues in use", "queues")
    irqs: int = gauge("queue interrupts", "lines", default=0)
    irq_cpus: tuple[int, ...] = gauge(
        "CPUs that handled its receive interrupts recently", default=()
    )
    irq_top_cpu: int | None = maybe("busiest interrupt CPU")
    irq_top_share: float | None = maybe("share of interrupts on the busiest interrupt CPU", "ratio")
    cpus_rest: bool | None = maybe("the CPUs that take its interrupts are mostly idle")
    irq_off_node: int | None = maybe("queue interrupts on a remote NUMA node", "lines")
    irq_moved: bool | None = maybe("interrupts moved between CPUs during this run")
    msi: bool | None = maybe("message-signalled interrupts (False: legacy INTx)")
    queue_skew: float | None = maybe("busiest receive queue / mean of all queues", "ratio")
    queues_active: int | None = maybe("active receive queues", "queues")
    flows: int | None = maybe("TCP flows through the interface", "flows")
    mean_rx_bytes: float | None = maybe("mean received packet size", "bytes")
    mean_tx_bytes: float | None = maybe("mean sent packet size", "bytes")
    rx_load: float | None = maybe(
        "receive load: rate / maximum TCP payload rate of the link at this MTU", "ratio"
    )
    tx_load: float | None = maybe(
        "transmit load: rate / maximum TCP payload rate of the link at this MTU", "ratio"
    )
    qdisc: str | None = maybe("root queueing discipline")
    leaf_qdisc: str | None = maybe("leaf queueing discipline under mq")
    qdisc_backlog: int | None = maybe("bytes queued in the queueing discipline", "bytes")
    filter_drops: float | None = maybe(
        "packets dropped by filters of a classful discipline: no leaf of it dropped them",
        "packets/s",
    )
    rss_key: str | None = maybe("RSS key, colon hex")
    rss_table: tuple[int, ...] = gauge("RSS indirection table", default=())
    rss_symmetric: bool | None = maybe("symmetric RSS: both directions of a flow use one queue")
    rx_hash_udp4: str | None = maybe("fields hashed for UDP over IPv4, e.g. sd or sdfn")
    ntuple_rules: int | None = maybe("flow-steering rules", "rules")
    rps: bool | None = maybe("RPS")
    rfs: bool | None = maybe("RFS")
    xps: bool | None = maybe("XPS")
    xps_one_to_one: bool | None = maybe("XPS one-to-one: each transmit queue has its own CPUs")
    threaded: bool | None = _CLASS.threaded
    defer_hard_irqs: int | None = _CLASS.defer_hard_irqs
    gro_flush_timeout: int | None = _CLASS.gro_flush_timeout
    gso_max_segs: int | None = _LINK.gso_max_segs
    gso_max_size: int | None = _LINK.gso_max_size
    gro_max_size: int | None = _LINK.gro_max_size
    tso_max_size: int | None = _LINK.tso_max_size
    fec: str | None = maybe("forward error correction in use")
    iommu: str | None = maybe("IOMMU domain type: DMA, DMA-FQ, identity")
    xdp: bool | None = maybe("XDP program attached")
    af_xdp: bool | None = maybe("AF_XDP socket bound")
    sriov_vfs: int | None = _CLASS.sriov_vfs
    usb_speed: float | None = _CLASS.usb_speed
    rdma: str | None = maybe("RDMA device, e.g. mlx5_0")
    rdma_active: bool | None = maybe("RDMA traffic")
    module_power: float | None = maybe("optical receive power", "dBm")
    module_temperature: float | None = maybe("module temperature", "C")
    carries_ssh: bool = gauge("interface of this SSH session", default=False)
    capture: bool = gauge("packet capture on the interface", default=False)
    manual_affinity: bool | None = maybe("manual interrupt affinity")
    ring: Ring = gauge("rings", default=Ring(""))
    coalesce: Coalesce = gauge("coalescing", default=Coalesce(""))
    pause: Pause = gauge("flow control", default=Pause(""))
    pause_agreed: bool | None = maybe("flow control negotiated: both ends offer it")
    eee: Eee = gauge("energy saving of the link", default=Eee(""))
    channels: Channels = gauge("queues", default=Channels(""))
    slotted: bool | None = maybe("card in a slot; False: on-board, USB or part of the processor")
    pcie: Pcie = gauge("slot", default=Pcie(""))
    dynamic_moderation: bool | None = maybe(
        "dynamic moderation, selected by a special value of the receive interrupt delay"
    )
    features: tuple[Feature, ...] = gauge("offloads; in rules: on(nic, 'rx-gro')", default=())
    private_flags: tuple[tuple[str, bool], ...] = gauge("driver's private flags", default=())
    per_s: Counters = gauge("counters per second", default=Counters())
    total: Counters = gauge("counters since link creation", default=Counters())
    local_cores: tuple[int, ...] = gauge(
        "one CPU of each physical core of the device's NUMA node", default=()
    )
    link_only: bool | None = maybe(
        "losses at ring and port not known by kind: link statistics only"
    )
    ports_down: int | None = maybe("ports of the bond without a link", "ports")
    port_speed: float | None = maybe("fastest mode of the port", "bit/s")
    offered_speed: float | None = maybe("fastest mode that the port advertises", "bit/s")
    common_speed: float | None = maybe(
        "fastest mode that the port and its link partner support", "bit/s"
    )
    xdp_mode: str | None = maybe("attachment of the XDP program: driver generic offload multi")
    xdp_program: str | None = maybe("number of its XDP program")
    rss_obeyed: bool | None = maybe("queue counters match the RSS table")
    can: bool = gauge("CAN bus: no protocol above it sends a lost frame again", default=False)
    connections_left: int | None = maybe("connections left in the provider's limit", "connections")


KIND = Kind(
    Nic, "nics", spread=True, example={"name": "eth0", "kind": "nic"},
    tables={
        "ring": "rings", "coalesce": "coalesce", "pause": "pause", "eee": "eee",
        "channels": "channels", "per_s": "nicstats", "pcie": "netclass", "rss_": "rss",
        "module_": "module", "fec": "fec", "qdisc": "qdiscs",
    },
)  # fmt: skip
