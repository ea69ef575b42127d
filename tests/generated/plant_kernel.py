"""Faults between card and socket: checksums, filters, the bus, IPsec, programs behind TUN."""

from random import Random

from generated.model import Host, Port
from generated.plant_nic import busy_port, lose
from generated.plant_stack import one_core


def checksums(host: Host, draw: Random) -> None:
    """A sender computes checksums of TCP or UDP wrongly."""
    rate = draw.uniform(10, 900)
    if draw.random() < 0.5:
        host.snmp |= {"Tcp.InCsumErrors": rate, "Tcp.InErrs": rate}
    else:
        host.snmp |= {"Udp.InCsumErrors": rate, "Udp.InErrors": rate}


def refused(host: Host, draw: Random) -> None:
    """A filter of a socket refuses its datagrams."""
    host.snmp |= {"Udp.InErrors": draw.uniform(100, 9000), "Udp.InDatagrams": 900.0}


def bus_stalls(host: Host, draw: Random) -> None:
    """The bus takes too slowly what the card received."""
    port = busy_port(host)
    lose(host, port, draw.choice(("bus", "bus stalls")), draw.uniform(2, 900))
    if draw.random() < 0.5:
        lose(host, port, "port", draw.uniform(10, 900))


def ipsec_core(host: Host, draw: Random) -> None:
    """One tunnel brings more than a core decrypts."""
    one_core(host, draw, "ipsec0", "xfrm", 1400, (3e4, 2e5), 9e3, "10.201.0.1")


def long_chain(host: Host, draw: Random) -> None:
    """Every packet is compared with hundreds of rules."""
    port = busy_port(host, 0.2)
    for cpu in set(port.cpus):
        host.softirq[cpu] = draw.uniform(0.7, 0.88)
    host.firewall = [*host.firewall, *[(True, 0.0)] * draw.randrange(600, 1500)]


def tun_slow(host: Host, draw: Random) -> None:
    """A VPN program does not read what the kernel hands to it."""
    index = max(port.index for port in host.ports) + 1
    rate = draw.uniform(900, 3e4)
    host.ports.append(Port("tun9", driver="tun", kind="tun", bus="", mtu=1500, index=index,
                           type=65534, rx_packets=500, tx_packets=rate, qdisc="fq_codel",
                           link={"tx_dropped": rate * draw.uniform(0.02, 0.4)},
                           address="10.202.0.1"))  # fmt: skip


def unrouted(host: Host, draw: Random) -> None:
    """Packets for other hosts arrive, and this one forwards none of them."""
    name = draw.choice(("Ip.InAddrErrors", "IpExt.InNoRoutes"))
    host.snmp[name] = rate = draw.uniform(300, 9000)
    host.snmp["Ip.InReceives"] += rate


def vanishing(host: Host, draw: Random) -> None:
    """A rule without a counter drops a part of what arrives."""
    host.snmp["Ip.InReceives"] += draw.uniform(2000, 9000)
    host.vanishing = draw.uniform(0.05, 0.5)


def throttled(host: Host, draw: Random) -> None:
    """The program's control group is out of quota in most periods."""
    process = next(one for one in host.processes if one.inodes)
    process.cgroup = "/system.slice/app.service"
    host.quotas = {process.cgroup: (draw.choice((0.5, 1.0, 2.0)), draw.uniform(0.4, 0.9))}


def socket_memory(host: Host, draw: Random) -> None:
    """The cgroup of a program is at its memory limit, and its sockets are held small."""
    process = next(one for one in host.processes if one.inodes)
    process.cgroup = "/system.slice/app.service"
    names = ("low", "high", "max", "oom", "oom_kill", "oom_group_kill")
    text = "".join(f"{name} {draw.randrange(90)}\n" for name in names)
    host.counted["/sys/fs/cgroup/system.slice/app.service/memory.events"] = (
        f"{text}sock_throttled {{0}}\n", draw.uniform(20, 900),
    )  # fmt: skip


def unreachable(host: Host, draw: Random) -> None:
    """A program sends datagrams to a port, and the other host answers each by ICMP."""
    host.snmp["Udp.OutDatagrams"] = rate = draw.uniform(50, 5000)
    host.snmp["Icmp.InDestUnreachs"] = rate * draw.uniform(0.3, 0.9)


def deferred(host: Host, draw: Random) -> None:
    """The queue is polled by a timer of milliseconds instead of interrupts."""
    folder = f"/sys/class/net/{host.main.name}"
    host.files[f"{folder}/napi_defer_hard_irqs"] = f"{draw.randrange(1, 200)}\n"
    host.files[f"{folder}/gro_flush_timeout"] = f"{draw.randrange(2_000_000, 50_000_000)}\n"
    host.main.rx_packets = draw.uniform(500, 15_000)


def broadcasts(host: Host, draw: Random) -> None:
    """A loop between switches, or a device that repeats itself."""
    host.snmp["Udp.IgnoredMulti"] = rate = draw.uniform(3000, 50000)
    host.snmp["Ip.InReceives"] = rate * draw.uniform(1.1, 4)
