"""Hosts as many people have them, and small ones that lose packets; the form is that of `foreign`.

`wanted` was written from the kernel's documentation and drivers before nettop saw the host.
"""

from typing import Final

from generated.foreign import MEMORY, PORT, RING, UNKNOWN, Foreign, no_power, soft
from generated.model import Host, Port


def _docker(host: Host, port: Port) -> None:
    """A desktop with some containers; the default bridge has none."""
    del port
    host.ports.append(soft("docker0", "bridge", packets=0.0, carrier=False))
    host.ports.append(soft("br-3f0c", "bridge"))
    for number in range(4):
        host.ports.append(soft(f"veth{number:07x}", "veth", master="br-3f0c", namespace=True))
    host.sysctls["net.ipv4.ip_forward"] = "1"


def _backup(host: Host, port: Port) -> None:
    """An active-backup bond: the second port has a link, and drops the copies that it receives."""
    other = soft("eth1", "", driver=port.driver, bus="pci", qdisc="mq", master="bond0",
                  packets=30.0, queues=1, cpus=[1], shares=[1.0], speed=port.speed,
                  modes=port.modes, peer_modes=port.modes, ring=port.ring,
                  link={"rx_dropped": 29.0}, pcie=port.pcie)  # fmt: skip
    port.master = "bond0"
    host.ports += [other, soft("bond0", "bond", packets=port.rx_packets)]
    legs = [
        f"\nSlave Interface: {name}\nMII Status: up\nSpeed: {port.speed} Mbps\nDuplex: full\n"
        "Link Failure Count: 0"
        for name in (port.name, "eth1")
    ]
    host.files["/proc/net/bonding/"] = "bond0\n"
    host.files["/proc/net/bonding/bond0"] = "\n".join(
        ["Ethernet Channel Bonding Driver: v5.15.0", "",
         "Bonding Mode: fault-tolerance (active-backup)", "Primary Slave: None",
         f"Currently Active Slave: {port.name}", "MII Status: up", "MII Polling Interval (ms): 100",
         *legs, ""]
    )  # fmt: skip


def _proxmox(host: Host, port: Port) -> None:
    """A bridge for guests, with the firewall's own bridge before one of them."""
    port.master = "vmbr0"
    host.ports += [soft("vmbr0", "bridge"), soft("fwbr101i0", "bridge"),
                   soft("fwpr101p0", "veth", master="vmbr0"),
                   soft("fwln101i0", "veth", master="fwbr101i0"),
                   soft("tap101i0", "tun", master="fwbr101i0", qdisc="fq_codel"),
                   soft("tap102i0", "tun", master="vmbr0", qdisc="fq_codel")]  # fmt: skip


def _firewall(host: Host, port: Port) -> None:
    """Three VLANs on one port, rules that drop scanners, and room in the connection table."""
    port.address = "10.0.0.1"
    for tag in (10, 20, 30):
        host.ports.append(soft(f"{port.name}.{tag}", "vlan", vlan=tag, below=port.name))
    host.sysctls |= {"net.ipv4.ip_forward": "1", "net.netfilter.nf_conntrack_max": "262144"}
    host.conntrack = {"count": 21_000, "max": 262_144, "found": 5}
    host.snmp["Ip.ForwDatagrams"] = 3000.0
    host.firewall = [(False, 14.0), (True, 2.0)]


def _two_networks(host: Host, port: Port) -> None:
    """A storage node: jumbo frames in the network of the cluster, none in that of the clients."""
    port.mtu = 9000
    host.ports.append(soft("eth1", "", driver=port.driver, bus="pci", qdisc="mq", mtu=1500,
                            packets=4000.0, queues=1, cpus=[2], shares=[1.0], speed=port.speed,
                            modes=port.modes, peer_modes=port.modes, ring=port.ring,
                            features=dict(port.features or {}), pcie=port.pcie))  # fmt: skip


def _overlay(host: Host, port: Port) -> None:
    """A guest of a cloud whose network takes 50 bytes for its tunnel."""
    no_power(host, port)
    port.mtu = 1450


def _gateway(host: Host, port: Port) -> None:
    """WireGuard for some people at home: far below what a core carries."""
    del port
    host.ports.append(soft("wg0", "wireguard", 1420, 65534, packets=900.0, address="10.8.0.1"))
    host.sysctls["net.ipv4.ip_forward"] = "1"
    host.snmp["Ip.ForwDatagrams"] = 900.0


def _names(host: Host, port: Port) -> None:
    """A name server: a datagram in and one out, scanners of closed ports, no loss."""
    port.rx_size, port.tx_size = 90, 300
    port.rx_packets = port.tx_packets = 9000.0
    host.snmp |= {"Udp.InDatagrams": 9000.0, "Udp.OutDatagrams": 9000.0, "Udp.NoPorts": 3.0}


def _guests_with_functions(host: Host, port: Port) -> None:
    """SR-IOV: functions that guests have are not seen here, one that the host kept is."""
    host.ports.append(soft("eth0v0", "", driver="iavf", bus="pci", qdisc="mq", packets=300.0,
                            queues=1, cpus=[3], shares=[1.0], speed=port.speed,
                            ring=(512, 4096, 512, 4096)))  # fmt: skip


def _calico(host: Host, port: Port) -> None:
    """Pods without a bridge, IPIP between the nodes."""
    del port
    host.ports.append(soft("tunl0", "ipip", 1480, 768, packets=2000.0, address="10.42.0.1"))
    for number in range(60):
        host.ports.append(soft(f"cali{number:011x}", "veth", 1480, packets=50.0, namespace=True))
    host.sysctls["net.ipv4.ip_forward"] = "1"
    host.snmp["Ip.ForwDatagrams"] = 3000.0


def _closes_first(host: Host, port: Port) -> None:
    """A web server that closes first, in front of a kernel that keeps cookies in reserve."""
    del port
    host.sockstat["tw"] = 25_000
    host.snmp |= {"Tcp.PassiveOpens": 420.0, "Tcp.OutRsts": 30.0}


def _old(host: Host, port: Port) -> None:
    del port
    host.kernel, host.release = (5, 10), "5.10.0-30-amd64"


HOSTS: Final = (
    # nothing is wrong
    Foreign("a desktop with containers", "e1000e", cpus=8, more=_docker),
    Foreign("a server with a backup port", "igb", cpus=8, more=_backup),
    Foreign("Proxmox", "ixgbe", cpus=16, more=_proxmox),
    Foreign("a firewall with VLANs", "igc", cpus=4, more=_firewall),
    Foreign("a storage node of two networks", "mlx5_core", cpus=32, more=_two_networks),
    Foreign("a guest in an overlay", "virtio_net", cpus=4, more=_overlay),
    Foreign("a VPN gateway at home", "r8169", cpus=4, more=_gateway),
    Foreign("a name server", "bnxt_en", cpus=16, more=_names),
    Foreign("a host of guests with functions", "ice", cpus=32, more=_guests_with_functions),
    Foreign("a node with calico", "ena", cpus=8, more=_calico),
    Foreign("a web server that closes first", "i40e", cpus=32, more=_closes_first),
    # packets waited for a descriptor, none was lost (e1000_main.c, RNBC)
    Foreign("a guest of VirtualBox that waits", "e1000", "", (("rx_no_buffer_count", 200),),
            cpus=2, more=no_power),
    # tg3.c: an empty ring; the packet stays in the memory of the chip
    Foreign("a tg3 that finds its ring empty", "tg3", "", (("rxbds_empty", 300),)),
    # something is
    Foreign("a guest of VirtualBox that loses", "e1000", RING, (("rx_missed_errors", 300),),
            (("rx_missed_errors", 300),), cpus=2, more=no_power),
    Foreign("a tg3 that loses", "tg3", RING, (("rx_discards", 250),), (("rx_missed_errors", 250),)),
    Foreign("a bnx2 that loses", "bnx2", RING, (("rx_fw_discards", 400),),
            (("rx_missed_errors", 400),)),
    Foreign("a bnx2 whose chip is full", "bnx2", PORT, (("rx_discards", 400),),
            (("rx_missed_errors", 400),)),
    # mlx4, en_port.c: since Linux 6.10 rx_missed_errors repeats the sum of rxN_dropped
    Foreign("a ConnectX-3 that loses", "mlx4_en", RING,
            (("rx_dropped", 900), ("rx_missed_errors", 100), ("rx0_dropped", 100)),
            (("rx_missed_errors", 100), ("rx_dropped", 900))),
    Foreign("a ConnectX-3 whose port is full", "mlx4_en", PORT, (("rx_fifo_errors", 800),)),
    Foreign("an Armada 38x that loses", "mvneta", RING, (("rx_discard", 200),), cpus=2, arch="arm",
            more=no_power),
    Foreign("an Armada 38x whose FIFO is full", "mvneta", PORT, (("rx_overrun", 200),), cpus=2,
            arch="arm", more=no_power),
    Foreign("an Armada 8040 without buffers", "mvpp2", RING, (("rxq_0_packets_bm_drops", 500),),
            cpus=4, arch="arm", more=no_power),
    Foreign("a Zynq board that loses", "xaxienet", RING, (), (("rx_missed_errors", 40),), cpus=4,
            arch="arm", more=no_power),
    Foreign("an old EC2 guest without memory", "ixgbevf", MEMORY, (("alloc_rx_page_failed", 90),),
            cpus=2, more=no_power),
    # the driver counts no full ring; the link statistic mixes kinds
    Foreign("an old EC2 guest that drops", "ixgbevf", UNKNOWN, (), (("rx_dropped", 900),), cpus=2,
            more=no_power),
    Foreign("a 2.5 Gbit/s port that loses", "igc", RING, (("rx_missed_errors", 300),),
            (("rx_missed_errors", 300),), cpus=4, more=_old),
)  # fmt: skip
