"""Network cards by driver: names of interrupts and statistics, limits, and what is on by default.

Names are those of each driver's ethtool code in the kernel (drivers/net/ethernet/…). `lost` says
which statistic counts which loss; a name with {n} is counted for each queue.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from generated.model import Port

_OFFLOADS: Final = {
    "tx-scatter-gather": "on", "tx-checksum-ip-generic": "on", "tx-generic-segmentation": "on",
    "tx-tcp-segmentation": "on", "tx-tcp6-segmentation": "on", "rx-gro": "on", "rx-checksum": "on",
    "rx-hashing": "on", "rx-gro-list": "off", "rx-udp-gro-forwarding": "off",
    "rx-vlan-hw-parse": "on", "tx-vlan-hw-insert": "on",
}  # fmt: skip


@dataclass(frozen=True)
class Card:
    """A driver."""

    speeds: tuple[int, ...] = ()  # Mbit/s that it reports; none: it reports none
    queues: tuple[int, ...] = (1,)
    ring: tuple[int, int] | None = None  # its default and its maximum
    irq: tuple[str, ...] = ()  # lines of a queue; {nic} {bus} {device} {n}
    other: tuple[str, ...] = ()  # lines of no queue
    bus: str = "pci"
    channels: bool = True
    packets: tuple[str, str] | None = None  # statistics of a queue: received, sent
    lost: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()  # other statistics
    coalesce: Mapping[str, int] | None = None
    pause: bool = False
    eee: bool = False  # the driver supports it, on ports of copper
    features: Mapping[str, str] = field(default_factory=lambda: dict(_OFFLOADS))
    pcie: tuple[tuple[str, int], ...] = ()  # slots that boards with this driver have


_INTEL: Final = {"crc": "rx_crc_errors", "long": "rx_long_length_errors",
                 "pause_rx": "rx_flow_control_xoff", "pause_tx": "tx_flow_control_xoff",
                 }  # fmt: skip
_ADAPTIVE: Final = {"use_adaptive_rx": 1, "use_adaptive_tx": 1, "rx_usecs": 50, "tx_usecs": 50}
_FLEXIBLE: Final = {**_OFFLOADS, "rx-lro": "off", "rx-ntuple-filter": "off",
                    "tx-udp-segmentation": "on"}  # fmt: skip

CARDS: Final[Mapping[str, Card]] = {
    "ice": Card(
        (25000, 100000), (8, 16, 32, 64), (2048, 8160), ("ice-{nic}-TxRx-{n}",),
        ("ice-{bus}:misc",),
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"),
        lost={"ring": "rx_dropped", "port": "rx_dropped.nic", "crc": "rx_crc_errors.nic",
              "long": "rx_oversize.nic", "pause_rx": "link_xoff_rx.nic", "fec": "",
              "pause_tx": "link_xoff_tx.nic", "pfc": "rx_priority_3_xoff.nic",
              "memory": "rx_alloc_fail"},
        more=("rx_unicast.nic", "tx_unicast.nic"), coalesce=_ADAPTIVE, pause=True,
        features=_FLEXIBLE, pcie=(("16.0 GT/s PCIe", 16),),
    ),
    "i40e": Card(
        (10000, 25000, 40000), (8, 16, 32, 64), (512, 4096), ("i40e-{nic}-TxRx-{n}",),
        ("i40e-{bus}:misc",), packets=("rx-{n}.packets", "tx-{n}.packets"),
        lost={"port": "port.rx_dropped", "crc": "port.rx_crc_errors", "long": "port.rx_oversize",
              "pause_rx": "port.link_xoff_rx", "pause_tx": "port.link_xoff_tx",
              "memory": "rx_alloc_fail"},
        more=("rx_dropped", "port.rx_unicast"), coalesce=_ADAPTIVE, pause=True, features=_FLEXIBLE,
        pcie=(("8.0 GT/s PCIe", 8),),
    ),
    "mlx5_core": Card(
        (25000, 50000, 100000), (8, 16, 32, 63, 64), (1024, 8192), ("mlx5_comp{n}@pci:{bus}",),
        ("mlx5_async0@pci:{bus}",), packets=("rx{n}_packets", "tx{n}_packets"),
        lost={"ring": "rx_out_of_buffer", "port": "rx_discards_phy", "crc": "rx_crc_errors_phy",
              "long": "rx_oversize_pkts_phy", "pause_rx": "rx_pause_ctrl_phy", "fec": "",
              "pause_tx": "tx_pause_ctrl_phy", "pfc": "rx_prio3_pause",
              "memory": "rx_buff_alloc_err", "tx": "tx_queue_stopped", "xdp": "rx_xdp_drop",
              "xdp_tx": "rx_xdp_tx_full", "bus": "outbound_pci_buffer_overflow",
              "bus stalls": "outbound_pci_stalled_wr_events"},
        more=("rx_packets_phy", "tx_packets_phy"), coalesce={**_ADAPTIVE, "rx_usecs": 8,
              "rx_max_frames": 128}, pause=True, features=_FLEXIBLE, pcie=(("16.0 GT/s PCIe", 16),),
    ),
    "ixgbe": Card(
        (10000,), (4, 8, 16, 32), (512, 4096), ("{nic}-TxRx-{n}",), ("{nic}",),
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"),
        lost={**_INTEL, "ring": "rx_no_dma_resources", "port": "rx_missed_errors",
              "memory": "alloc_rx_page_failed"},
        more=("fdir_match",), coalesce={"rx_usecs": 1, "tx_usecs": 0}, pause=True,
        features=_FLEXIBLE, pcie=(("5.0 GT/s PCIe", 8),),
    ),
    "igb": Card(
        (1000,), (2, 4, 8), (256, 4096), ("{nic}-TxRx-{n}",), ("{nic}",),
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"),
        lost={**_INTEL, "ring": "rx_queue_{n}_drops", "port": "rx_missed_errors",
              "memory": "rx_queue_{n}_alloc_failed"},
        coalesce={"rx_usecs": 3}, pause=True, eee=True, pcie=(("5.0 GT/s PCIe", 4),),
    ),
    "bnxt_en": Card(
        (10000, 25000, 50000, 100000), (8, 16, 32), (511, 2047), ("{nic}-TxRx-{n}",),
        packets=("[{n}]: rx_ucast_packets", "[{n}]: tx_ucast_packets"),
        lost={"ring": "[{n}]: rx_discards", "port": "rx_stat_discard", "crc": "rx_fcs_err_frames",
              "long": "rx_ovrsz_frames", "pause_rx": "rx_pause_frames", "fec": "",
              "pause_tx": "tx_pause_frames", "pfc": "rx_pfc_ena_frames_pri3",
              "memory": "rx_total_oom_discards"},
        coalesce={**_ADAPTIVE, "rx_usecs": 10, "rx_max_frames": 8}, pause=True,
        features={**_FLEXIBLE, "rx-gro-hw": "on"},
        # bnxt.c, board_info: boards of 10 and 25 Gb/s (57414), of 100 Gb/s (57454)
        pcie=(("8.0 GT/s PCIe", 8), ("8.0 GT/s PCIe", 16)),
    ),
    "e1000e": Card(
        (1000,), (1,), (256, 4096), ("{nic}-rx-{n}",), ("{nic}-tx-0", "{nic}"), channels=False,
        lost={**_INTEL, "ring": "rx_missed_errors", "memory": "alloc_rx_buff_failed"},
        coalesce={"rx_usecs": 3}, pause=True, eee=True, pcie=(("2.5 GT/s PCIe", 1),),
    ),
    "tg3": Card(
        (1000,), (1, 4), (200, 2047), ("{nic}-txrx-{n}",), channels=False,
        lost={"ring": "rx_discards", "crc": "rx_fcs_errors", "long": "rx_frame_too_long_errors",
              "pause_rx": "rx_xoff_pause_rcvd", "pause_tx": "tx_xoff_sent"},
        coalesce={"rx_usecs": 20, "rx_max_frames": 5}, pause=True,
        eee=True, pcie=(("5.0 GT/s PCIe", 2),),
    ),
    "r8169": Card(
        (1000, 2500), (1,), None, ("{nic}",), channels=False,
        lost={"ring": "rx_missed", "crc": "align_errors"}, pause=True, eee=True,
        features={**_OFFLOADS, "tx-checksum-ip-generic": "fixed", "tx-checksum-ipv4": "on",
                  "tx-checksum-ipv6": "on", "tx-scatter-gather": "off",
                  "tx-tcp-segmentation": "off", "tx-tcp6-segmentation": "off",
                  "tx-generic-segmentation": "off", "rx-hashing": "fixed"},
        pcie=(("2.5 GT/s PCIe", 1), ("5.0 GT/s PCIe", 1)),
    ),
    "bcmgenet": Card(
        (100, 1000), (1,), None, ("{nic}",), bus="platform", channels=False,
        lost={"crc": "rx_fcs"}, eee=True,
        coalesce={"rx_max_frames": 1, "rx_usecs": 50, "tx_max_frames": 10},
        features={**_OFFLOADS, "tx-tcp-segmentation": "fixed", "tx-tcp6-segmentation": "fixed",
                  "rx-hashing": "fixed"},
    ),
    "iwlwifi": Card(
        (), (1,), None, ("iwlwifi:queue_{n}",), ("iwlwifi:exception",), channels=False,
        more=("rx_packets", "rx_duplicates", "rx_fragments", "rx_dropped", "tx_retries",
              "signal", "rxrate"),
        features={"tx-scatter-gather": "on", "rx-gro": "on", "tx-generic-segmentation": "on",
                  "tx-tcp-segmentation": "on", "tx-checksum-ip-generic": "fixed",
                  "tx-checksum-ipv4": "on", "rx-checksum": "on"},
        pcie=(("5.0 GT/s PCIe", 1),),
    ),
    "ena": Card(
        (), (2, 4, 8, 16, 32), (1024, 16384), ("{nic}-Tx-Rx-{n}",), ("ena-mgmnt@pci:{bus}",),
        packets=("queue_{n}_rx_cnt", "queue_{n}_tx_cnt"),
        lost={"ring": "rx_overruns", "memory": "queue_{n}_rx_page_alloc_fail",
              "bandwidth": "bw_in_allowance_exceeded", "conntrack": "conntrack_allowance_exceeded",
              "linklocal": "linklocal_allowance_exceeded"},
        more=("bw_out_allowance_exceeded", "pps_allowance_exceeded", "rx_drops", "tx_timeout"),
        coalesce={"use_adaptive_rx": 0, "rx_usecs": 0, "tx_usecs": 64},
        features={**_OFFLOADS, "tx-checksum-ip-generic": "fixed", "tx-checksum-ipv4": "on"},
    ),
    "gve": Card(
        (), (2, 4, 8, 16), (1024, 1024), ("gve-ntfy-blk{n}@pci:{bus}",), ("gve-mgmnt@pci:{bus}",),
        packets=None,
        lost={"ring": "rx_no_buffers_posted[{n}]", "memory": "rx_buf_alloc_fail"},
        more=("tx_timeouts", "rx_queue_drop_cnt[0]"), coalesce={"rx_usecs": 20, "tx_usecs": 50},
        features={**_OFFLOADS, "rx-lro": "off"},
    ),
    "virtio_net": Card(
        (), (1, 2, 4, 8, 16), (256, 256), ("{device}-input.{n}", "{device}-output.{n}"),
        ("{device}-config",), bus="virtio", packets=("rx{n}_packets", "tx{n}_packets"),
        lost={"drops": "rx{n}_drops"}, more=("rx0_xdp_drops", "rx0_kicks"),
        coalesce={"rx_max_frames": 1},
        features={**_OFFLOADS, "rx-gro-hw": "on", "rx-hashing": "fixed"},
    ),
    "hv_netvsc": Card(
        (40000, 50000), (4, 8, 16), (10486, 18811), (), bus="vmbus",
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"),
        lost={}, more=("tx_no_space", "tx_too_big", "rx_comp_busy", "rx_no_memory",
                       "vf_rx_packets", "vf_tx_packets", "vf_tx_dropped"),
    ),
    "mana": Card(
        (), (4, 8, 16), (512, 8192), ("mana_q{n}@pci:{bus}",), ("mana_hwc@pci:{bus}",),
        packets=("rx_{n}_packets", "tx_{n}_packets"), lost={}, more=("hc_rx_ucast_pkts",),
    ),
    # those of `foreign`
    "ngbe": Card(
        (1000,), (4, 8), (512, 8192), ("{nic}-TxRx-{n}",), ("{nic}",),
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"), coalesce={"rx_usecs": 1},
        more=("rx_no_dma_resources", "rx_dma_pkts"), pcie=(("5.0 GT/s PCIe", 4),),
    ),
    "octeon_ep": Card(
        (10000, 25000), (8,), None, ("octeon_ep-{nic}-rxtx-{n}",), ("octeon_ep-{nic}-oei",),
        channels=False, packets=("rx_packets[Q-{n}]", "tx_packets_completed[Q-{n}]"),
        more=("rx_dropped_pkts_fifo_full", "rx_dropped"), pcie=(("8.0 GT/s PCIe", 8),),
    ),
    "rvu-nicpf": Card(
        (10000, 25000), (8, 24), (1024, 32768), ("{nic}-rxtx-{n}",), ("RVUPF2_RVUPFAF Mbox",),
        packets=("rxq{n}: frames", "txq{n}: frames"), more=("cgx_rxstat6: ", "rx_fcs_errs"),
        coalesce={"rx_usecs": 10, "rx_max_frames": 10},
    ),
    "qlcnic": Card(
        (10000,), (4,), (4096, 16384), ("{nic}-tx-0-rx-{n}",), channels=False,
        more=("ctx_rx_pkts_dropped_wo_rds", "mac_crc_error"), coalesce={"rx_usecs": 3},
        pcie=(("8.0 GT/s PCIe", 8),),
    ),
    "amd-xgbe": Card(
        (10000,), (4,), (512, 4096), ("{nic}-TxRx-{n}",), ("{nic}",),
        packets=("rxq_{n}_packets", "txq_{n}_packets"),
        more=("rx_buffer_unavailable", "rx_fifo_overflow_errors"), coalesce={"rx_usecs": 30},
        pause=True,
    ),
    "qeth_l2": Card((10000, 25000), (1,), None, (), bus="ccwgroup", channels=False,
                    more=("rx0 dropped, no memory", "tx0 skbs", "tx0 Queue stopped")),
    "qeth_l3": Card((10000, 25000), (1,), None, (), bus="ccwgroup", channels=False,
                    more=("rx0 dropped, no memory", "tx0 skbs", "tx0 Queue stopped")),
    "thunder-nicvf": Card(
        (10000, 40000), (8,), (1024, 8192), ("{nic}-rxtx-{n}",), ("{nic}-qset-err-0",),
        packets=("rxq{n}: frames", "txq{n}: frames"), more=("rx_drop_red", "rx_drop_overrun"),
        coalesce={"rx_usecs": 50},
    ),
    "macb": Card(
        (1000,), (1,), (512, 8192), ("{nic}",), bus="platform", channels=False,
        packets=("q{n}_rx_packets", "q{n}_tx_packets"), more=("rx_resource_errors", "rx_overruns"),
        eee=True,
    ),
    "fec": Card((1000,), (1,), None, ("{nic}",), bus="platform", channels=False,
                more=("IEEE_rx_macerr", "IEEE_rx_crc", "rx_crc_errors"),
                coalesce={"rx_usecs": 1000, "rx_max_frames": 200}, eee=True),
    "fsl_enetc": Card(
        (1000, 2500), (2,), None, ("{nic}-rxtx{n}",), channels=False,
        packets=("Rx ring  {n} frames", "Tx ring  {n} frames"),
        more=("Rx ring  0 discarded frames", "MAC rx dropped packets"),
        coalesce={"use_adaptive_rx": 1, "rx_usecs": 50},
    ),
    "lan743x": Card((1000,), (1,), (64, 65535), ("lan743x",), channels=False,
                    more=("RX FCS Errors", "RX Dropped Frames"), pause=True, eee=True,
                    pcie=(("2.5 GT/s PCIe", 1),)),
    "am65-cpsw-nuss": Card((1000,), (1,), None, ("8000000.ethernet-rx{n}",), bus="platform",
                           channels=False, more=("rx_top_fifo_drop", "p0_rx_top_fifo_drop")),
    "fsl_dpa": Card((1000, 10000), (1,), None, (), bus="platform", channels=False,
                    more=("bpool [CPU 0]", "entered congestion", "rx frame physical error")),
    "iavf": Card(
        (25000, 100000), (16, 128), (512, 4096), ("iavf-{nic}-TxRx-{n}",), ("iavf-{bus}:mbx",),
        packets=("rx-{n}.packets", "tx-{n}.packets"), more=("rx_discards",), coalesce=_ADAPTIVE,
    ),
    "idpf": Card(
        (100000,), (16,), (512, 8160), ("idpf-{nic}-TxRx-{n}",), ("idpf-Mailbox-0",),
        packets=("rx_q-{n}_pkts", "tx_q-{n}_pkts"), more=("tx-busy_events", "rx_drops"),
        coalesce=_ADAPTIVE,
    ),
    "ionic": Card(
        (25000, 100000), (16,), (4096, 16384), ("ionic-{nic}-TxRx-{n}",), ("ionic-{bus}-adminq",),
        packets=("rx_{n}_pkts", "tx_{n}_pkts"), more=("hw_rx_over_errors", "hw_rx_dropped"),
        coalesce={"rx_usecs": 64, "tx_usecs": 64}, pcie=(("8.0 GT/s PCIe", 16),),
    ),
    # those of `everyday`
    "igc": Card(
        (1000, 2500), (4,), (256, 4096), ("{nic}-TxRx-{n}",), ("{nic}",),
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"), lost={**_INTEL},
        more=("rx_missed_errors", "rx_no_buffer_count"), coalesce={"rx_usecs": 3}, pause=True,
        pcie=(("5.0 GT/s PCIe", 1),),
    ),
    "e1000": Card((1000,), (1,), (256, 4096), ("{nic}",), channels=False, lost={**_INTEL},
                  more=("rx_missed_errors", "rx_no_buffer_count"), coalesce={"rx_usecs": 3},
                  features={**_OFFLOADS, "rx-checksum": "off"}),
    "ixgbevf": Card(
        (10000,), (2,), (512, 4096), ("{nic}-TxRx-{n}",), ("{nic}:mbx",),
        packets=("rx_queue_{n}_packets", "tx_queue_{n}_packets"),
        more=("alloc_rx_page_failed", "alloc_rx_buff_failed"), coalesce={"rx_usecs": 1},
    ),
    "mlx4_en": Card(
        (10000, 40000), (8,), (1024, 8192), ("mlx4-{n}@{bus}",), ("mlx4-async@pci:{bus}",),
        packets=("rx{n}_packets", "tx{n}_packets"),
        more=("rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx0_dropped"),
        coalesce={**_ADAPTIVE, "rx_usecs": 16}, pause=True, pcie=(("8.0 GT/s PCIe", 8),),
    ),
    "bnx2": Card((1000,), (4,), (255, 2040), ("{nic}-{n}",), channels=False,
                 more=("rx_fw_discards", "rx_discards", "rx_ftq_discards"),
                 coalesce={"rx_usecs": 18, "rx_max_frames": 6}, pause=True,
                 pcie=(("2.5 GT/s PCIe", 4),)),
    "mvneta": Card((1000, 2500), (1,), (512, 512), ("mvneta",), bus="platform", channels=False,
                   more=("rx_discard", "rx_overrun", "bad_crc_event"),
                   coalesce={"rx_usecs": 100, "rx_max_frames": 32}, pause=True),
    "mvpp2": Card(
        (2500, 10000), (4,), (1024, 2048), ("{nic}",), bus="platform", channels=False,
        packets=("rxq_{n}_desc_enqueue", "txq_{n}_packets_dequeued"),
        more=("rxq_0_packets_bm_drops", "rxq_0_queue_full_drops", "rx_fifo_overrun"),
        coalesce={"rx_usecs": 64, "rx_max_frames": 32}, pause=True,
    ),
    "xaxienet": Card((1000,), (1,), (1024, 4096), ("{nic}",), bus="platform", channels=False,
                     more=("Received bytes", "TX Good PFC Frames", "User Defined Counter 0"),
                     coalesce={"rx_usecs": 50, "rx_max_frames": 1}),
    "thunderbolt-net": Card((20000,), (1,), None, (), bus="thunderbolt", channels=False),
    "e100": Card((100,), (1,), (256, 256), ("{nic}",), channels=False, more=("rx_fifo_errors",)),
    "cdc_mbim": Card((), (1,), None, (), bus="usb", channels=False),
    "mlx5e_rep": Card((25000,), (1,), (1024, 8192), (), coalesce=_ADAPTIVE),
}  # fmt: skip


def slot(card: Card, speed: int) -> tuple[str, int]:
    """The first slot of the card that carries a link of `speed` Mbit/s and the bus's own headers.

    Rates of a lane: PCIE_SPEED2MBS_ENC in drivers/pci/pci.h.
    """
    lane = {"2.5": 2000, "5.0": 4000, "8.0": 7877, "16.0": 15754}
    return next(
        (one for one in card.pcie if lane[one[0].split()[0]] * one[1] > 1.15 * speed),
        card.pcie[-1],
    )


def actions(port: Port, address: str, device: str) -> list[tuple[str, int | None]]:
    """The names of a port's interrupt lines and the queue of each; None: of no queue."""
    card = CARDS[port.driver]
    values = {"nic": port.name, "bus": address, "device": device}
    found: list[tuple[str, int | None]] = [(name.format(**values), None) for name in card.other]
    for n in range(port.queues):
        found += [(name.format(**values, n=n), n) for name in card.irq]
    return found


def statistics(port: Port) -> dict[str, float]:
    """What `ethtool -S` counts on a sound port."""
    card = CARDS[port.driver]
    found = dict.fromkeys((*card.more, *(name for name in card.lost.values() if name)), 0.0)
    found = {
        one: 0.0
        for name in found
        for one in ([name.format(n=n) for n in range(port.queues)] if "{n}" in name else [name])
    }
    if card.packets is not None:
        for n, share in enumerate(port.shares):
            found[card.packets[0].format(n=n)] = port.rx_packets * share
            found[card.packets[1].format(n=n)] = port.tx_packets * share
    return found
