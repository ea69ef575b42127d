"""Which VXLAN drops what arrives, and what of its own configuration decides it.

`seen`: the drop and the host, as in `drop_causes`. drivers/net/vxlan/vxlan_core.c, vxlan_rcv().
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SILENT: Final = 0.5  # of the drops: an interface that sends fewer frames does not get its own back


def headed(seen: Any) -> Mapping[str, Any]:
    """The interfaces at the port of the packets, with their extensions."""
    ports = {row.to_port for row in seen.rows if row.to_port}
    found = [one for one in seen.host.links.values()
             if one.kind == "vxlan" and one.tunnel_port in ports]  # fmt: skip
    if not found:
        return {}
    told = (f"{one.interface} ({one.extensions or 'no extension'})" for one in found)
    return {"tunnels": ", ".join(told)}


def twin(seen: Any) -> Mapping[str, Any]:
    """The other host that has the MAC of a VXLAN, which sends too little to hear itself."""
    link = seen.host.links.get(seen.drop.nic or "")
    moved = seen.host.frame.tables.get("link_stats", ())
    sent = next((one.rate("tx_packets") for one in moved
                 if link is not None and one.now.interface == link.interface), None)  # fmt: skip
    if link is None or not link.address or sent is None or seen.drop.per_s is None:
        return {}
    if sent >= SILENT * seen.drop.per_s:
        return {}
    ends = {one.remote for one in seen.host.frame.rows("fdb")
            if one.interface == link.interface and one.remote} | {link.tunnel_remote}  # fmt: skip
    known = sorted(filter(None, ends))
    return {"mac": link.address, "behind": f" behind {known[0]}" if len(known) == 1 else ""}
