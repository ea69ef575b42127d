"""Filters of tc that redirect what arrives to another interface."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from way_tables import FAR, NEAR, SOUND, frame, link, qdisc, went

from nettop.collect.filters import Row
from nettop.facts.kinds.way import build
from nettop.frame.pairs import entries

SEEN: Any = SimpleNamespace(more={}, flows=())
TO_SPAN = Row("a0", "ingress", 10, 1, 0, "u32", "redirect", "span0", packets=0)
BACK = replace(TO_SPAN, interface="span0", target="a0")


def facts(*rows: Row, kind: str = "veth") -> list[Any]:
    """With 90 packets more than a second ago."""
    seen = frame(links=[*SOUND["links"], link("span0", 4, kind=kind)],
                 qdiscs=[qdisc("a0", "ingress", root=False)])  # fmt: skip
    now = [replace(one, packets=90) for one in rows]
    seen.tables["filters"] = entries(now, entries(rows, (), 0.0), 1.0)  # type: ignore[index]
    return list(build(seen, SEEN))


def test_what_a_filter_takes_away_is_told_with_the_filter() -> None:
    (one,) = facts(TO_SPAN)
    assert one.id == NEAR
    assert one.decider == (
        "the filter pref 10 (u32) of ingress on a0 redirects packets to span0: this host gets none "
        "of those"
    )
    assert one.meant
    assert one.change.endswith("or tc filter del dev a0 ingress pref 10")


@pytest.mark.parametrize(("rows", "kind"), [
    ((TO_SPAN,), "ifb"), ((TO_SPAN,), "tun"), ((TO_SPAN, BACK), "veth"),
    ((replace(TO_SPAN, action="mirror"),), "veth"),
])  # fmt: skip
def test_what_comes_back_or_goes_to_a_guest_is_no_trouble(rows: Any, kind: str) -> None:
    assert not [one for one in facts(*rows, kind=kind) if one.stops]


@folded(("rule", "kind"), [
    (TO_SPAN, "ifb"), (TO_SPAN, "tun"), (TO_SPAN, "veth"),
    (replace(TO_SPAN, parent="egress"), "ifb"),  # of what this host sends
])  # fmt: skip
def test_what_a_filter_redirects_to_an_interface_that_is_down_is_dropped(
    rule: Row, kind: str
) -> None:
    down = link("span0", 4, kind=kind, up=False)
    seen = frame(links=[*SOUND["links"], down], qdiscs=[qdisc("a0", "clsact", root=False)],
                 filters=[replace(rule, packets=90)])  # fmt: skip
    suspect = went(FAR, seen, port=443).suspect
    assert suspect is not None
    assert suspect.saw == (
        f"the filter pref 10 (u32) of {rule.parent} on a0 redirects packets to span0, which is "
        "down: they are dropped"
    )
    assert suspect.change.startswith("ip link set span0 up, or tc filter del dev a0 ")
    idle = replace(rule, packets=0)  # nothing came to it
    seen.tables["filters"] = entries([idle], (), 1.0)  # type: ignore[index]
    assert went(FAR, seen, port=443).suspect is None
