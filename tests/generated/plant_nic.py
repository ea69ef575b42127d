"""Faults of ports, queues and interrupts: each function changes a sound host as the fault would."""

from collections.abc import Callable
from random import Random
from typing import Final

from generated.cards import CARDS
from generated.model import Host, Port, spread
from generated.sound import bonding

Plant = Callable[[Host, Random], None]
# faults that only the statistics of this driver show
DRIVERS: Final = {"xdp-redirect-errors": "mlx5_core", "tx-ring-full": "mlx5_core",
                  "bus-stalls": "mlx5_core"}  # fmt: skip
METAL: Final = ("hundred-gigabit", "storage", "kubernetes", "hypervisor", "router")


def lose(host: Host, port: Port, loss: str, rate: float) -> bool:
    """Count a loss in the driver's statistic for it; False: this driver has none."""
    name = CARDS[port.driver].lost.get(loss)
    host.needs.add("statistics")
    if not name:
        return False
    if "{n}" not in name:
        port.stats[name] = rate
    else:
        for n, share in enumerate(port.shares):
            port.stats[name.format(n=n)] = rate * share
    return True


def busy_port(host: Host, share: float = 0.5) -> Port:
    """The main port at a share of what its link and its cores carry."""
    port = host.main
    cores = 180_000.0 * port.queues
    link = (port.speed or 10000) * 1e6 / 8 / port.rx_size
    port.rx_packets = min(cores, link * share)
    return port


def _ring(host: Host, draw: Random, *, most: bool) -> None:
    port = busy_port(host)
    host.needs.add("rings")
    rx, rx_max, tx, tx_max = port.ring or (256, 4096, 256, 4096)
    port.ring = (rx_max, rx_max, tx, tx_max) if most else (min(rx, 512), rx_max, tx, tx_max)
    rate = port.rx_packets * draw.uniform(0.002, 0.03)
    if port.driver == "i40e" and host.kernel >= (6, 7):  # commit of Linux 6.7: GLV_RDPC is missed
        port.stats["rx_missed_errors"] = rate
    elif not lose(host, port, "ring", rate):
        port.stats["rx_dropped"] = rate
    port.link["rx_missed_errors"] = rate


def ring_full(host: Host, draw: Random) -> None:
    """The receive ring is short and overruns."""
    _ring(host, draw, most=False)


def ring_full_at_maximum(host: Host, draw: Random) -> None:
    """The ring is as long as can be and overruns."""
    _ring(host, draw, most=True)


def port_buffer_full(host: Host, draw: Random) -> None:
    """The card drops before its rings."""
    port = busy_port(host)
    rate = port.rx_packets * draw.uniform(0.002, 0.02)
    lose(host, port, "port", rate)
    port.link["rx_missed_errors"] = rate


def no_memory(host: Host, draw: Random) -> None:
    """Receive buffers cannot be allocated."""
    lose(host, busy_port(host), "memory", draw.uniform(200, 5000))


def one_core(host: Host, draw: Random) -> None:
    """Every interrupt runs on CPU 0, which is full of softirq."""
    port = busy_port(host)
    port.cpus, port.allowed = [0] * port.queues, f"0-{host.cpus - 1}"
    port.node = host.node(0)
    host.softirq[0] = draw.uniform(0.7, 0.95)
    host.squeezed[0] = draw.uniform(5, 90)


def hot_queue(host: Host, draw: Random) -> None:
    """One queue takes nearly all packets."""
    port = busy_port(host)
    port.rx_packets = draw.uniform(2e5, 5e5)
    rest = 0.06 / max(1, port.queues - 1)
    port.shares = [rest] * port.queues
    port.shares[draw.randrange(port.queues)] = 0.94
    hot = port.cpus[port.shares.index(0.94)]
    host.softirq[hot] = draw.uniform(0.7, 0.9)


def too_few(host: Host, draw: Random) -> None:
    """One channel is on of many that the card offers."""
    port = host.main
    host.needs.add("channels")
    most = max(4, port.channels[1] if port.channels else 8)
    port.queues, port.channels, port.shares = 1, (1, most), [1.0]
    port.cpus = _near(host, port)[:1]
    port.rx_packets = draw.uniform(3e5, 6e5)
    host.softirq[port.cpus[0]] = draw.uniform(0.75, 0.95)
    port.qdisc = "fq_codel"


def single_no_rps(host: Host, draw: Random) -> None:
    """A card of one queue, whose core is full."""
    port = host.main
    port.queues, port.shares, port.cpus = 1, [1.0], _near(host, port)[:1]
    port.channels, port.qdisc = (1, 1), "fq_codel"
    port.rx_packets = draw.uniform(2e5, 5e5)
    host.softirq[port.cpus[0]] = draw.uniform(0.8, 0.95)


def _near(host: Host, port: Port) -> list[int]:
    """The CPUs of its queues, of its own node where there are some: no second fault."""
    return [cpu for cpu in port.cpus if host.node(cpu) == port.node] or [host.on_node(port.node)[0]]


def remote_node(host: Host, draw: Random) -> None:
    """The interrupts of a card on node 1 run on node 0."""
    port = busy_port(host)
    port.node = 1
    here = [cpu for cpu in host.on_node(0) if cpu < host.half]
    port.cpus = [here[n % len(here)] for n in range(port.queues)]


def feature_off(*names: str, receives: bool = False) -> Plant:
    """These offloads were switched off on a port that works."""

    def plant(host: Host, draw: Random) -> None:
        port = busy_port(host, 0.3)
        if not receives:
            port.rx_packets, port.tx_packets = port.rx_packets / 3, port.rx_packets
        host.needs.add("features")
        for name in names:
            if port.features and port.features.get(name) == "on":
                port.features[name] = "off"

    return plant


def frames_too_long(host: Host, draw: Random) -> None:
    """Jumbo frames arrive at a port whose MTU is 1500."""
    port = host.main
    port.mtu, rate = 1500, draw.uniform(50, 2000)
    lose(host, port, "long", rate)
    port.link |= {"rx_length_errors": rate, "rx_errors": rate}


def crc(host: Host, draw: Random) -> None:
    """A cable damages frames."""
    rate = draw.uniform(5, 400)
    port = host.main
    lose(host, port, "crc", rate)
    port.link |= {"rx_crc_errors": rate, "rx_errors": rate}


def fec(host: Host, draw: Random) -> None:
    """The FEC gives up on blocks."""
    host.needs.add("fec")
    host.main.fec = (draw.uniform(1e3, 1e6), draw.uniform(2, 60))


def link_slow(host: Host, draw: Random) -> None:
    """A gigabit link came up at 100 Mb/s although both ends offer more."""
    port = host.main
    host.needs.add("linkmodes")
    port.speed = {100000: 10000, 50000: 10000, 40000: 10000, 25000: 10000, 10000: 1000}.get(
        port.speed or 0, 100
    )
    for name in ("rx_packets", "tx_packets"):
        setattr(port, name, min(getattr(port, name), port.speed * 1e6 / 8 / 1500 * 0.6))


def half_duplex(host: Host, draw: Random) -> None:
    """The link runs half duplex."""
    port = host.main
    host.needs.add("linkmodes")
    port.speed, port.duplex = 100, 0
    port.rx_packets = port.tx_packets = draw.uniform(500, 2500)
    port.link |= {"collisions": draw.uniform(50, 400), "tx_window_errors": draw.uniform(1, 30)}


def flaps(host: Host, draw: Random) -> None:
    """The link goes down and up."""
    host.main.carrier_changes = draw.uniform(0.8, 3)


def pcie_narrow(host: Host, draw: Random) -> None:
    """A x16 card runs with fewer lanes than its link needs, near the limit."""
    port = host.main
    host.needs.add("pci")
    port.speed = 100000
    port.modes = port.peer_modes = ("100000baseCR4/Full", "FIBRE", "Autoneg")
    port.pcie = ("8.0 GT/s PCIe", 4, "16.0 GT/s PCIe", 16)
    port.rx_size = 1400
    port.rx_packets = 25e9 / 8 / 1400
    port.shares = spread(draw, port.queues)


def pause_received(host: Host, draw: Random) -> None:
    """The switch pauses this port."""
    port = host.main
    host.needs.add("pause")
    port.pause = {"autoneg": 0, "rx": 1, "tx": 1}
    lose(host, port, "pause_rx", draw.uniform(500, 2e4))


def pause_sent(host: Host, draw: Random) -> None:
    """The port pauses the switch: the host empties its ring too slowly."""
    port = busy_port(host)
    host.needs.add("pause")
    port.pause = {"autoneg": 0, "rx": 1, "tx": 1}
    lose(host, port, "pause_tx", draw.uniform(500, 2e4))


def pfc(host: Host, draw: Random) -> None:
    """Priority pause frames arrive by the thousand."""
    lose(host, host.main, "pfc", draw.uniform(1000, 2e4))


def bond_leg(host: Host, draw: Random) -> None:
    """One port of the bond has no carrier."""
    leg = next(port for port in host.ports if port.master == "bond0")
    leg.carrier, leg.rx_packets, leg.tx_packets = False, 0.0, 0.0
    host.files["/proc/net/bonding/bond0"] = bonding(host)


def coalesce_long(host: Host, draw: Random) -> None:
    """Interrupts wait a millisecond on a host for latency."""
    port = host.main
    host.needs.add("coalesce")
    port.coalesce = {**(port.coalesce or {}), "rx_usecs": draw.choice((250, 500, 1000))}
    if "use_adaptive_rx" in port.coalesce:
        port.coalesce |= {"use_adaptive_rx": 0, "use_adaptive_tx": 0}
    port.rx_packets = port.tx_packets = draw.uniform(2e3, 4e4)
    port.rx_size = port.tx_size = 120


def coalesce_off(host: Host, draw: Random) -> None:
    """Every packet interrupts, and the cores are full of it."""
    port = busy_port(host)
    host.needs.add("coalesce")
    port.coalesce = {**(port.coalesce or {}), "rx_usecs": 0, "rx_max_frames": 1}
    if "use_adaptive_rx" in port.coalesce:
        port.coalesce |= {"use_adaptive_rx": 0, "use_adaptive_tx": 0}
    port.queues = min(4, port.queues, len(_near(host, port)))
    port.channels = (port.queues, port.queues)
    port.shares, port.cpus = spread(draw, port.queues), _near(host, port)[: port.queues]
    port.rx_packets = 280_000.0 * port.queues
    port.interrupts = 240_000.0
    for cpu in port.cpus:
        host.softirq[cpu] = 0.5


def allowance(loss: str) -> Plant:
    """The provider drops what exceeds an allowance."""

    def plant(host: Host, draw: Random) -> None:
        lose(host, host.main, loss, draw.uniform(20, 4000))

    return plant


def virtio_drops(host: Host, draw: Random) -> None:
    """The driver drops received packets; virtnet_stats() adds them to rx_dropped of the link."""
    port = busy_port(host)
    rate = port.rx_packets * draw.uniform(0.002, 0.02)
    lose(host, port, "drops", rate)
    port.link["rx_dropped"] = port.link.get("rx_dropped", 0.0) + rate


def xdp_drops(host: Host, draw: Random) -> None:
    """An XDP filter drops on purpose."""
    port = busy_port(host, 0.2)
    port.xdp = draw.randrange(20, 400)
    rate = port.rx_packets * draw.uniform(0.1, 0.5)
    if port.driver == "virtio_net":
        for n, share in enumerate(port.shares):
            port.stats[f"rx{n}_xdp_drops"] = port.stats[f"rx{n}_drops"] = rate * share
    else:
        lose(host, port, "xdp", rate)


def xdp_errors(host: Host, draw: Random) -> None:
    """XDP_TX or XDP_REDIRECT finds its ring full."""
    port = busy_port(host, 0.2)
    port.xdp = 77
    lose(host, port, "xdp_tx", draw.uniform(200, 9000))


def xdp_generic(host: Host, draw: Random) -> None:
    """A program is attached above the driver."""
    port = busy_port(host, 0.3)
    port.xdp, port.xdp_mode = draw.randrange(20, 400), 2


def link_full(host: Host, draw: Random) -> None:
    """The link carries what it can."""
    port = host.main
    port.speed, port.rx_size = 1000, 1514
    port.modes = port.peer_modes = ("1000baseT/Full", "Autoneg", "TP")
    port.rx_packets = 1e9 / 8 / 1538


def tx_timeout(host: Host, draw: Random) -> None:
    """The watchdog resets a send queue."""
    host.main.tx_timeouts = draw.uniform(0.5, 1.5)


def tx_ring(host: Host, draw: Random) -> None:
    """The send ring is short and stops."""
    port = host.main
    host.needs.add("rings")
    rx, rx_max, _tx, tx_max = port.ring or (512, 4096, 512, 4096)
    port.ring = (rx, rx_max, 64, tx_max)
    port.tx_packets = 150_000.0 * port.queues
    lose(host, port, "tx", draw.uniform(2e3, 3e4))


def rps_needless(host: Host, draw: Random) -> None:
    """RPS over all cores on a card with a queue for each core of its node."""
    digits = f"{(1 << host.cpus) - 1:x}"
    digits = digits.rjust(-(-len(digits) // 8) * 8, "0")
    words = [digits[i : i + 8] for i in range(0, len(digits), 8)]
    port = host.main
    cores = [cpu for cpu in host.on_node(port.node) if cpu < host.half]
    port.cpus, port.queues, port.channels = cores, len(cores), (len(cores), len(cores))
    port.shares = spread(draw, port.queues)
    busy_port(host, 0.3).rps = ",".join(words).lstrip("0")


def qdisc(host: Host, draw: Random) -> None:
    """The queue of the port is at its limit and drops."""
    port = host.main
    port.qdisc, port.qdisc_drops = "fq_codel", draw.uniform(50, 3000)
    port.qdisc_backlog = 10240
    port.tx_packets = (port.speed or 10000) * 1e6 / 8 / 1500 * 0.95
    port.tx_size = 1500


def shaped(host: Host, draw: Random) -> None:
    """A token bucket far below the speed of the link is full."""
    port = host.main
    port.qdisc, port.tx_size = "tbf", 1514
    port.tx_packets = draw.uniform(2e3, 3e4)
    port.qdisc_rate, port.qdisc_backlog = port.tx_packets * 1514 * draw.uniform(1, 1.03), 60


def burst_small(host: Host, draw: Random) -> None:
    """The burst of a token bucket is too small for its rate, which is missed."""
    shaped(host, draw)
    host.main.qdisc_rate *= draw.uniform(1.2, 2.6)


def policed(host: Host, draw: Random) -> None:
    """A filter drops received packets above its rate."""
    port = busy_port(host, 0.1)
    port.policed = port.rx_packets * draw.uniform(0.005, 0.05)


def pause_one_way(host: Host, draw: Random) -> None:
    """This port sends no pause frames and its ring overruns."""
    _ring(host, draw, most=False)
    host.main.pause = {"autoneg": 0, "rx": 1, "tx": 0}
