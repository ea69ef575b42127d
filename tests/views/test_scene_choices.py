"""Which interface is shown, and which row, finding and steps a scene has."""

from dataclasses import replace
from typing import Any

import pytest
from folded import folded
from scenes import RING, SACK, lossy

from nettop.facts import Facts
from nettop.facts.kinds.nic import Nic
from nettop.facts.limits import Limit, Reading
from nettop.views.past import History
from nettop.views.scene import Ended, Peer, Scene, SceneOrigin, nic_of
from nettop.views.view import Spot, View, chosen, under

KNOWN = lossy().facts
assert KNOWN is not None
FACTS: Facts = KNOWN
PLAIN = next(nic for nic in FACTS.nics if nic.name == "eth0")


def nic(name: str, mb: float | None, **more: Any) -> Nic:
    """An interface that moves so many MB/s, half of it in each direction."""
    half = None if mb is None else mb * 5e5
    rates = replace(PLAIN.per_s, rx_bytes=half, tx_bytes=half)
    usual: dict[str, Any] = {"kind": "nic", "master": None, "carrier": True, "carries_ssh": False}
    return replace(PLAIN, name=name, per_s=rates, **{**usual, **more})


def shown(*nics: Nic, **more: Any) -> str:
    """The name of the interface that is shown, whatever their order."""
    names = set()
    for order in (nics, nics[::-1]):
        scene = Scene(facts=replace(FACTS, nics=order), **more)
        found = nic_of(scene, View())
        assert found is not None
        names.add(found.name)
    assert len(names) == 1, names
    return names.pop()


VETH: Any = {"kind": "veth"}
LOOP: Any = {"kind": "loopback"}


@folded(
    ("winner", "loser"),
    [
        (nic("b", 10), nic("a", 7)),
        (nic("a", 9.99), nic("b", 10)),  # alike: a router that passes it on
        (nic("a", 1), nic("b", 99, **VETH)),  # a hundredfold
        (nic("b", 130, **VETH), nic("a", 1)),
        (nic("b", 1, **VETH), nic("a", None)),
        (
            nic("a", None),
            nic("lo", 0.09, **LOOP),
        ),  # loopback counts a hundredth, and not below idle
        (nic("lo", 0.11, **LOOP), nic("a", None)),
        (nic("lo", 5000, **LOOP), nic("b", 30, **VETH)),
        (nic("b", 70, **VETH), nic("lo", 5000, **LOOP)),
        (nic("a", None), nic("lo", None, **LOOP)),
        (nic("b", None, **VETH), nic("lo", None, **LOOP)),
        (nic("a", None), nic("b", None, **VETH)),
        (nic("a", None), nic("b", None, carrier=False)),
        (nic("a", None, carries_ssh=True), nic("b", None)),
        (nic("a", None), nic("b", None, carrier=False, carries_ssh=True)),
        (nic("a", 1, carrier=False), nic("b", None)),
        (nic("b", 60, **VETH), nic("c", 90, kind="veth", master="br0")),  # its bridge counts twice
        (nic("c", 90, kind="veth", master="br0"), nic("b", 30, **VETH)),
        (nic("b", None, **VETH), nic("c", None, kind="veth", master="br0")),
        (nic("a", 2, master="bond0"), nic("b", 1)),
    ],
)
def test_the_interface_that_matters_most_is_shown(winner: Nic, loser: Nic) -> None:
    assert shown(winner, loser) == winner.name


@pytest.mark.parametrize(
    ("stage", "end", "name"), [("qdisc", "here", "up"), ("peer", "there", "br"), ("", "", "br")]
)
def test_of_interfaces_that_pass_the_same_that_which_limits_it_is_shown(
    stage: str, end: str, name: str
) -> None:
    reading = Reading(stage or "application", end or "here", "it")
    limit = Limit("nic", "up", "tx", 1e6, stage=reading, ladder=(reading,))
    scene = Scene(facts=replace(FACTS, nics=(nic("br", 10), nic("up", 9)), limits=(limit,)))
    found = nic_of(scene, View())
    assert found is not None
    assert found.name == name


def test_a_chosen_one_comes_first_and_then_a_critical_finding() -> None:
    quick, slow = nic("a", 10), nic("eth0", 1)
    assert RING.severity == "critical"
    assert str(RING.target).startswith("eth0")
    assert shown(quick, slow) == "a"
    assert shown(quick, slow, findings=(RING,)) == "eth0"
    assert shown(quick, slow, findings=(replace(RING, severity="warning"),)) == "a"
    assert shown(quick, slow, findings=(replace(RING, target="gone0"), RING)) == "eth0"
    assert shown(quick, slow, findings=(replace(RING, target="eth0/rx-1"),)) == "eth0"
    scene = Scene(facts=replace(FACTS, nics=(quick, slow)), findings=(RING,))
    for name, wanted in (("a", "a"), ("eth0", "eth0"), ("gone0", "eth0")):
        found = nic_of(scene, View(nic=name))
        assert found is not None
        assert found.name == wanted
    assert nic_of(Scene(), View()) is None
    assert nic_of(Scene(facts=replace(FACTS, nics=())), View()) is None


@pytest.mark.parametrize(("seconds", "name"), [(0, "b"), (9, "b"), (10, "a"), (20, "a")])
def test_the_highest_rate_of_the_last_ten_moments_counts(seconds: int, name: str) -> None:
    """`b` was busy, and has been idle for so many seconds."""
    past = History()
    for second in range(30):
        rate = 100.0 if second == 29 - seconds else 1.0
        nics = (nic("a", 10), nic("b", rate if second <= 29 - seconds else 1.0))
        past = past.add(replace(FACTS, nics=nics, at=float(second)), 1000.0 + second)
    assert shown(nic("a", 10), nic("b", 1), past=past) == name


def test_a_finding_is_known_in_whatever_state_it_is() -> None:
    ended = Ended(SACK, steps=("old",))  # type: ignore[arg-type]
    empty = Scene()
    assert empty.finding(RING.id) is None
    assert empty.steps(RING.id) == ()
    for scene in (Scene(findings=(RING,)), Scene(muted=(RING,)), Scene(ended=(Ended(RING),)),
                  Scene(peer=Peer(("a", "b"), findings=(RING,)))):  # fmt: skip
        assert scene.finding(RING.id) is RING
        assert scene.finding(SACK.id) is None
    steps: Any = ("new",)
    assert (
        Scene(plans={RING.id: steps}, ended=(replace(ended, finding=RING),)).steps(RING.id) == steps
    )
    peer = Peer(("a", "b"), plans={SACK.id: steps})
    assert Scene(peer=peer, ended=(ended,)).steps(SACK.id) == steps
    assert Scene(peer=Peer(("a", "b")), ended=(ended,)).steps(SACK.id) == ended.steps
    assert Scene(ended=(ended,)).steps(RING.id) == ()
    assert Scene(origin=SceneOrigin("host", "ssh b")).distant
    assert not Scene(origin=SceneOrigin("recording", "via x")).distant


@folded(
    ("spot", "by_id", "anyhow"),
    [
        (Spot(on="b"), 1, 1), (Spot(on="a", index=2), 0, 0), (Spot(on="x", index=1), -1, 1),
        (Spot(on="x", index=9), -1, 2), (Spot(index=1), 1, 1), (Spot(index=9), 2, 2),
        (Spot(), 0, 0),
    ],
)  # fmt: skip
def test_the_row_under_the_cursor(spot: Spot, by_id: int, anyhow: int) -> None:
    items = ("a", "b", "c")
    assert (under(items, spot), chosen(items, spot)) == (by_id, anyhow)
    assert under((), spot) == chosen((), spot) == -1


def test_a_spot_is_of_its_pane() -> None:
    view = View(pane="flows").at(index=3, on="x")
    assert (view.spot.index, view.spot.on) == (3, "x")
    other = replace(view, pane="nic")
    assert other.spot == Spot()
    assert other.at(top=1).spots == {"flows": Spot(on="x", index=3), "nic": Spot(top=1)}
