"""The device: receive ring, port, slot or USB connection, wire, and what a provider allows.

What the wire carries is the payload of full TCP packets at this MTU (IEEE 802.3); the slot carries
about four fifths of its rate after coding, packet headers and descriptors take the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

from ....terms import formulas, units
from ...flow_words import total
from ...kinds.card import Card
from ...kinds.nic import Nic
from .. import Reading
from ..interfaces import stack
from ..looks import Look
from ..stage import Stage

STAGES: Final = (
    Stage("slot", "the PCI Express slot", "the PCI Express slot", "SLOT",
          "more lanes, or a newer slot", precedence=40, sending=100, receiving=60,
          setting="link.mtu", card=True, queue=True, short="PCIe slot"),
    Stage("usb", "the USB connection", "the USB connection of the adapter", "USB",
          "a port, cable and adapter of USB 3", precedence=35, sending=105, receiving=55,
          setting="link.mtu", card=True, queue=True),
    Stage("wire", "the link", "the link", "WIRE", "nothing to fix if the link is full",
          precedence=30, sending=110, receiving=50, always=("rx", "tx"), setting="link.mtu",
          card=True, queue=True, fault=False,
          lost_rx=("phy_errors", "length_errors"),
          why="damaged frames or frames of wrong length; no setting of this host helps"),
    Stage("provider", "the provider's allowance",
          "the limit that the provider of a virtual machine sets", "PROVIDER", "a larger instance",
          precedence=10, sending=120, receiving=40, setting="link.mtu", queue=True, between=True),
    Stage("port", "the port", "the port of the NIC or of the switch", "PORT",
          "look at pause frames, bus, firmware", precedence=80, receiving=70, setting="pause.rx",
          card=True, queue=True, arrives=True, lost_rx=("phy_discards",),
          why="discarded at the port, before the ring"),
    Stage("ring", "the receive ring", "the receive ring of the NIC", "RING",
          "a larger ring, or a less loaded core", precedence=70, receiving=80, always=("rx",),
          setting="ring.rx", card=True, queue=True, arrives=True, lost_rx=("ring_drops",),
          why="no free receive descriptor"),
)  # fmt: skip
FULL: Final = 0.95  # of what the wire carries: the link is full
SLOT_FULL: Final = 0.95  # of what a slot carries: several ports never reach all of it together
# of a USB connection: what adapters reach, and what its packets of bulk data leave (USB 2.0,
# section 5.8.4: 13 of 512 bytes in 125 us)
USB_CARRIES: Final = (0.6, 0.89)
USB_ONE_WAY: Final = 480e6  # bit/s: up to here both directions share the wire
COUNTED: Final = 1.0  # packets a second
AROUND: Final = 0.2  # of the port's bytes: headers, the frame check sequence, another second
SERVED: Final = 0.01  # of the lost packets: with less delivered, the queue is not served


def readings(look: Look) -> Iterator[Reading]:
    """The stages of the hardware of the interface, or of one below it; virtual ones have none."""
    if look.over == "nic" and look.device is not None:
        yield from _elsewhere(look)
    if look.over == "socket":  # what a device loses reaches no socket
        return
    for one in stack(look):
        if one.nic is not None:
            yield from _interface(one, one.nic)


def _interface(look: Look, nic: Nic) -> Iterator[Reading]:
    yield from _provider(look)
    if nic.kind == "nic":
        yield from _wire(look, nic)
        yield from _slot(look, nic)
        yield from _usb(look, nic)
        past = _past(look, nic)
        if look.over == "nic" and past > (_moved(look, "bytes") or 0.0):
            why = f"{units.scaled(8 * past, 'b/s')} pass the kernel by (RDMA, or a program that "
            why += "takes packets from the card): what limits them is not visible from here"
            yield Reading("application", "here", "what passes the kernel by", "measured", why,
                          None, None, 1.0)  # fmt: skip
    if not look.sends:
        yield from _lost(look, "ring", f"receive ring of {nic.name}")
        yield from _lost(look, "port", f"port of {nic.name}")


def _elsewhere(look: Look) -> Iterator[Reading]:
    """The losses of an interface of another namespace; its kind is not read there."""
    lost = look.counted(f"{look.direction}_dropped")
    if lost:
        stage, way = ("tx-ring", "transmit") if look.sends else ("ring", "receive")
        why = f"mean {units.per_second(lost, 'packets')} dropped on {way}"
        yield Reading(stage, "here", look.target, "reported", why)


def _wire(look: Look, nic: Nic) -> Iterator[Reading]:
    size, count = _moved(look, "bytes"), _moved(look, "packets")
    if not nic.speed or size is None or count is None:
        return
    past = _past(look, nic)
    load = (formulas.counted_to_wire(size, count) + 8 * past) / nic.speed
    goodput = formulas.tcp_goodput(nic.speed, nic.mtu or 1500)
    whole = 8 * (size + past)
    own = goodput if look.over == "nic" else max(look.rate, goodput - max(0.0, whole - look.rate))
    why = f"{nic.name} carries {units.share(load)} of what TCP can at MTU {nic.mtu}"
    if past:
        why += f"; {units.scaled(8 * past, 'b/s')} of it pass the kernel by"
    name = f"link of {nic.name}, {units.link(nic.speed)}"
    yield Reading("wire", "here", name, "computed", why, load, (0.97 * own, own),
                  load if load >= FULL else 0.0)  # fmt: skip


def _slot(look: Look, nic: Nic) -> Iterator[Reading]:
    """The slot of the interface, or the link that it shares with others, whichever is fuller."""
    if not nic.pcie.usable or _moved(look, "bytes") is None:
        return

    def bits(ports: Iterable[str]) -> float:
        return 8 * sum(_whole(look, one) for one in ports)

    slots: list[tuple[tuple[str, ...], float]]
    slots = [((nic.name,), formulas.SLOT_SHARE * nic.pcie.usable)]
    slots += [
        (card.ports, formulas.SLOT_SHARE * card.usable)
        for card in cast("tuple[Card, ...]", look.facts.more.get("card", ()))
        if nic.name in card.ports and card.usable
    ]
    ports, most = max(slots, key=lambda slot: bits(slot[0]) / slot[1])
    others = [port for port in ports if port != nic.name]
    used = bits(ports) / most
    own = max(most - bits(others), bits([nic.name])) if others else most
    names = ", ".join(ports)
    why = f"{units.share(used)} of what the slot of {names} carries"
    yield Reading("slot", "here", f"PCI Express slot of {names}", "computed", why, used,
                  (0.9 * own, 1.1 * own), used if used >= SLOT_FULL else 0.0)  # fmt: skip


def _usb(look: Look, nic: Nic) -> Iterator[Reading]:
    """The USB connection of an adapter: the device may run at a lower speed than its link."""
    if not nic.usb_speed or _moved(look, "bytes") is None:
        return
    both = [8 * (look.window.counted(nic.name, f"{way}_bytes") or 0.0) for way in ("rx", "tx")]
    shared = nic.usb_speed <= USB_ONE_WAY
    bits = sum(both) if shared else 8 * _whole(look, nic.name)
    least, most = (share * nic.usb_speed for share in USB_CARRIES)
    used = min(1.0, bits / least)
    speed = units.link(nic.usb_speed)
    why = f"{units.scaled(bits, 'b/s')} on a USB connection of {speed}"
    yield Reading("usb", "here", f"USB connection of {nic.name}, {speed}", "computed", why, used,
                  (least, most), used if used >= SLOT_FULL else 0.0)  # fmt: skip


def _provider(look: Look) -> Iterator[Reading]:
    """The allowance that is exceeded, unless of a flow nothing waits and nothing is sent again.

    Then others spend it: the rate of this flow is what its program sends.
    """
    if look.over == "flow" and look.sends and not (
        look.often("notsent") or look.rated("total_retrans")
    ):  # fmt: skip
        return
    over = {
        "packets": "allowance_pps",
        "tracked connections": "allowance_conntrack",
        "outbound bandwidth" if look.sends else "inbound bandwidth":
            "allowance_bw_out" if look.sends else "allowance_bw_in",
    }  # fmt: skip
    for what, counter in over.items():
        rate = look.counted(counter)
        if rate is not None and rate >= COUNTED:
            why = f"{units.per_second(rate, 'packets')} over the allowance"
            yield Reading("provider", "there", f"allowance of {what}", "reported", why, 1.0,
                          (0.9 * look.rate, 1.1 * look.rate), 1.0)  # fmt: skip
            return


def _moved(look: Look, what: str) -> float | None:
    """Bytes or packets a second in its direction, as the kernel counts them."""
    return look.counted(f"{look.direction}_{what}")


def _whole(look: Look, name: str) -> float:
    """Bytes a second of an interface in its direction, also those that pass the kernel by."""
    seen = look.window.counted(name, f"{look.direction}_bytes") or 0.0
    port = look.window.counted(name, f"port_{look.direction}_bytes") or 0.0
    return port if port - seen > AROUND * port else seen


def _past(look: Look, nic: Nic) -> float:
    """Bytes a second in its direction that the port counts and the kernel does not see."""
    return _whole(look, nic.name) - (_moved(look, "bytes") or 0.0)


def _lost(look: Look, stage: str, name: str) -> Iterator[Reading]:
    (known,) = (one for one in STAGES if one.name == stage)
    lost = total(map(look.counted, known.lost_rx))
    if not lost:
        return
    full = lost >= COUNTED
    moved = _moved(look, "packets")
    cause = "nobody empties it" if moved is not None and moved <= SERVED * lost else known.why
    why = f"mean {units.per_second(lost, 'packets')} dropped: {cause}"
    yield Reading(stage, "here", name, "reported", why, 1.0 if full else None, None,
                  0.8 if full else 0.0, cause=cause)  # fmt: skip
