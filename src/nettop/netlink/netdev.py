"""The netdev family: statistics of each queue that no longer stand in `ethtool -S`.

NETDEV_CMD_QSTATS_GET (net/core/netdev-genl.c, Linux 6.10). Numbers: include/uapi/linux/netdev.h.
Drivers move there: virtio_net of today counts packets by queue only here.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ..source import Request, Source
from .codec import attribute, decode, messages, numbered

_QSTATS_GET: Final = 12
_BY_QUEUE: Final = attribute(4, struct.pack("=I", 1))  # the scope: by queue
_QSTATS: Final = {
    **numbered(1, "index type queue scope"),
    **numbered(
        8,
        "rx_packets:Q rx_bytes:Q tx_packets:Q tx_bytes:Q rx_alloc_fail:Q rx_hw_drops:Q "
        "rx_hw_drop_overruns:Q",
    ),
}


def queue_statistics(source: Source) -> dict[int, dict[str, dict[str, Any]]]:
    """By interface index and queue (`rx-0`): what the driver counts. OSError on older kernels."""
    request = Request("netdev", _QSTATS_GET, _BY_QUEUE, "netdev/queues", dump=True)
    return parse(source.netlink(request))


def parse(reply: bytes) -> dict[int, dict[str, dict[str, Any]]]:
    """The answer's queues; ValueError when it is cut off."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for _kind, start, end in messages(reply):
        values = decode(reply, start + 4, end, _QSTATS)
        if "index" in values and "queue" in values:
            way = "tx" if values.get("type") else "rx"
            found.setdefault(values["index"], {})[f"{way}-{values['queue']}"] = values
    return found
