"""Facts of packets that a VXLAN drops: what of its configuration decides it."""

from dataclasses import replace
from typing import Any

import pytest
from drops_told import seen, told
from way_tables import SOUND, link, route

from nettop.collect import fdb, link_stats, neighbour_states
from nettop.frame.pairs import entries


@pytest.mark.parametrize(("port", "extensions", "means"), [
    (4789, "", "The VXLAN header does not fit the interface: vx0 (no extension)"),
    (4789, "gbp", "The VXLAN header does not fit the interface: vx0 (gbp)"),
    (8472, "", "The VXLAN header is not valid"),
])  # fmt: skip
def test_the_vxlan_whose_header_does_not_fit_is_named(
    port: int, extensions: str, means: str
) -> None:
    vxlan = link("vx0", 7, kind="vxlan", tunnel_port=4789, extensions=extensions)
    row = seen("VXLAN_INVALID_HDR", "vxlan_rcv", to_port=port)
    assert told(row, links=[*SOUND["links"], vxlan]).means == means


def test_the_identifiers_that_vxlans_at_the_port_have_are_named() -> None:
    vxlan = link("vx0", 7, kind="vxlan", tunnel_port=4789, tunnel_id=20)
    row = seen("VXLAN_VNI_NOT_FOUND", "vxlan_rcv", to_port=4789)
    means = "No VXLAN interface has the network identifier that arrives (vx0 has 20)"
    assert told(row, links=[*SOUND["links"], vxlan]).means == means


@pytest.mark.parametrize("remote", ["", "10.0.0.2"])
def test_the_entry_that_a_vxlan_has_not_is_named(remote: str) -> None:
    mac = "02:00:00:00:09:02"
    one = told(
        seen("NO_TX_TARGET", "vxlan_xmit", source="10.9.0.1", to="10.9.0.2"),
        links=[*SOUND["links"], link("vx0", 7, kind="vxlan", tunnel_id=20)],
        fib=[*SOUND["fib"], route("10.9.0.0/24", "vx0")],
        fdb=[fdb.Row("vx0", mac, remote, 0, None, "permanent")] if remote else [],
        neighbour_states=[neighbour_states.Row("vx0", "10.9.0.2", 4, "permanent", mac)],
    )
    assert one.exact is (not remote)
    if one.exact:
        assert one.means.startswith(f"The VXLAN vx0 has no remote end for {mac}")
        assert f"`bridge fdb append {mac} dev vx0 dst REMOTE`" in one.advice
        assert (one.rule, one.raises) == ("", ("tx_dropped",))


@pytest.mark.parametrize(("sent", "named"), [(0, True), (40, False)])
def test_another_host_has_the_mac_of_a_vxlan_that_sends_nothing(sent: int, *, named: bool) -> None:
    vxlan = link("vx0", 2, kind="vxlan", address="02:00:00:00:00:07", tunnel_remote="10.0.0.2")
    row = replace(seen("LOCAL_MAC", "vxlan_rcv"), protocol="arp", port="")
    none: Any = dict.fromkeys(link_stats.Row.__dataclass_fields__)
    rows = [link_stats.Row(**{**none, "interface": "vx0", "tx_packets": n}) for n in (0, sent)]
    moved = entries(rows[1:], entries(rows[:1], (), 0.0), 1.0)
    dropped = entries([row], entries([replace(row, packets=0)], (), 0.0), 1.0)
    one = told(row, links=[vxlan], entries_of={"link_stats": moved, "drop_reasons": dropped})
    assert one.exact is named
    if named:
        assert one.means == "Another host behind 10.0.0.2 has the MAC 02:00:00:00:00:07 of vx0"
