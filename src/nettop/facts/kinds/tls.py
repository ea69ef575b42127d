"""TLS in the kernel, from the collector `tls`."""

from __future__ import annotations

from ...frame.fields import label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Tls:
    """The connections of kTLS in this network namespace."""

    name: str = label("always `host`")
    receiving: int | None = maybe("connections whose records the kernel decrypts", "connections")
    rx_device: int | None = maybe("connections that receive, decrypted by the card", "connections")
    decrypt_errors: float | None = maybe("records that could not be decrypted", "records/s")
    resyncs: float | None = maybe("times the card lost the record boundary", "events/s")


def build(frame: Frame, facts: object) -> tuple[Tls, ...]:  # noqa: ARG001
    """One fact where the module `tls` is loaded."""
    return tuple(
        Tls(
            "host",
            None if entry.now.rx_software is None or entry.now.rx_device is None
            else entry.now.rx_software + entry.now.rx_device,
            entry.now.rx_device, entry.rate("decrypt_errors"), entry.rate("resyncs"),
        )
        for entry in frame.tables.get("tls", ())
    )  # fmt: skip


KIND = Kind(
    Tls, "tls_uses", needs=("tls",), build=build, key=lambda _tls: "tls",
    target=lambda _tls: "host", names={}, example={"name": "host", "rx_device": 4},
)  # fmt: skip
