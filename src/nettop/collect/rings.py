"""Descriptor rings: ETHTOOL_MSG_RINGS_GET (net/ethtool/rings.c), as `ethtool -g` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._settings import every, flag
from ._table import Table

TABLE: Final = Table(every=10.0)

_SPLIT: Final = {0: None, 1: False, 2: True}  # ETHTOOL_TCP_DATA_SPLIT_*


@dataclass(frozen=True, slots=True)
class Row:
    """Rings of one interface; None: the driver has no such ring, or does not report its size."""

    interface: str = label("interface name")
    rx: int | None = gauge("receive ring", "descriptors", default=None)
    rx_max: int | None = gauge("receive ring maximum", "descriptors", default=None)
    tx: int | None = gauge("transmit ring", "descriptors", default=None)
    tx_max: int | None = gauge("transmit ring maximum", "descriptors", default=None)
    rx_jumbo: int | None = gauge("jumbo receive ring", "descriptors", default=None)
    rx_jumbo_max: int | None = gauge("jumbo receive ring maximum", "descriptors", default=None)
    rx_mini: int | None = gauge("mini receive ring", "descriptors", default=None)
    rx_mini_max: int | None = gauge("mini receive ring maximum", "descriptors", default=None)
    rx_buf_len: int | None = gauge("size of a receive buffer", "bytes", default=None)
    cqe_size: int | None = gauge("size of a completion entry", "bytes", default=None)
    tcp_data_split: bool | None = gauge("headers and data in separate buffers", default=None)
    tx_push: bool | None = gauge("descriptors are pushed to the device", default=None)


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
