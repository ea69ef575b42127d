"""The netdev family: the interrupt of each queue, and statistics by queue.

net/core/netdev-genl.c: NETDEV_CMD_QUEUE_GET and NAPI_GET (Linux 6.8), QSTATS_GET (6.10). Numbers:
include/uapi/linux/netdev.h. Recent drivers have statistics by queue only here and not in
`ethtool -S`, e.g. virtio_net. Interrupts are listed only for drivers that call
netif_napi_set_irq(), which virtio_net does not.
"""

import struct
from contextlib import suppress
from typing import Final

from ..source import Source
from .codec import Attributes, Request, Table, attribute, decode, messages, numbered
from .ethtool import NO_LIST
from .route import names

_QUEUE_GET, _NAPI_GET, _QSTATS_GET = 10, 11, 12
_QUEUE: Final = numbered(1, "queue index type napi")
_NAPI: Final = numbered(1, "index napi irq")
_BY_QUEUE: Final = attribute(4, struct.pack("=I", 1))  # the scope: by queue
_QSTATS: Final = {
    **numbered(1, "index type queue scope"),
    **numbered(
        8,
        "rx_packets:Q rx_bytes:Q tx_packets:Q tx_bytes:Q rx_alloc_fail:Q rx_hw_drops:Q "
        "rx_hw_drop_overruns:Q",
    ),
}


def queue_statistics(source: Source) -> dict[int, dict[str, Attributes]]:
    """The driver's counts by interface index and queue (`rx-0`). OSError on older kernels.

    An error of one driver ends the kernel's list; each device is then read separately.
    """
    request = Request("netdev", _QSTATS_GET, _BY_QUEUE, "netdev/queues", dump=True)
    try:
        return parse(source.netlink(request))
    except OSError as error:
        if error.errno in NO_LIST:
            raise
    counts: dict[int, dict[str, Attributes]] = {}
    for index, name in names(source).items():
        body = attribute(1, struct.pack("=I", index)) + _BY_QUEUE
        request = Request("netdev", _QSTATS_GET, body, f"netdev/queues/{name}", dump=True)
        with suppress(OSError):  # its driver has none, or caused the error
            counts |= parse(source.netlink(request))
    return counts


def parse(reply: bytes) -> dict[int, dict[str, Attributes]]:
    """The queues of an answer; ValueError if it is cut off."""
    counts: dict[int, dict[str, Attributes]] = {}
    for _kind, start, end in messages(reply):
        values = decode(reply, start + 4, end, _QSTATS)
        if "index" in values and "queue" in values:
            way = "tx" if values.get("type") else "rx"
            counts.setdefault(values["index"], {})[f"{way}-{values['queue']}"] = values
    return counts


def interrupts(source: Source) -> dict[int, tuple[tuple[int, str], ...]]:
    """The queues of each interrupt: interface index and a name such as `rx-0`.

    They are joined by their NAPI instance. Interrupts that the driver does not report are left out.
    OSError on older kernels, ValueError for an answer that is cut off.
    """
    known = {}
    for values in _each(source, _NAPI_GET, _NAPI, "netdev/napis"):
        if values.get("irq"):
            known[values.get("napi")] = values["irq"]
    if not known:
        return {}
    found: dict[int, tuple[tuple[int, str], ...]] = {}
    for values in _each(source, _QUEUE_GET, _QUEUE, "netdev/queue-napis"):
        irq = known.get(values.get("napi", 0))
        if irq is not None and "index" in values and "queue" in values:
            way = "tx" if values.get("type") else "rx"
            found[irq] = (*found.get(irq, ()), (values["index"], f"{way}-{values['queue']}"))
    return found


def _each(source: Source, kind: int, table: Table, name: str) -> list[Attributes]:
    reply = source.netlink(Request("netdev", kind, b"", name, dump=True))
    return [decode(reply, start + 4, end, table) for _kind, start, end in messages(reply)]
