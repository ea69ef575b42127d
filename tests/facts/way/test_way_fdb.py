"""Forwarding entries: by which port of a bridge, or to which end of a VXLAN, the frames leave."""

from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, route, went

from nettop.collect.fdb import Row
from nettop.collect.neighbour_states import Row as Neighbour
from nettop.facts.way import HIDDEN, PASSES, Way

MAC, OTHERS = "02:00:00:00:09:02", "00:00:00:00:00:00"
TO = "10.9.0.2"


def walked(
    over: str, *rows: Row, remote: str = "reachable", near: str = "reachable", vni: int = 42,
    **port: Any,
) -> Way:  # fmt: skip
    """The way to a neighbour on `x0`, with these entries; `b0` is a port if it is a bridge."""
    more = {"master": "x0", "slave_kind": "bridge", "port_state": "forwarding", **port}
    below = link("b0", 3, **(more if over == "bridge" else {}))
    seen = [Neighbour("x0", TO, 4, near, MAC), Neighbour("a0", FAR, 4, remote)]
    return went(TO, frame(
        links=[*SOUND["links"][:2], below, link("x0", 9, kind=over, tunnel_id=vni)], fdb=rows,
        fib=[*SOUND["fib"], route("10.9.0.0/24", "x0", source=NEAR)], neighbour_states=seen,
    ))  # fmt: skip


def entry(state: str = "learned", **more: Any) -> Row:
    return Row("b0", MAC, "", 0, "x0", state, **more)


@pytest.mark.parametrize(("row", "says"), [
    (entry("static", sticky=True), "by an entry that is static and sticky"),
    (entry("permanent"), "by an entry that is permanent"),
    (entry("static", told=True), ""),
    (entry(), ""),
])  # fmt: skip
def test_an_entry_that_was_set_by_hand_is_trusted_unseen(row: Row, says: str) -> None:
    way = walked("bridge", row)
    assert way.decider is None
    assert (way.suspect is not None) is bool(says)
    if way.suspect is not None:
        assert says in way.suspect.saw
        assert way.suspect.change == f"bridge fdb del {MAC} dev b0 master"
    else:
        assert any(one.saw.endswith("leave by b0, a port of x0") for one in way.of(PASSES))


@pytest.mark.parametrize(("floods", "known", "stops"), [
    (False, (), True), (True, (), False), (None, (), False), (False, (entry(),), False),
])  # fmt: skip
def test_a_bridge_that_does_not_flood_needs_an_entry(
    floods: bool | None, known: Any, stops: bool
) -> None:
    way = walked("bridge", *known, floods=floods)
    assert (way.decider is not None) is stops
    if way.decider is not None:
        assert way.decider.saw == (
            f"the bridge x0 has no entry for {MAC}, with which {TO} answers, and sends frames to "
            "unknown addresses not to b0 (flood off)"
        )
        assert way.decider.change.startswith("bridge link set dev b0 learning on flood on; or ")


def test_an_entry_of_a_port_that_is_down() -> None:
    other = link("c0", 4, master="x0", slave_kind="bridge", port_state="forwarding")
    seen = frame(
        links=[*SOUND["links"][:2], link("b0", 3, master="x0", up=False), other,
               link("x0", 9, kind="bridge")],
        fdb=[entry("static")], neighbour_states=[Neighbour("x0", TO, 4, "reachable", MAC)],
        fib=[*SOUND["fib"], route("10.9.0.0/24", "x0", source=NEAR)],
    )  # fmt: skip
    suspect = went(TO, seen).suspect
    assert suspect is not None
    assert suspect.saw.endswith("leave by b0, a port of x0, which is down")


def test_a_hardware_address_of_the_bridge_itself() -> None:
    suspect = walked("bridge", Row("x0", MAC, "", 0, "x0", "permanent")).suspect
    assert suspect is not None
    assert suspect.saw == f"{MAC}, with which {TO} answers, is an address of x0 itself"


def far(hardware: str = MAC, state: str = "permanent", **more: Any) -> Row:
    return Row("x0", hardware, FAR, 0, None, state, **more)


def test_the_remote_end_of_a_vxlan() -> None:
    suspect = walked("vxlan", far(), far(OTHERS)).suspect
    assert suspect is not None
    assert suspect.saw == (
        f"frames to {TO} ({MAC}) go through x0 to {FAR}, by an entry that is permanent: x0 does "
        "not learn where the host is"
    )
    assert suspect.change.startswith(f"bridge fdb replace {MAC} dev x0 dst REMOTE")
    for row in (far(OTHERS), far(state="learned"), far(told=True)):
        assert walked("vxlan", row).suspect is None
        assert any(f"to {FAR}" in one.saw for one in walked("vxlan", row).of(PASSES))


def test_a_remote_end_that_does_not_answer_decides() -> None:
    decider = walked("vxlan", far(), remote="failed").decider
    assert decider is not None
    assert decider.saw.endswith(f"to {FAR}, and no neighbour answers for {FAR} on a0")
    assert decider.neighbours == (f"{FAR}@a0",)
    assert walked("vxlan", far(OTHERS), remote="failed").decider is None  # one of several


@pytest.mark.parametrize(("rows", "vni", "stops"), [
    ((), 42, True), ((far("02:00:00:00:09:03"),), 42, True), ((far(OTHERS),), 42, False),
    ((Row("x0", MAC, "", 0, None, "permanent"),), 42, False),  # a group of next hops
    ((), 0, False),  # routes name the remote end
])  # fmt: skip
def test_a_vxlan_without_an_entry_for_the_address(rows: Any, vni: int, *, stops: bool) -> None:
    decider = walked("vxlan", *rows, vni=vni).decider
    assert (decider is not None) is stops
    if decider is not None:
        assert decider.saw == (
            f"the VXLAN x0 has no remote end for {MAC}, the address of {TO}: no forwarding entry, "
            f"and none for unknown addresses ({OTHERS})"
        )
        assert f"`bridge fdb append {MAC} dev x0 dst REMOTE`" in decider.change


def test_the_entries_that_a_program_keeps_are_meant_so() -> None:
    """Flannel: permanent neighbours and entries, and none for unknown hosts."""
    kept = far(), Row("x0", "02:00:00:00:09:03", NEAR, 0, None, "permanent")
    way = walked("vxlan", *kept, near="permanent")
    assert (way.decider, way.suspect) == (None, None)
    assert walked("vxlan", *kept, far(OTHERS), near="permanent").suspect is not None


def test_a_vxlan_that_is_a_port_of_the_bridge() -> None:
    rows = [Row("b0", one, FAR, 0, None, "permanent") for one in (MAC, OTHERS)]
    way = walked("bridge", entry(), *rows, kind="vxlan")
    assert way.suspect is not None
    assert f"go through b0 to {FAR}" in way.suspect.saw


def test_entries_that_were_not_read_are_not_visible() -> None:
    seen = [Neighbour("x0", TO, 4, "reachable", MAC)]
    tables = {"links": [*SOUND["links"], link("x0", 9, kind="vxlan")], "neighbour_states": seen,
              "fib": [*SOUND["fib"], route("10.9.0.0/24", "x0", source=NEAR)]}  # fmt: skip
    hidden = went(TO, frame("fdb", **tables)).of(HIDDEN)
    assert any("the forwarding entries: not permitted" in one.saw for one in hidden)
