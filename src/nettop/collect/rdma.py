"""RDMA devices and their counters: /sys/class/infiniband.

Documentation/ABI/stable/sysfs-class-infiniband: port_rcv_data and port_xmit_data count words of
four bytes. The interface is the one of the port's first GID (gid_attrs/ndevs/0), else of the
device.
"""

from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0)

_DEVICES: Final = "/sys/class/infiniband"


@dataclass(frozen=True, slots=True)
class Row:
    """One port of an RDMA device."""

    device: str = label("RDMA device, e.g. mlx5_0")
    port: int = label("port number")
    nic: str | None = maybe("interface on the same port")
    layer: str | None = maybe("Ethernet or InfiniBand")
    state: str | None = maybe("ACTIVE, DOWN …")
    rx_bytes: int | None = counter("bytes received", "bytes", default=None)
    tx_bytes: int | None = counter("bytes sent", "bytes", default=None)
    rx_packets: int | None = counter("packets received", "packets", default=None)
    tx_packets: int | None = counter("packets sent", "packets", default=None)
    waits: int | None = counter("ticks with data and without send credit", "ticks", default=None)
    sequence_errors: int | None = counter("packets out of sequence", "packets", default=None)


def read(source: Source) -> list[Row]:
    """Every port, none on a host without RDMA; OSError without /sys/class."""
    if "infiniband" not in source.listing("/sys/class"):
        return []
    return [
        _row(source, device, int(port))
        for device in _sysfs.names(source, _DEVICES)
        for port in _sysfs.names(source, f"{_DEVICES}/{device}/ports")
        if port.isdecimal()
    ]


def _row(source: Source, device: str, port: int) -> Row:
    folder = f"{_DEVICES}/{device}/ports/{port}"

    def count(name: str, size: int = 1) -> int | None:
        number = _sysfs.number(source, f"{folder}/counters/{name}")
        return None if number is None else number * size

    nics = _sysfs.names(source, f"{_DEVICES}/{device}/device/net")
    state = _sysfs.word(source, f"{folder}/state")  # as `4: ACTIVE`
    return Row(
        device,
        port,
        nic=_sysfs.word(source, f"{folder}/gid_attrs/ndevs/0") or (nics[0] if nics else None),
        layer=_sysfs.word(source, f"{folder}/link_layer"),
        state=state.rpartition(" ")[2] if state else None,
        rx_bytes=count("port_rcv_data", 4),
        tx_bytes=count("port_xmit_data", 4),
        rx_packets=count("port_rcv_packets"),
        tx_packets=count("port_xmit_packets"),
        waits=count("port_xmit_wait"),
        sequence_errors=_sysfs.number(source, f"{folder}/hw_counters/out_of_sequence"),
    )
