"""Names of network devices, and the device and queue that the name of an interrupt tells.

dev_valid_name() of net/core/dev.c says what is a device's name. Names of interrupts are conventions
of each driver and no stable interface. If sysfs lists the interrupts of a device (`msi_irqs`), only
the queue is taken from the name. The owner returned here is a candidate, to be compared with the
interfaces, bus addresses and virtio devices of the host.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

from .dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IrqPlace:
    """Device and queue of an interrupt. `number` is None without a queue (link, admin, events).

    `owner` is an interface name, a bus address such as `0000:41:00.0`, or a virtio device such as
    `virtio2`; `direction` is rx, tx, rxtx, or None if not in the name.
    """

    owner: str
    direction: str | None = None
    number: int | None = None


_BUS: Final = r"(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_NIC: Final = r"(?P<nic>[^\s/:]+?)"
_PREFIX: Final = r"(?:(?:i40e|ice|iavf|i40evf|idpf|bnxt_en|qede|hns3|ionic|nfp|fm10k)-)?"

_WAY: Final = r"(?P<way>TxRx|Tx-Rx|txrx|rxtx|rx|tx|Rx|Tx|RX|TX|fp)"

# Tried in order: (pattern, direction, what to subtract from the number). A direction of "" takes
# the pattern's group `way`. Files are below drivers/net/ in the kernel.
_PATTERNS: Final = tuple(
    (re.compile(pattern), way, first)
    for pattern, way, first in (
        # virtio_net.c, virtnet_find_vqs(): input.N and output.N of virtioN
        (r"(?P<nic>virtio\d+)-input(?:\.(?P<n>\d+))?", "rx", 0),
        (r"(?P<nic>virtio\d+)-output(?:\.(?P<n>\d+))?", "tx", 0),
        (r"(?P<nic>virtio\d+)-.*", None, None),
        # ethernet/mellanox/mlx5/core/pci_irq.c and, before 5.x, main.c: comp vectors are channels
        (rf"mlx5_comp(?P<n>\d+)@pci:{_BUS}", "rxtx", 0),
        # ethernet/mellanox/mlx4/eq.c, mlx4_assign_eq(): event queue 0 is the asynchronous one
        (rf"mlx4-(?P<n>\d+)@(?:pci:)?{_BUS}", "rxtx", 1),
        # ethernet/google/gve/gve_main.c: blocks, of which the lower half serves transmit queues
        (rf"gve-ntfy-blk(?P<n>\d+)@pci:{_BUS}", None, 0),
        (rf"{_NIC}-ntfy-block\.(?P<n>\d+)", None, 0),
        # ethernet/microsoft/mana/gdma_main.c
        (rf"mana_q(?P<n>\d+)@pci:{_BUS}", "rxtx", 0),
        # ethernet/hisilicon/hns3/hns3_enet.c, hns3_nic_init_irq(): DRIVER-ADDRESS-TxRx-N; fbnic
        (rf"(?:[a-z0-9_]+-)?{_BUS}-{_WAY}-(?P<n>\d+)", "", 0),
        # …_async_eq, …_pages_eq, ena-mgmnt, gve-mgmnt, mana_hwc: control
        (rf"[^@]+@(?:pci:)?{_BUS}", None, None),
        # intel/ice, i40e, iavf: DRIVER-ADDRESS:misc, :fdir-TxRx-N, :ctrl-TxRx-N, :mbx are control
        (rf"[a-z0-9_]+-{_BUS}[:-].*", None, None),
        # ethernet/intel/idpf/idpf_lib.c, idpf_mb_intr_req_irq(): of the device, not of an interface
        (r"(?P<nic>idpf-Mailbox)-\d+", None, None),
        # ethernet/huawei/hinic, hinic_rx.c and hinic_tx.c: NAME_rxqN, NAME_txqN; ipqess of
        # OpenWrt: NAME:rxqN, NAME:txqN
        (rf"{_NIC}[_:](?P<way>rx|tx)q(?P<n>\d+)", "", 0),
        # ethernet/qlogic/qlcnic_main.c, qlcnic_request_irq(): transmit queue 0 shares each vector
        (rf"{_NIC}-tx-0-rx-(?P<n>\d+)", "rxtx", 0),
        # ethernet/vmware, vmxnet3_request_irqs(): NAME-event-N is the vector after the queues
        (rf"{_NIC}-event-\d+", None, None),
        # ethernet/chelsio/cxgb4
        (rf"{_NIC} \(queue (?P<n>\d+)\)", "rxtx", 0),
        # xen-netfront.c: NAME-qN-rx
        (rf"{_NIC}-q(?P<n>\d+)-(?P<way>rx|tx)", "", 0),
        # ethernet/emulex/benet: NAME-qN
        (rf"{_NIC}-q(?P<n>\d+)", "rxtx", 0),
        # the common habit (ixgbe, igb, igc, i40e, ice, ena, bnxt, bnx2x and qede `fp`, vmxnet3,
        # e1000e, tg3, enic, sfc, nfp …); out-of-tree ice gives a second number for the vector
        (rf"{_PREFIX}{_NIC}[-:]{_WAY}[-.]?(?P<n>\d+)(?:-\d+)?", "", 0),
        # ethernet/broadcom/bnx2.c, sfc, aquantia, mlx4 of old: NAME-N
        (rf"{_NIC}-(?P<n>\d+)", "rxtx", 0),
    )
)
_WAYS: Final = {"rx": "rx", "tx": "tx"}


def actions(name: str) -> tuple[str, ...]:
    """The single actions of a shared line: `ehci_hcd:usb1, eth0` are two."""
    return tuple(part for part in (piece.strip() for piece in name.split(",")) if part)


def queue_of(name: str, driver: str | None = None) -> IrqPlace:
    """The place that one action's name gives; `driver`, if known, decides tg3's numbering.

    A name of no pattern (`eth0`, `acpi`) is its own owner and no queue.
    """
    for pattern, fixed, first in _PATTERNS:
        found = pattern.fullmatch(name)
        if found is None:
            continue
        groups = found.groupdict()
        owner = groups.get("bus") or groups["nic"]
        if first is None:
            return IrqPlace(owner)
        way = _WAYS.get(groups["way"].lower(), "rxtx") if fixed == "" else fixed
        number = int((groups.get("n") or "0")[:9]) - first
        if driver == "tg3" and way != "tx":
            # tg3.c, tg3_request_irq(): vector 0 is the link's, receive queue 0 is named -1
            number -= 1
        if number < 0:
            return IrqPlace(owner)
        return IrqPlace(owner, way, number)
    return IrqPlace(name)


def places(names: Iterable[str], driver: str | None = None) -> dict[str, IrqPlace]:
    """The places of all actions of one device, which decide what one name alone leaves open.

    gve: the lower half of the blocks serves transmit queues, the upper half receive queues. tg3:
    receive names that begin at 1 instead of 0.
    """
    names = list(names)
    found = {name: queue_of(name, driver) for name in names}
    blocks = [
        name for name, place in found.items() if place.number is not None and not place.direction
    ]
    half = len(blocks) // 2
    for name in blocks:
        number = found[name].number or 0
        upper = number >= half
        found[name] = IrqPlace(
            found[name].owner, "rx" if upper else "tx", number - half if upper else number
        )
    receive = [place.number for place in found.values() if place.direction == "rx"]
    if driver is None and receive and 0 not in receive and 1 in receive:
        for name, place in found.items():
            if place.direction in ("rx", "rxtx") and place.number:
                found[name] = IrqPlace(place.owner, place.direction, place.number - 1)
    return found


LONGEST: Final = 15  # bytes; IFNAMSIZ counts the final NUL, include/uapi/linux/if.h
ALTERNATIVE: Final = 127  # bytes; ALTIFNAMSIZ counts the final NUL
_REFUSED: Final = frozenset(b"/: \t\n\v\f\r\xa0\0")  # isspace() of the kernel is that of Latin-1


def valid(name: str, longest: int = LONGEST) -> bool:
    """Whether the kernel accepts this name, of at most `longest` bytes, for a device."""
    raw = os.fsencode(name)
    return 0 < len(raw) <= longest and name not in (".", "..") and not _REFUSED & set(raw)
