"""The MTU of the end of a veth pair that is in another network namespace."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nettop.facts.wiring import far_ends, far_mtu


def row(namespace: int, index: int, peer: int | None, mtu: int | None) -> Any:
    return SimpleNamespace(namespace=namespace, index=index, peer=peer, mtu=mtu)


def links(*indices: int) -> Any:
    """The ends here."""
    return [SimpleNamespace(index=index) for index in indices]


OWN = links(5, 6)


def test_both_ends_name_each_other() -> None:
    ends = far_ends({}, [row(7, 2, 5, 9000), row(8, 2, 6, 1500), row(8, 3, None, 1500)], OWN)
    assert [far_mtu(2, index, ends) for index in (5, 6, 4)] == [9000, 1500, None]
    assert far_mtu(None, 5, ends) is None


def test_a_namespace_at_rest_keeps_its_end() -> None:
    known = far_ends({}, [row(7, 2, 5, 9000)], OWN)
    assert far_ends(known, [], OWN) is known
    assert far_mtu(2, 5, known) == 9000
    assert far_mtu(2, 5, far_ends(known, [row(7, 2, 5, 1500)], OWN)) == 1500


def test_a_pair_that_is_gone_is_forgotten() -> None:
    rows = [row(space, 2, space, 1500) for space in range(1, 400)]
    known = far_ends({}, rows, links(*range(400)))
    assert len(known) == 399
    assert list(far_ends(known, [], OWN)) == [(5, 2, 5), (6, 2, 6)]
    assert not far_ends(known, [row(7, 2, 9, 1500)], ())


def test_two_that_may_be_it_are_not_known_unless_alike() -> None:
    for other, found in ((1500, None), (9000, 9000)):
        ends = far_ends({}, [row(7, 2, 5, 9000), row(8, 2, 5, other)], OWN)
        assert far_mtu(2, 5, ends) == found
