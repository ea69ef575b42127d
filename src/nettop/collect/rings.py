"""Descriptor rings: ETHTOOL_MSG_RINGS_GET (net/ethtool/rings.c), as `ethtool -g` shows them."""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table
from ._turns import every, flag

TABLE: Final = Table(every=10.0)

_SPLIT: Final = {0: None, 1: False, 2: True}  # ETHTOOL_TCP_DATA_SPLIT_*


@dataclass(frozen=True, slots=True)
class Row:
    """Rings of one interface; None: the driver has no such ring, or does not report its size."""

    interface: str = label("interface name")
    rx: int | None = maybe("receive ring", "descriptors")
    rx_max: int | None = maybe("receive ring maximum", "descriptors")
    tx: int | None = maybe("transmit ring", "descriptors")
    tx_max: int | None = maybe("transmit ring maximum", "descriptors")
    rx_jumbo: int | None = maybe("jumbo receive ring", "descriptors")
    rx_jumbo_max: int | None = maybe("jumbo receive ring maximum", "descriptors")
    rx_mini: int | None = maybe("mini receive ring", "descriptors")
    rx_mini_max: int | None = maybe("mini receive ring maximum", "descriptors")
    rx_buf_len: int | None = maybe("size of a receive buffer", "bytes")
    cqe_size: int | None = maybe("size of a completion entry", "bytes")
    tcp_data_split: bool | None = maybe("headers and data in separate buffers")
    tx_push: bool | None = maybe("descriptors are pushed to the device")


def read(source: Source) -> Sequence[Row]:
    """Every interface whose driver has rings; OSError without ethtool."""
    return [row(name, values) for name, values in every(source, "rings").items()]


def row(name: str, values: dict[str, int]) -> Row:
    """The row of one interface from ETHTOOL_A_RINGS_*; a size of 0 (be2net) is not reported."""
    known = {field: values.get(field) or None for field in _SIZES}
    return Row(
        interface=name,
        **known,
        tcp_data_split=_SPLIT.get(values.get("tcp_data_split", 0)),
        tx_push=flag(values.get("tx_push")),
    )


_SIZES: Final = (
    "rx", "rx_max", "tx", "tx_max", "rx_jumbo", "rx_jumbo_max", "rx_mini", "rx_mini_max",
    "rx_buf_len", "cqe_size",
)  # fmt: skip
