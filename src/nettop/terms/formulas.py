"""Limits by arithmetic: packet rates, goodput, windows, rings, interrupts, buses.

Rates are bit/s, sizes bytes, times seconds unless the name says otherwise. A frame on the wire is
8 bytes of preamble and start, 14 of header (4 more for each VLAN tag), the payload (46 at least),
4 of check sequence (FCS) and 12 of gap: IEEE 802.3 clauses 3 and 4.
"""

from math import ceil, log2, sqrt
from typing import Final

PREAMBLE: Final = 8
HEADER: Final = 14
TAG: Final = 4
FCS: Final = 4
GAP: Final = 12
MIN_PAYLOAD: Final = 46
IPV4: Final = 20
IPV6: Final = 40
TCP: Final = 20
UDP: Final = 8
TIMESTAMPS: Final = 12  # the TCP option with its padding
MATHIS: Final = 1.22  # of MSS / RTT / sqrt(loss): an ACK for each segment, losses at random
ON_WIRE: Final = PREAMBLE + GAP  # byte times in addition to the frame
AROUND_PAYLOAD: Final = PREAMBLE + HEADER + FCS + GAP


def wire_bytes(payload: float, vlans: int = 0) -> float:
    """Byte times that an Ethernet frame with this payload (an IP packet) takes on the wire."""
    return max(MIN_PAYLOAD, payload) + AROUND_PAYLOAD + TAG * vlans


def frame_bytes(mtu: int, vlans: int = 0) -> int:
    """The largest frame at this MTU: header, tags, payload and FCS."""
    return max(MIN_PAYLOAD, mtu) + HEADER + FCS + TAG * vlans


def max_packets(rate: float, frame: float) -> float:
    """Frames per second of `frame` bytes (FCS included) that fill a link of `rate`."""
    return rate / (8 * (frame + ON_WIRE))


def mss(mtu: int, *, ipv6: bool = False, timestamps: bool = True) -> int:
    """TCP payload of a full packet."""
    return mtu - (IPV6 if ipv6 else IPV4) - TCP - (TIMESTAMPS if timestamps else 0)


def tcp_goodput(
    rate: float, mtu: int, *, ipv6: bool = False, timestamps: bool = True, vlans: int = 0
) -> float:
    """Payload bits per second of full-sized TCP packets that fill the link."""
    payload = mss(mtu, ipv6=ipv6, timestamps=timestamps)
    return rate * payload / wire_bytes(mtu, vlans)


def udp_payload(mtu: int, *, ipv6: bool = False) -> int:
    """The largest UDP datagram that is not fragmented."""
    return mtu - (IPV6 if ipv6 else IPV4) - UDP


def udp_goodput(rate: float, mtu: int, *, ipv6: bool = False, vlans: int = 0) -> float:
    """Payload bits per second of full-sized UDP packets that fill the link."""
    return rate * udp_payload(mtu, ipv6=ipv6) / wire_bytes(mtu, vlans)


def udp_wire_bytes(payload: int, *, ipv6: bool = False, vlans: int = 0) -> float:
    """Byte times of one unfragmented datagram with `payload` bytes of user data."""
    return wire_bytes(payload + UDP + (IPV6 if ipv6 else IPV4), vlans)


def wire_seconds(wire: float, rate: float) -> float:
    """The duration of `wire` byte times at `rate`: the minimum spacing of such packets."""
    return 8 * wire / rate


def counted_to_wire(bytes_per_s: float, packets_per_s: float, *, fcs: bool = False) -> float:
    """Bit/s on the wire from interface counters; `fcs`: this driver counts the check sequence.

    Wrong for interfaces that count super-packets (veth, virtio, loopback): one packet may have
    64 KiB and no framing.
    """
    return 8 * (bytes_per_s + (ON_WIRE if fcs else ON_WIRE + FCS) * packets_per_s)


def counted_to_payload(
    bytes_per_s: float, packets_per_s: float, *, ipv6: bool = False, fcs: bool = False
) -> float:
    """Bit/s of TCP payload if every packet is TCP with timestamps; at least zero."""
    head = HEADER + (IPV6 if ipv6 else IPV4) + TCP + TIMESTAMPS + (FCS if fcs else 0)
    return max(0.0, 8 * (bytes_per_s - head * packets_per_s))


def bdp(rate: float, rtt: float) -> float:
    """Bandwidth-delay product: bytes in flight that fill the path."""
    return rate * rtt / 8


def loss_bound(mss: float | None, rtt: float | None, ratio: float | None) -> float | None:
    """The rate in bit/s that a loss-based control reaches at this loss (Mathis et al. 1997).

    None without a loss, or where a value is not known.
    """
    return 8 * mss * MATHIS / (rtt * sqrt(ratio)) if mss and rtt and ratio else None


def largest_window(scale: int) -> int:
    """The largest TCP window of a scale, in bytes: 14 is the largest scale (RFC 7323, 2.3)."""
    return 65_535 << min(scale, 14)


def window_cap(window: float, rtt: float) -> float:
    """Bit/s that a window of `window` bytes allows at this round trip."""
    return window * 8 / rtt


def capture_rate(packets: float, size: float, seconds: float) -> float:
    """Bit/s of a capture, by the packets of `size` bytes that it kept."""
    return packets * size * 8 / seconds


def loss_percent(offered: float, taken: float) -> float:
    """Percent of `offered` that is missing from `taken`."""
    return 100 * (offered - taken) / offered


def framing_ceiling(rate: float, size: float) -> float:
    """The highest bit/s of counters: `size`-byte packets on a full link, without overhead."""
    return rate * size / (size + ON_WIRE)


def framed_loss_percent(captured: float, rate: float, size: float) -> float:
    """Percent lost of a full link; preamble and gap do not count as loss."""
    return 100 * (1 - captured / framing_ceiling(rate, size))


def pause_seconds(quanta: int, rate: float) -> float:
    """Seconds that one pause frame stops the sender (802.3 annex 31B: a quantum is 512 bits)."""
    return quanta * 512 / rate


def interrupt_cap(usecs: float) -> float:
    """Interrupts per second of one queue at most, with this coalescing delay in microseconds."""
    return 1e6 / usecs


def packets_per_interrupt(packets_per_s: float, usecs: float) -> float:
    """Packets that arrive while an interrupt is delayed; must stay below the ring."""
    return packets_per_s * usecs / 1e6


def ring_seconds(ring: float, packets_per_s: float) -> float:
    """Seconds until a ring of `ring` descriptors is full if it is not emptied."""
    return ring / packets_per_s


def sequence_wrap(rate: float) -> float:
    """Seconds until TCP sequence numbers repeat; without timestamps old segments then look new."""
    return float(2**32) * 8 / rate


SLOT_SHARE: Final = 0.80  # of the slot's rate after coding that carries data
BUS_SHARE: Final = 0.70  # of a parallel bus, one way (Hisdal, CERN 2003, section 4.1.2)


def pcie_usable(gigatransfers: float, lanes: int) -> float:
    """Bit/s of a PCI Express slot after line coding, before packet headers (about 15 % more).

    8b/10b up to 5 GT/s, 128b/130b from 8 GT/s, none at 64 GT/s: PCIE_SPEED2MBS_ENC in
    drivers/pci/pci.h.
    """
    coding = 0.8 if gigatransfers < 8 else 128 / 130 if gigatransfers < 64 else 1.0
    return gigatransfers * 1e9 * lanes * coding


def bus_usable(bits: int, megahertz: float) -> float:
    """Bit/s of a PCI or PCI-X bus: of both directions and of all its cards together."""
    return bits * megahertz * 1e6


def latency_slope(memory: float, bus: float, wire: float) -> float:
    """Round trip per byte of a request: memory and bus at both ends, the wire once."""
    return 2 * (memory + bus) + wire


def least_send_buffer(mss: float) -> int:
    """The send buffer with which autotuning begins, at least; a smaller one is set by SO_SNDBUF.

    Twice the first congestion window, each segment in a block of memory with its headers
    (tcp_sndbuf_expand() in net/ipv4/tcp_input.c).
    """
    return 2 * 10 * int(2 ** ceil(log2(mss + 320)))
