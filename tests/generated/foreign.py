"""Hosts of unusual kinds, each with what an expert would say of it.

`wanted` was written from the kernel's documentation and drivers before nettop saw the host. It is a
word of `meanings.toml`; empty: the host is sound, and nothing loud may be said of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from generated.draw import bare, card, finish, settle
from generated.model import Host, Port


@dataclass(frozen=True)
class Foreign:
    """A host: `stats` are statistics of its card a second, `link` those of the kernel."""

    name: str
    driver: str
    wanted: str = ""
    stats: tuple[tuple[str, float], ...] = ()
    link: tuple[tuple[str, float], ...] = ()
    cpus: int = 8
    arch: str = "x86"
    queues: int = 0
    more: Callable[[Host, Port], None] | None = None

    def made(self) -> Host:
        """The host; always the same one."""
        draw = Random(self.name)
        host = bare(draw, self.name, "foreign", self.cpus, arch=self.arch)
        port = card(draw, host, self.driver, "eth0", queues=self.queues, load=0.05)
        port.stats.update(self.stats)
        port.link.update(self.link)
        if self.more is not None:
            self.more(host, port)
        finish(draw, host)
        settle(host)
        return host


def no_power(host: Host, port: Port) -> None:
    """What a virtual card and a small board do not have."""
    del port
    host.absent |= {"cpufreq", "cpuidle", "pci"}


def soft(
    name: str, kind: str, mtu: int = 1500, arphrd: int = 1, packets: float = 900.0, **more: object
) -> Port:
    port = Port(name, kind=kind, bus="", mtu=mtu, type=arphrd, qdisc="noqueue", rx_packets=packets,
                tx_packets=packets)  # fmt: skip
    for key, value in more.items():
        setattr(port, key, value)
    return port


def _dsl(host: Host, port: Port) -> None:
    port.address = "192.168.100.2"
    host.ports.append(soft("ppp0", "ppp", 1492, 512, address="80.1.2.3"))
    host.sysctls["net.ipv4.ip_forward"] = "1"
    host.snmp["Ip.ForwDatagrams"] = 900.0


def _modem(host: Host, port: Port) -> None:
    del port
    host.ports.append(soft("wwan0", "", 1500, 65534, driver="cdc_mbim", bus="usb",
                            qdisc="fq_codel", cpus=[0], shares=[1.0]))  # fmt: skip


def _can(host: Host, port: Port) -> None:
    del port
    host.ports.append(soft("can0", "can", 16, 280, packets=2000.0, qdisc="pfifo_fast"))
    host.ports.append(soft("vcan0", "vcan", 72, 280, packets=500.0))


def _services(host: Host, port: Port) -> None:
    del port
    host.ports.append(soft("kube-ipvs0", "dummy", packets=0.0, carrier=False))
    host.ports.append(soft("dummy0", "dummy", packets=0.0))
    host.ports.append(soft("nodelocaldns", "dummy", packets=0.0, carrier=False))


def _cilium(host: Host, port: Port) -> None:
    port.xdp = 17
    host.ports += [soft("cilium_net", "veth"), soft("cilium_host", "veth"),
                   soft("cilium_vxlan", "vxlan", 1450)]  # fmt: skip
    for number in range(300):
        host.ports.append(soft(f"lxc{number:08x}", "veth", packets=40.0, namespace=True))
    host.sysctls["net.ipv4.ip_forward"] = "1"
    host.snmp["Ip.ForwDatagrams"] = 9000.0


def _switch(host: Host, port: Port) -> None:
    host.ports.append(soft("ovs-system", "openvswitch", packets=0.0, carrier=False))
    host.ports.append(soft("br-int", "openvswitch"))
    port.master = "ovs-system"
    for number in range(24):
        host.ports.append(soft(f"tap{number:04x}", "tun", packets=300.0, master="ovs-system"))


def _representors(host: Host, port: Port) -> None:
    """The netdev of a representor counts the packets that the switch of the card did not forward.

    drivers/net/ethernet/mellanox/mlx5/core/en_rep.c: the statistics of its queues.
    """
    port.driver = "mlx5_core"
    for number in range(64):
        host.ports.append(soft(f"eth0_{number}", "", driver="mlx5e_rep", bus="pci", speed=25000,
                                stats={"rx_packets": 5.0, "vport_rx_packets": 5e4},
                                packets=5.0, queues=1, cpus=[0], shares=[1.0],
                                function=0))  # fmt: skip
    port.function = 0


def _macvtap(host: Host, port: Port) -> None:
    for number in range(6):
        host.ports.append(soft(f"macvtap{number}", "macvtap", below=port.name))


def _infiniband(host: Host, port: Port) -> None:
    del host
    port.type, port.mtu = 32, 2044


def _slow(host: Host, port: Port) -> None:
    port.speed, port.modes, port.peer_modes = 20000, (), ()
    no_power(host, port)


RING: Final = "receive ring overrun"
PORT: Final = "port buffer overrun"
MEMORY: Final = "receive buffers without memory"
UNKNOWN: Final = "frames dropped by the driver"

HOSTS: Final = (
    Foreign("a NAS with ngbe", "ngbe", RING, (("rx_no_dma_resources", 900),), cpus=4),
    Foreign("ngbe, moderation 1", "ngbe", cpus=4),
    Foreign("a DPU's endpoint", "octeon_ep", PORT, (("rx_dropped_pkts_fifo_full", 2000),
                                                   ("rx_dropped", 2000))),
    Foreign("an OcteonTX2 firewall", "rvu-nicpf", PORT, (("cgx_rxstat6: ", 3000),), cpus=24,
            arch="arm"),
    Foreign("a rack server with 8300", "qlcnic", RING, (("ctx_rx_pkts_dropped_wo_rds", 800),)),
    Foreign("a small router that empties its ring", "amd-xgbe", "",
            (("rx_buffer_unavailable", 500),), cpus=4),
    Foreign("a small router that loses", "amd-xgbe", PORT, (("rx_fifo_overflow_errors", 700),)),
    Foreign("a mainframe", "qeth_l2", "", (("tx0 Queue stopped", 2),), more=no_power),
    Foreign("a mainframe without memory", "qeth_l3", MEMORY, (("rx0 dropped, no memory", 30),),
            more=no_power),
    Foreign("96 cores without NUMA", "ice", cpus=96, arch="arm", more=no_power),
    Foreign("96 cores that overrun", "thunder-nicvf", RING, (("rx_drop_overrun", 400),), cpus=96,
            arch="arm", more=no_power),
    Foreign("Raspberry Pi 5", "macb", cpus=4, arch="arm", more=no_power),
    Foreign("Raspberry Pi 5 that overruns", "macb", RING, (("rx_resource_errors", 200),), cpus=4,
            arch="arm", more=no_power),
    Foreign("Raspberry Pi 4 that overruns", "bcmgenet", RING, (), (("rx_missed_errors", 150),),
            cpus=4, arch="arm", more=no_power),
    Foreign("an i.MX8 board", "fec", PORT, (("IEEE_rx_macerr", 100),), cpus=4, arch="arm",
            more=no_power),
    Foreign("an LS1028A switch", "fsl_enetc", RING, (("Rx ring  0 discarded frames", 300),), cpus=2,
            arch="arm", more=no_power),
    Foreign("an industrial PC", "lan743x", "frames damaged", (("RX FCS Errors", 40),), cpus=4),
    Foreign("a K3 board, the other port drops", "am65-cpsw-nuss", "",
            (("p0_rx_top_fifo_drop", 90),), cpus=4, arch="arm", more=no_power),
    Foreign("an LS1046A with a pool", "fsl_dpa", "", (("bpool [CPU 0]", 90),
                                                      ("entered congestion", 20)),
            cpus=4, arch="arm", more=no_power),
    Foreign("a VF with 128 queues", "iavf", cpus=128, queues=128, more=no_power),
    Foreign("64 representors", "mlx5_core", cpus=32, more=_representors),
    Foreign("IPoIB", "mlx5_core", cpus=32, more=_infiniband),
    Foreign("a DSL router", "igb", cpus=4, more=_dsl),
    Foreign("a modem", "r8169", cpus=4, more=_modem),
    Foreign("a car's gateway", "fec", cpus=4, arch="arm", more=_can),
    Foreign("Thunderbolt between two laptops", "thunderbolt-net", more=_slow),
    Foreign("a node with ipvs", "virtio_net", more=_services),
    Foreign("300 pods of cilium", "ena", cpus=16, more=_cilium),
    Foreign("Open vSwitch", "bnxt_en", cpus=32, more=_switch),
    Foreign("macvtap guests", "i40e", cpus=32, more=_macvtap),
    Foreign("an IPU guest that stops its queue", "idpf", "", (("tx-busy_events", 3),), cpus=16,
            more=no_power),
    Foreign("a Pensando that overruns", "ionic", RING, (("hw_rx_over_errors", 900),
                                                       ("hw_rx_dropped", 900)), cpus=16),
    Foreign("a card of no table", "e100", UNKNOWN, (), (("rx_missed_errors", 300),), cpus=2),
)  # fmt: skip
