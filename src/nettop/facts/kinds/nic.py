"""A network interface with everything known about it: settings, limits, rates, place, drops."""

from __future__ import annotations

from typing import Final

from ...collect.channels import Row as Channels
from ...collect.coalesce import Row as Coalesce
from ...collect.eee import Row as Eee
from ...collect.nicstats import Row as NicStats
from ...collect.pause import Row as Pause
from ...collect.pci import Row as Pcie
from ...collect.rings import Row as Ring
from ...frame.fields import Repeated, gauge, label, light
from ...terms.dataclass import dataclass
from ..kind import Kind

_DRIVER: Final = Repeated(NicStats)


@light
@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the interface: `nic.per_s` per second, `nic.total` since its creation.

    The driver table (`rules/drivers.toml`) maps the drivers' names to these. None: not reported.
    """

    rx_bytes: float | None = gauge("bytes received", "bytes", default=None)
    tx_bytes: float | None = gauge("bytes sent", "bytes", default=None)
    rx_packets: float | None = gauge("packets received", "packets", default=None)
    tx_packets: float | None = gauge("packets sent", "packets", default=None)
    rx_dropped: float | None = gauge(
        "packets dropped by the stack on receive", "packets", default=None
    )
    tx_dropped: float | None = gauge("packets dropped on transmit", "packets", default=None)
    rx_missed: float | None = gauge("packets missed by the NIC, no buffer", "packets", default=None)
    ring_drops: float | None = _DRIVER.ring_drops
    alloc_fails: float | None = _DRIVER.alloc_fails
    phy_errors: float | None = _DRIVER.phy_errors
    length_errors: float | None = _DRIVER.length_errors
    phy_discards: float | None = _DRIVER.phy_discards
    rx_errors: float | None = gauge(
        "receive errors whose kind is not counted", "frames", default=None
    )
    tx_errors: float | None = gauge("transmit errors", "packets", default=None)
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
    fec_lost: float | None = gauge("blocks that FEC could not correct", "blocks", default=None)
    interrupts: float | None = gauge("interrupts of all its lines", "interrupts", default=None)
    qdisc_drops: float | None = gauge(
        "packets dropped by the queueing discipline", "packets", default=None
    )
    carrier_changes: float | None = gauge("link state changes", "events", default=None)
    rx_foreign: float | None = gauge(
        "packets received with the hardware address of another host", "packets", default=None
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
    driver_version: str | None = gauge("driver version", default=None)
    firmware: str | None = gauge("firmware version", default=None)
    bus: str | None = gauge("bus address, e.g. 0000:41:00.0", default=None)
    para: bool = gauge("paravirtual device: virtio, ena, gve, vmxnet3, hv_netvsc …", default=False)
    up: bool | None = gauge("administratively up", default=None)
    carrier: bool | None = gauge("link detected", default=None)
    speed: float | None = gauge("link speed", "bit/s", default=None)
    duplex: str | None = gauge("full or half", default=None)
    full_duplex: bool | None = gauge("the card has a mode with full duplex", default=None)
    autoneg: bool | None = gauge("the link is negotiated", default=None)
    copper: bool | None = gauge("twisted pair, not fibre or a cable with modules", default=None)
    mtu: int | None = gauge("MTU", "bytes", default=None)
    peer_mtu: int | None = gauge("MTU of the other end of a veth", "bytes", default=None)
    max_mtu: int | None = gauge("MTU maximum of the driver", "bytes", default=None)
    txqueuelen: int | None = gauge("transmit queue length", "packets", default=None)
    promisc: bool | None = gauge("promiscuous mode", default=None)
    promisc_set: bool | None = gauge(
        "promiscuous mode set by a program or administrator", default=None
    )
    promisc_users: int | None = gauge("users of promiscuous mode", "users", default=None)
    macvlans: int | None = gauge("macvlan and macvtap interfaces on it", "interfaces", default=None)
    address: str | None = gauge("MAC address", default=None)
    addresses: tuple[str, ...] = gauge("IP addresses", default=())
    master: str | None = gauge("bond or bridge of this port", default=None)
    lower: tuple[str, ...] = gauge("physical ports below a bond, bridge or VLAN", default=())
    forwards: bool | None = gauge("packet forwarding: ip_forward, bridge or OVS", default=None)
    node: int | None = gauge("NUMA node; None when unknown or the host has one node", default=None)
    local_cpus: tuple[int, ...] = gauge("CPUs of the device's NUMA node", default=())
    node_cores: int | None = gauge(
        "physical cores of the device's NUMA node", "cores", default=None
    )
    rx_queues: int | None = gauge("receive queues in use", "queues", default=None)
    tx_queues: int | None = gauge("transmit queues in use", "queues", default=None)
    irqs: int = gauge("queue interrupts", "lines", default=0)
    irq_cpus: tuple[int, ...] = gauge(
        "CPUs that handled its receive interrupts recently", default=()
    )
    irq_top_cpu: int | None = gauge("busiest interrupt CPU", default=None)
    irq_top_share: float | None = gauge(
        "share of interrupts on the busiest interrupt CPU", "ratio", default=None
    )
    cpus_rest: bool | None = gauge(
        "the CPUs that take its interrupts are mostly idle", default=None
    )
    irq_off_node: int | None = gauge(
        "queue interrupts on a remote NUMA node", "lines", default=None
    )
    irq_moved: bool | None = gauge("interrupts moved between CPUs during this run", default=None)
    msi: bool | None = gauge("message-signalled interrupts (False: legacy INTx)", default=None)
    queue_skew: float | None = gauge(
        "busiest receive queue / mean of all queues", "ratio", default=None
    )
    queues_active: int | None = gauge("active receive queues", "queues", default=None)
    flows: int | None = gauge("TCP flows through the interface", "flows", default=None)
    mean_rx_bytes: float | None = gauge("mean received packet size", "bytes", default=None)
    mean_tx_bytes: float | None = gauge("mean sent packet size", "bytes", default=None)
    rx_load: float | None = gauge(
        "receive load: rate / maximum TCP payload rate of the link at this MTU",
        "ratio",
        default=None,
    )
    tx_load: float | None = gauge(
        "transmit load: rate / maximum TCP payload rate of the link at this MTU",
        "ratio",
        default=None,
    )
    qdisc: str | None = gauge("root queueing discipline", default=None)
    leaf_qdisc: str | None = gauge("leaf queueing discipline under mq", default=None)
    qdisc_backlog: int | None = gauge(
        "bytes queued in the queueing discipline", "bytes", default=None
    )
    filter_drops: float | None = gauge(
        "packets dropped by filters of a classful discipline: no leaf of it dropped them",
        "packets/s",
        default=None,
    )
    rss_key: str | None = gauge("RSS key, colon hex", default=None)
    rss_table: tuple[int, ...] = gauge("RSS indirection table", default=())
    rss_symmetric: bool | None = gauge(
        "symmetric RSS: both directions of a flow use one queue", default=None
    )
    rx_hash_udp4: str | None = gauge(
        "fields hashed for UDP over IPv4, e.g. sd or sdfn", default=None
    )
    ntuple_rules: int | None = gauge("flow-steering rules", "rules", default=None)
    rps: bool | None = gauge("RPS", default=None)
    rfs: bool | None = gauge("RFS", default=None)
    xps: bool | None = gauge("XPS", default=None)
    xps_one_to_one: bool | None = gauge(
        "XPS one-to-one: each transmit queue has its own CPUs", default=None
    )
    threaded: bool | None = gauge("threaded NAPI", default=None)
    defer_hard_irqs: int | None = gauge("napi_defer_hard_irqs", "polls", default=None)
    gro_flush_timeout: int | None = gauge("gro_flush_timeout", "ns", default=None)
    gso_max_segs: int | None = gauge("segments per segmentation packet", "segments", default=None)
    gso_max_size: int | None = gauge("segmentation packet size limit (GSO)", "bytes", default=None)
    gro_max_size: int | None = gauge("merged packet size limit (GRO)", "bytes", default=None)
    tso_max_size: int | None = gauge(
        "segmentation packet size limit of the device (TSO)", "bytes", default=None
    )
    fec: str | None = gauge("forward error correction in use", default=None)
    iommu: str | None = gauge("IOMMU domain type: DMA, DMA-FQ, identity", default=None)
    xdp: bool | None = gauge("XDP program attached", default=None)
    af_xdp: bool | None = gauge("AF_XDP socket bound", default=None)
    sriov_vfs: int | None = gauge("virtual functions", "functions", default=None)
    rdma: str | None = gauge("RDMA device, e.g. mlx5_0", default=None)
    rdma_active: bool | None = gauge("RDMA traffic", default=None)
    module_power: float | None = gauge("optical receive power", "dBm", default=None)
    module_temperature: float | None = gauge("module temperature", "C", default=None)
    carries_ssh: bool = gauge("interface of this SSH session", default=False)
    capture: bool = gauge("packet capture on the interface", default=False)
    manual_affinity: bool | None = gauge("manual interrupt affinity", default=None)
    ring: Ring = gauge("rings", default=Ring(""))
    coalesce: Coalesce = gauge("coalescing", default=Coalesce(""))
    pause: Pause = gauge("flow control", default=Pause(""))
    pause_agreed: bool | None = gauge("flow control negotiated: both ends offer it", default=None)
    eee: Eee = gauge("energy saving of the link", default=Eee(""))
    channels: Channels = gauge("queues", default=Channels(""))
    slotted: bool | None = gauge(
        "card in a slot; False: on-board, USB or part of the processor", default=None
    )
    pcie: Pcie = gauge("slot", default=Pcie(""))
    dynamic_moderation: bool | None = gauge(
        "dynamic moderation, selected by a special value of the receive interrupt delay",
        default=None,
    )
    features: tuple[Feature, ...] = gauge("offloads; in rules: on(nic, 'rx-gro')", default=())
    private_flags: tuple[tuple[str, bool], ...] = gauge("driver's private flags", default=())
    per_s: Counters = gauge("counters per second", default=Counters())
    total: Counters = gauge("counters since link creation", default=Counters())
    local_cores: tuple[int, ...] = gauge(
        "one CPU of each physical core of the device's NUMA node", default=()
    )
    link_only: bool | None = gauge(
        "losses at ring and port not known by kind: link statistics only", default=None
    )
    ports_down: int | None = gauge("ports of the bond without a link", "ports", default=None)
    port_speed: float | None = gauge("fastest mode of the port", "bit/s", default=None)
    offered_speed: float | None = gauge(
        "fastest mode that the port advertises", "bit/s", default=None
    )
    common_speed: float | None = gauge(
        "fastest mode that the port and its link partner support", "bit/s", default=None
    )
    xdp_mode: str | None = gauge(
        "attachment of the XDP program: driver generic offload multi", default=None
    )
    xdp_program: str | None = gauge("number of its XDP program", default=None)
    rss_obeyed: bool | None = gauge("queue counters match the RSS table", default=None)
    can: bool = gauge("CAN bus: no protocol above it sends a lost frame again", default=False)
    connections_left: int | None = gauge(
        "connections left in the provider's limit", "connections", default=None
    )


KIND = Kind(
    Nic, "nics", spread=True, example={"name": "eth0", "kind": "nic"},
    tables={
        "ring": "rings", "coalesce": "coalesce", "pause": "pause", "eee": "eee",
        "channels": "channels", "per_s": "nicstats", "pcie": "netclass", "rss_": "rss",
        "module_": "module", "fec": "fec", "qdisc": "qdiscs",
    },
)  # fmt: skip
