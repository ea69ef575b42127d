"""Faults of listening programs and of tunnels: each function changes a sound host."""

from random import Random

from generated.model import Flow, Host, Listener, Port
from generated.plant_nic import busy_port
from generated.sound import bonding


def out_of_files(host: Host, draw: Random) -> None:
    """The program has as many files open as it may, and connections wait."""
    listener = host.listeners[0]
    process = next(one for one in host.processes if listener.inode in one.inodes)
    process.inodes += range(60000, 60000 + draw.choice((20, 200)))
    process.nofile = len(process.inodes)
    listener.waiting = draw.randrange(5, 120)


def one_worker_stuck(host: Host, draw: Random) -> None:
    """One of several sockets of a port is not served."""
    first = host.listeners[0]
    first.waiting, first.backlog = draw.randrange(200, 500), 511
    process = next(one for one in host.processes if first.inode in one.inodes)
    for n in range(draw.choice((1, 3))):
        host.listeners.append(Listener(first.port, draw.randrange(2), 511, 61000 + n))
        process.inodes.append(61000 + n)


def ports_open(host: Host, draw: Random) -> None:
    """Open connections to one service hold nearly every port of a short range."""
    host.sysctls["net.ipv4.ip_local_port_range"] = "40000\t40199"
    process = next(one for one in host.processes if one.inodes)
    for number in range(draw.randrange(182, 200)):
        host.flows.append(Flow("10.1.1.1", 40000 + number, 5432, tx=0.0, rx=0.0,
                               pid=process.pid))  # fmt: skip


def tunnel_mtu(host: Host, draw: Random) -> None:
    """Full packets of the overlay do not fit into those of the port."""
    overlay = host.port("flannel.1")
    overlay.mtu = host.main.mtu
    overlay.tx_packets = draw.uniform(2e3, 3e4)
    host.snmp |= {"Ip.FragCreates": overlay.tx_packets * 2}


def tunnel_offload(host: Host, draw: Random) -> None:
    """The card could segment inside the overlay and may not."""
    host.needs.add("features")
    host.main.features = {**(host.main.features or {}), "tx-udp_tnl-segmentation": "off"}
    host.port("flannel.1").tx_packets = draw.uniform(2e3, 3e4)


def wireguard(host: Host, draw: Random) -> None:
    """One peer sends more than one core delivers."""
    one_core(host, draw, "wg0", "wireguard", 1420, (1e5, 2e5), 3e4, "10.200.0.1")


def one_core(
    host: Host, draw: Random, name: str, kind: str, mtu: int, rx: tuple[float, float], tx: float,
    address: str,
) -> None:  # fmt: skip
    """A tunnel of which one core has all packets; `rx` is the range of packets/s."""
    index = max(port.index for port in host.ports) + 1
    host.ports.append(Port(name, kind=kind, bus="", mtu=mtu, index=index, type=65534,
                           rx_packets=draw.uniform(*rx), tx_packets=tx,
                           qdisc="noqueue", address=address))  # fmt: skip
    host.softirq[host.cpus - 1] = draw.uniform(0.92, 0.97)


def waits(host: Host, draw: Random) -> None:
    """The program that reads shares its core with others, while the rest of the host idles."""
    process = next(one for one in host.processes if one.inodes)
    process.waited, process.user = draw.uniform(0.35, 0.6), 0.3
    host.user[process.cpu] = 0.6


def bond_alone(host: Host, draw: Random) -> None:
    """The switch does not answer LACP, or has the two ports in two groups."""
    legs = [port for port in host.ports if port.master == "bond0"]
    if draw.random() < 0.5:
        text = bonding(host, partner="00:00:00:00:00:00", apart=legs[1].name)
    else:
        text = bonding(host, apart=legs[1].name)
    host.files["/proc/net/bonding/bond0"] = text
    legs[1].rx_packets = legs[1].tx_packets = 3.0


def bond_uneven(host: Host, draw: Random) -> None:
    """One port of the bond sends nearly all, by the hash of layer 2."""
    legs = [port for port in host.ports if port.master == "bond0"]
    text = host.files["/proc/net/bonding/bond0"].replace("layer3+4 (1)", "layer2 (0)")
    host.files["/proc/net/bonding/bond0"] = text
    packets = (legs[0].speed or 0) * 1e6 / 8 / 4000
    legs[0].tx_packets, legs[1].tx_packets = packets * draw.uniform(0.6, 0.9), packets * 0.01


def isolated(host: Host, draw: Random) -> None:
    """CPUs for one program take interrupts of the card."""
    port = busy_port(host, 0.2)
    cpus = sorted(set(port.cpus))[:2]
    host.files["/sys/devices/system/cpu/isolated"] = ",".join(map(str, cpus)) + "\n"
    host.files["/sys/devices/system/cpu/nohz_full"] = "\n"


def one_network(host: Host, draw: Random) -> None:
    """Two ports have addresses of one network; what one receives is answered by the other."""
    one, other = host.port("wan0"), host.port("lan0")
    one.address, other.address = "10.20.0.5", "10.20.0.6"
    other.rx_packets, other.tx_packets = draw.uniform(2e3, 4e4), draw.uniform(0, 5)
    one.tx_packets = max(one.tx_packets, other.rx_packets)
    one.rx_packets = other.tx_packets  # what is forwarded comes by the other


def slot_shared(host: Host, draw: Random) -> None:
    """Two ports of 25 Gb/s in eight lanes of the second generation, 32 Gb/s."""
    host.needs.add("pci")
    legs = [port for port in host.ports if port.master == "bond0"]
    for port in legs:
        port.pcie = ("5.0 GT/s PCIe", 8, "5.0 GT/s PCIe", 8)
        port.speed = 25000
        port.modes = port.peer_modes = ("25000baseCR/Full", "FIBRE")
        port.rx_packets = draw.uniform(14.5e9, 15.5e9) / 8 / port.rx_size


def bus_errors(host: Host, draw: Random) -> None:
    """The slot repeats transfers."""
    host.needs.add("pci")
    name = f"/sys/class/net/{host.main.name}/device/aer_dev_"
    rate = draw.uniform(5, 5000)
    host.counted[f"{name}correctable"] = "RxErr {0}\nBadTLP 0\nTOTAL_ERR_COR {0}\n", rate
    host.files[f"{name}fatal"] = "Undefined 0\nTOTAL_ERR_FATAL 0\n"
    host.files[f"{name}nonfatal"] = "Undefined 0\nTOTAL_ERR_NONFATAL 0\n"


def forwarding(host: Host, draw: Random) -> None:
    """A router whose core is full."""
    port = busy_port(host, 0.4)
    port.rx_packets = max(port.rx_packets, 80_000.0)
    for cpu in set(port.cpus):
        host.softirq[cpu] = draw.uniform(0.9, 0.97)
    host.snmp["Ip.ForwDatagrams"] = port.rx_packets * 0.9
    for other in (one for one in host.ports if one is not port and one.name != "lo"):
        other.tx_packets = max(other.tx_packets, port.rx_packets * 0.9)
    host.snmp["Ip.InReceives"] += port.rx_packets * 0.9


def ipsec(host: Host, draw: Random) -> None:
    """Packets of a tunnel arrive behind the replay window, or under a key that was replaced."""
    name = draw.choice(("XfrmInStateSeqError", "XfrmInStateProtoError", "XfrmInNoStates"))
    host.xfrm = {**host.xfrm, name: draw.uniform(30, 5000)}


def veth_long(host: Host, draw: Random) -> None:
    """The other end of a veth pair sends frames above the MTU of this end."""
    port = draw.choice([port for port in host.ports if port.kind == "veth"])
    port.rx_packets = draw.uniform(0, 200)
    port.link["rx_dropped"] = port.rx_packets * draw.uniform(1.5, 9) + draw.uniform(30, 900)
