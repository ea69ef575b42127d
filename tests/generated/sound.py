"""Sound hosts of every common kind, drawn from realistic ranges."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from generated.draw import bare, card, finish
from generated.model import Host, Port


def host(kind: str, seed: str, profile: str = "") -> Host:
    """A sound host of this kind; the same seed gives the same host."""
    draw = Random(f"{kind} {seed}")
    made = KINDS[kind](draw, seed, kind)
    made.profile = profile or made.profile
    finish(draw, made)
    return made


def _metal(draw: Random, seed: str, kind: str, *, nodes: int = 0, least: int = 4) -> Host:
    nodes = nodes or draw.choice((1, 2, 2, 4))
    cpus = draw.choice([n for n in (4, 8, 16, 32, 64, 96, 128) if n >= max(least, 4 * nodes)])
    made = bare(draw, seed, kind, cpus, nodes=nodes, smt=cpus >= 16 and draw.random() < 0.6,
                 memory=draw.choice((32, 128, 512)) << 20)  # fmt: skip
    made.governor = draw.choice((None, "performance", "schedutil"))
    made.idle = draw.choice((None, draw.uniform(0.1, 0.7)))
    return made


def _cloud(driver: str, vendor: str, product: str) -> Callable[[Random, str, str], Host]:
    def made(draw: Random, seed: str, kind: str) -> Host:
        cpus = draw.choice((2, 4, 8, 16, 32, 64))
        guest = bare(draw, seed, kind, cpus, smt=cpus > 2, vendor=vendor, product=product)
        port = card(draw, guest, driver, "eth0" if driver == "virtio_net" else "ens5",
                    queues=0 if driver != "virtio_net" else min(16, guest.half))  # fmt: skip
        if driver == "ena":
            port.mtu = draw.choice((1500, 9001))
        return guest

    return made


def _netvsc(draw: Random, seed: str, kind: str) -> Host:
    cpus = draw.choice((4, 8, 16, 64))
    guest = bare(draw, seed, kind, cpus, smt=True, vendor="Microsoft Corporation",
                  product="Virtual Machine")  # fmt: skip
    lower = card(draw, guest, "mana", "enP30832s1")
    upper = card(draw, guest, "hv_netvsc", "eth0", queues=lower.queues)
    lower.master = "eth0"
    for name in ("rx_packets", "tx_packets", "rx_size", "tx_size"):
        setattr(upper, name, getattr(lower, name))
    upper.stats = {"vf_rx_packets": upper.rx_packets, "vf_tx_packets": upper.tx_packets}
    for n in range(upper.queues):
        upper.stats[f"rx_queue_{n}_packets"] = upper.stats[f"tx_queue_{n}_packets"] = 0.0
    upper.cpus = []  # its packets are counted with the VF, whose interrupts take them
    guest.ports.reverse()
    return guest


def _laptop(draw: Random, seed: str, kind: str) -> Host:
    made = bare(draw, seed, kind, draw.choice((4, 8, 12, 16)), smt=True, memory=16 << 20)
    made.governor, made.clock = "powersave", (1_400_000, 400_000, 4_700_000)
    made.scaling = "intel_pstate"
    made.idle = 0.8
    wireless = card(draw, made, "iwlwifi", "wlp2s0", load=0.002)
    wireless.qdisc = "noqueue"
    made.files["/sys/class/net/wlp2s0/phy80211/name"] = "phy0\n"
    made.files["/sys/class/net/wlp2s0/uevent"] = "DEVTYPE=wlan\nINTERFACE=wlp2s0\nIFINDEX=2\n"
    made.counted["/proc/net/wireless"] = wireless_text(draw.randrange(-74, -40)), 0.05
    wired = card(draw, made, "r8169", "enp3s0", load=0.0)
    wired.carrier = False
    return made


def wireless_text(level: int) -> str:
    """/proc/net/wireless (net/wireless/wext-proc.c) at this signal, for a count of lost frames."""
    first = "Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE"
    second = " face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22"
    link = max(0, min(70, level + 110))
    row = f"wlp2s0: 0000   {link}.  {level}.  -256        0      0      0 {{0}}      0        0"
    return f"{first}\n{second}\n{row}\n"


def _kubernetes(draw: Random, seed: str, kind: str) -> Host:
    made = _metal(draw, seed, kind, nodes=draw.choice((1, 2)), least=16)
    driver = draw.choice(("ice", "mlx5_core", "i40e", "bnxt_en"))
    port = card(draw, made, driver, "ens1f0", load=0.1, most=32)
    port.features = {**(port.features or {}), "tx-udp_tnl-segmentation": "on"}
    bridge = Port("cni0", kind="bridge", driver="", bus="", mtu=1450, qdisc="noqueue",
                  rx_packets=4e4, tx_packets=4e4)  # fmt: skip
    overlay = Port("flannel.1", kind="vxlan", bus="", mtu=1450, qdisc="noqueue", rx_packets=2e4,
                   tx_packets=2e4, address="10.244.0.0")  # fmt: skip
    made.ports += [bridge, overlay]
    for n in range(80):
        made.ports.append(Port(
            f"veth{n:04x}", kind="veth", bus="", mtu=1450, qdisc="noqueue", master="cni0",
            rx_packets=draw.uniform(0, 400), tx_packets=draw.uniform(0, 400), namespace=True,
        ))  # fmt: skip
    most = draw.choice((131072, 262144, 1048576))
    made.conntrack = {"count": most * draw.uniform(0.05, 0.3), "max": most, "found": 10}
    made.sysctls |= {"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": "1",
                     "net.netfilter.nf_conntrack_max": str(most)}  # fmt: skip
    made.snmp["Ip.ForwDatagrams"] = 2e4
    return made


def _router(draw: Random, seed: str, kind: str) -> Host:
    made = _metal(draw, seed, kind, nodes=1, least=8)
    driver = draw.choice(("ixgbe", "i40e", "ice", "igb"))
    for name in ("wan0", "lan0"):
        port = card(draw, made, driver, name, load=0.15, most=16)
        if port.features and "rx-lro" in port.features:
            port.features["rx-lro"] = "off"
    most = draw.choice((65536, 262144, 1048576))
    made.conntrack = {"count": most * draw.uniform(0.1, 0.4), "max": most, "found": 40}
    made.sysctls |= {"net.ipv4.ip_forward": "1", "net.netfilter.nf_conntrack_max": str(most)}
    made.snmp["Ip.ForwDatagrams"] = made.ports[0].rx_packets
    return made


def _storage(draw: Random, seed: str, kind: str) -> Host:
    made = _metal(draw, seed, kind, nodes=draw.choice((1, 2)), least=16)
    driver = draw.choice(("mlx5_core", "i40e", "ice", "bnxt_en"))
    legs = [card(draw, made, driver, name, load=0.2, most=16) for name in ("ens1f0", "ens1f1")]
    legs[1].speed, legs[1].modes, legs[1].peer_modes = legs[0].speed, legs[0].modes, legs[0].modes
    legs[1].pcie = legs[0].pcie
    for function, leg in enumerate(legs):
        leg.function = function
        leg.master, leg.mtu, leg.rx_size, leg.tx_size = "bond0", 9000, 4000, 4000
        packets = (leg.speed or 0) * 1e6 / 8 / 4000 * draw.uniform(0.05, 0.3)
        leg.rx_packets = leg.tx_packets = min(packets, 60_000 * leg.queues)
    packets = sum(leg.rx_packets for leg in legs)
    made.ports += [
        Port(
            "bond0",
            kind="bond",
            bus="",
            mtu=9000,
            qdisc="noqueue",
            rx_packets=packets,
            tx_packets=packets,
            rx_size=4000,
            tx_size=4000,
            speed=2 * (legs[0].speed or 0),
        ),
        Port(
            "bond0.20",
            kind="vlan",
            vlan=20,
            below="bond0",
            bus="",
            mtu=9000,
            qdisc="noqueue",
            rx_packets=packets,
            tx_packets=packets,
            rx_size=4000,
            tx_size=4000,
        ),
    ]
    made.files["/proc/net/bonding/"] = "bond0\n"
    made.files["/proc/net/bonding/bond0"] = bonding(made)
    return made


def bonding(made: Host, partner: str = "74:83:ef:00:00:01", apart: str = "") -> str:
    """/proc/net/bonding of an 802.3ad bond (bond_procfs.c); port `apart` has its own aggregator."""
    legs = [port for port in made.ports if port.master == "bond0"]
    rows = ["Ethernet Channel Bonding Driver: v5.15.0", "",
            "Bonding Mode: IEEE 802.3ad Dynamic link aggregation",
            "Transmit Hash Policy: layer3+4 (1)", "MII Status: up",
            "MII Polling Interval (ms): 100", "", "802.3ad info", "LACP active: on",
            "LACP rate: fast", "Active Aggregator Info:", "\tAggregator ID: 1",
            f"\tNumber of ports: {sum(leg.carrier for leg in legs)}",
            f"\tPartner Mac Address: {partner}"]  # fmt: skip
    for leg in legs:
        rows += ["", f"Slave Interface: {leg.name}",
                 f"MII Status: {'up' if leg.carrier else 'down'}", f"Speed: {leg.speed} Mbps",
                 "Duplex: full", "Link Failure Count: 0",
                 f"Aggregator ID: {1 + (leg.name == apart)}"]  # fmt: skip
    return "\n".join(rows) + "\n"


def _hundred(draw: Random, seed: str, kind: str) -> Host:
    made = _metal(draw, seed, kind, nodes=2, least=64)
    port = card(draw, made, draw.choice(("mlx5_core", "ice")), "ens2np0", load=0.25, node=1)
    port.speed, port.mtu = 100000, draw.choice((1500, 9000))
    port.modes = port.peer_modes = ("100000baseCR4/Full", "FIBRE", "Autoneg")
    return made


def _hypervisor(draw: Random, seed: str, kind: str) -> Host:
    made = _metal(draw, seed, kind, nodes=draw.choice((1, 2)), least=16)
    port = card(draw, made, draw.choice(("i40e", "ixgbe", "bnxt_en")), "ens1f0", load=0.1, most=32)
    port.master, port.features = "br0", {**(port.features or {}), "rx-lro": "off"}
    made.ports.append(Port("br0", kind="bridge", bus="", qdisc="noqueue", rx_packets=2e4,
                           tx_packets=2e4))  # fmt: skip
    for n in range(draw.randrange(3, 30)):
        made.ports.append(Port(f"vnet{n}", kind="tun", driver="", bus="", master="br0",
                               qdisc="fq_codel", rx_packets=900, tx_packets=900))  # fmt: skip
    return made


def _container(draw: Random, seed: str, kind: str) -> Host:
    made = bare(draw, seed, kind, draw.choice((2, 8, 32)), admin=False, container=True)
    for name in [name for name in made.sysctls if name.startswith("net.core.")]:
        if name != "net.core.somaxconn":
            del made.sysctls[name]
    made.ports.append(
        Port("eth0", driver="veth", kind="veth", bus="", rx_packets=900, tx_packets=900,
             qdisc="noqueue", namespace=True, speed=10000)
    )  # fmt: skip
    made.absent |= {"statistics", "cpufreq", "cpuidle", "pause", "coalesce", "rings"}
    return made


def _raspberry(draw: Random, seed: str, kind: str) -> Host:
    made = bare(draw, seed, kind, 4, arch="arm", memory=draw.choice((1, 4, 8)) << 20)
    made.scaling, made.governor, made.clock = (
        "cpufreq-dt",
        "ondemand",
        (600_000, 600_000, 1_800_000),
    )
    port = card(draw, made, "bcmgenet", "eth0", load=0.05)
    port.qdisc = "mq"
    return made


def _wsl(draw: Random, seed: str, kind: str) -> Host:
    made = bare(draw, seed, kind, draw.choice((4, 8, 16)), smt=True,
                 vendor="Microsoft Corporation", product="Virtual Machine")  # fmt: skip
    made.kernel, made.release = (5, 15), "5.15.153.1-microsoft-standard-WSL2"
    card(draw, made, "hv_netvsc", "eth0", queues=4, load=0.001)
    made.absent |= {"cpufreq", "cpuidle"}
    return made


def _idle(draw: Random, seed: str, kind: str) -> Host:
    made = _metal(draw, seed, kind, nodes=draw.choice((1, 2)))
    driver = draw.choice(("igb", "ixgbe", "tg3", "e1000e"))
    port = card(draw, made, driver, "eno1", load=0.0)
    port.rx_packets, port.tx_packets = draw.uniform(2, 40), draw.uniform(2, 40)
    for flow in made.flows:
        flow.tx = flow.rx = 20.0
    return made


KINDS: Final[Mapping[str, Callable[[Random, str, str], Host]]] = {
    "ena": _cloud("ena", "Amazon EC2", "c6i.4xlarge"),
    "gve": _cloud("gve", "Google", "Google Compute Engine"),
    "virtio": _cloud("virtio_net", "QEMU", "Standard PC (Q35 + ICH9, 2009)"),
    "netvsc-mana": _netvsc, "laptop": _laptop, "kubernetes": _kubernetes, "router": _router,
    "storage": _storage, "hundred-gigabit": _hundred, "hypervisor": _hypervisor,
    "container": _container, "raspberry-pi": _raspberry, "wsl2": _wsl, "idle-server": _idle,
}  # fmt: skip
