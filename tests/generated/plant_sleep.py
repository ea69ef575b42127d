"""Faults of links that sleep while idle: Energy Efficient Ethernet and ASPM of PCI Express."""

from random import Random

from generated.model import Host, Port
from generated.plant_nic import busy_port, lose


def eee_latency(host: Host, draw: Random) -> None:
    """Both ends of the link agreed on EEE, and requests come one by one."""
    port = _chatty(host, draw)
    host.needs.add("eee")
    port.eee = (True, True)


def eee_drops(host: Host, draw: Random) -> None:
    """The link with EEE went down once during the look, and often before."""
    port = host.main
    host.needs.add("eee")
    port.eee = (draw.random() < 0.8, True)
    port.carrier_before = draw.randrange(24, 400)
    port.carrier_changes = draw.uniform(0.12, 0.3)


def aspm_latency(host: Host, draw: Random) -> None:
    """The card sleeps on the bus between requests."""
    port = _chatty(host, draw)
    host.needs |= {"pci", "aspm"}
    port.aspm = True


def aspm_overrun(host: Host, draw: Random) -> None:
    """The card has no room for packets at a tenth of its link: the bus wakes too slowly."""
    port = busy_port(host, draw.uniform(0.05, 0.2))
    port.rx_size = 1400
    host.needs |= {"pci", "aspm"}
    port.aspm = True
    rate = draw.uniform(20, 900)
    port.link["rx_missed_errors"] = rate
    loss = draw.choice(("ring", "pause_tx"))
    lose(host, port, loss, rate)


def _chatty(host: Host, draw: Random) -> Port:
    """Requests and replies of small packets."""
    port = host.main
    port.rx_packets = port.tx_packets = draw.uniform(500, 2e4)
    port.rx_size = port.tx_size = 120
    return port
