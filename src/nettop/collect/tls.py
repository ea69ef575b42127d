"""TLS in the kernel: /proc/net/tls_stat (net/tls/tls_proc.c, Documentation/networking/tls.rst).

The file is there while the module `tls` is loaded.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import counter, gauge
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines, _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0, optional=True)

_FILE: Final = "/proc/net/tls_stat"


@dataclass(frozen=True, slots=True)
class Row:
    """The one row. None: not reported by this kernel."""

    tx_software: int | None = gauge("connections that send, encrypted by the CPU", "connections")
    rx_software: int | None = gauge("connections that receive, decrypted by the CPU", "connections")
    tx_device: int | None = gauge("connections that send, encrypted by the card", "connections")
    rx_device: int | None = gauge("connections that receive, decrypted by the card", "connections")
    decrypt_errors: int | None = counter("records that could not be decrypted", "records")
    resyncs: int | None = counter("times the card lost the record boundary", "events")
    retries: int | None = counter("records decrypted again, TLS 1.3 padding", "records")


_NAMES: Final = {
    "tx_software": "TlsCurrTxSw", "rx_software": "TlsCurrRxSw", "tx_device": "TlsCurrTxDevice",
    "rx_device": "TlsCurrRxDevice", "decrypt_errors": "TlsDecryptError",
    "resyncs": "TlsRxDeviceResync", "retries": "TlsDecryptRetry",
}  # fmt: skip


def read(source: Source) -> Sequence[Row]:
    """One row; OSError without the file, ValueError for another format."""
    lines = (line for line in source.text(_FILE).splitlines() if line.strip())
    pairs = _lines.rows(lines, _pair, _FILE)
    counts = dict(pairs)
    row = Row(**{field: counts.get(name) for field, name in _NAMES.items()})
    return Partly([row], pairs.why) if isinstance(pairs, Partly) else [row]


def _pair(line: str) -> tuple[str, int | None]:
    words = line.split()
    if len(words) != 2:
        raise ValueError(f"not a name and a count: {line[:60]!r}")
    return words[0], _sysfs.whole(words[1])
