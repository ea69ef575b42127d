"""Features of many interfaces, as facts: those that are alike are one object."""

from __future__ import annotations

from nic_tables import joined, link

from nettop.collect import features
from nettop.facts.kinds.nic import Feature


def test_a_feature_that_interfaces_have_alike_is_one_object() -> None:
    """A thousand veth interfaces have sixty features each."""
    names = ("veth1", "veth2")
    facts = joined(
        {
            "links": [link(name, kind="veth") for name in names],
            "features": [features.Row(name, "rx-gro", True, True, False) for name in names],
        }
    )
    first, second = (nic.features for nic in facts.nics)
    assert first == (Feature("rx-gro", on=True, wanted=True, fixed=False),)
    assert first[0] is second[0]
