"""Software steering of each queue: /sys/class/net/IF/queues.

Documentation/networking/scaling.rst and Documentation/ABI/testing/sysfs-class-net-queues: RPS and
RFS of receive queues, XPS and byte queue limits of transmit queues. `xps_cpus` does not exist for a
device with one transmit queue. Masks are hexadecimal.
"""

from functools import partial
from typing import Final

from ..frame.fields import counter, label, light, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table
from ._turns import by_turns

TABLE: Final = Table(every=10.0)

_NETS: Final = "/sys/class/net"


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One queue of the kernel; a virtual interface has at least one of each direction."""

    nic: str = label("interface")
    name: str = label("rx-N or tx-N")
    rps_cpus: tuple[int, ...] | None = maybe("RPS CPUs; empty: off")
    rps_flow_cnt: int | None = maybe("RFS flows; 0: off", "flows")
    xps_cpus: tuple[int, ...] | None = maybe("XPS CPUs; empty: any")
    xps_rxqs: tuple[int, ...] | None = maybe("XPS receive queues; empty: any")
    bql_limit: int | None = maybe("byte queue limit", "bytes")
    bql_inflight: int | None = maybe("bytes in flight to the device", "bytes")
    tx_timeouts: int | None = counter("transmit queue timeouts", "events", default=None)


def update(source: Source, memory: Memory) -> list[Row]:
    """Every queue of every interface, many software ones in turn.

    OSError without /sys/class/net.
    """
    every = by_turns(source, memory, source.listing(_NETS), partial(_queues, source))
    return [row for rows in every for row in rows]


def _queues(source: Source, nic: str) -> list[Row]:
    names = _sysfs.names(source, f"{_NETS}/{nic}/queues")
    hardware = bool(names) and _sysfs.target(source, f"{_NETS}/{nic}/device") is not None
    rows = []
    for name in sorted(names, key=_order):
        folder = f"{_NETS}/{nic}/queues/{name}"
        if name.startswith("rx-"):
            rows.append(_receive(source, nic, name, folder))
        elif name.startswith("tx-"):
            rows.append(_transmit(source, nic, name, folder, hardware=hardware))
    return rows


def _order(name: str) -> tuple[str, int]:
    way, _, number = name.partition("-")
    return way, int(number) if number.isdecimal() else 0


def _receive(source: Source, nic: str, name: str, folder: str) -> Row:
    return Row(
        nic,
        name,
        rps_cpus=_sysfs.mask(source, f"{folder}/rps_cpus"),
        rps_flow_cnt=_sysfs.number(source, f"{folder}/rps_flow_cnt"),
    )


def _transmit(source: Source, nic: str, name: str, folder: str, *, hardware: bool) -> Row:
    cpus = _sysfs.mask(source, f"{folder}/xps_cpus")
    if not hardware:
        return Row(nic, name, xps_cpus=cpus)
    return Row(
        nic,
        name,
        xps_cpus=cpus,
        xps_rxqs=_sysfs.mask(source, f"{folder}/xps_rxqs"),
        bql_limit=_sysfs.number(source, f"{folder}/byte_queue_limits/limit"),
        bql_inflight=_sysfs.number(source, f"{folder}/byte_queue_limits/inflight"),
        tx_timeouts=_sysfs.number(source, f"{folder}/tx_timeout"),
    )
