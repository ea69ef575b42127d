"""Actions of tc filters that drop packets, as facts."""

from dataclasses import replace
from typing import Any

import pytest
from flow_tables import HOST, joined, link

from nettop.collect import drop_reasons
from nettop.collect.filters import Row


def row(drops: int, packets: int, **more: Any) -> Row:
    plain = {"kind": "flower", "action": "police", "rate": 300e6, "bytes": 0}
    return Row("eth0", "1:", 5, 1, 0, **{**plain, "packets": packets, "drops": drops, **more})


def test_an_action_that_dropped_is_told_with_what_it_lets_pass() -> None:
    first, last = row(0, 0), row(28, 925, burst=10_000)
    (one,) = joined({**HOST, "filters": [first]}, {**HOST, "filters": [last]}).more["filter"]
    assert (one.id, one.nic, one.action) == ("eth0/1:/pref-5", "eth0", "police at 300 Mb/s")
    assert (one.taken, one.passed, one.drops_per_s) == (925, 897, 28)
    assert (one.burst, round(one.lasts, 6), one.ample) == (10_000, 0.000267, "750kb")


def test_drops_and_redirects_are_called_as_tc_does_and_what_drops_nothing_is_left_out() -> None:
    def told(**more: Any) -> list[str]:
        tables = {**HOST, "filters": [row(**more)]}
        return [one.action for one in joined(tables, tables).more["filter"]]

    assert told(drops=1, packets=1, action="gact", rate=None) == ["drop"]
    assert told(drops=1, packets=1, action="redirect", rate=None, target="ifb0") == [
        "redirect to ifb0"
    ]
    assert told(drops=0, packets=9) == []


@pytest.mark.parametrize(("found", "told"), [
    ({"up": True}, []), ({"up": True, "carrier": True}, []),
    ({"up": True, "carrier": False}, ["redirect to ifb0"]), ({"up": False}, ["redirect to ifb0"]),
])  # fmt: skip
def test_what_the_queue_behind_a_redirect_drops_is_not_the_filters(
    found: dict[str, bool], told: list[str]
) -> None:
    redirect = row(1, 9, action="redirect", rate=None, target="ifb0")
    tables = {**HOST, "filters": [redirect], "links": [*HOST["links"], link("ifb0", 9, **found)]}
    assert [one.action for one in joined(tables, tables).more["filter"]] == told


def test_a_drop_at_a_hook_of_tc_names_the_action_that_counts_it_or_the_programs_there() -> None:
    def told(reason: str, *rows: Row) -> str:
        def at(packets: int, *given: Row) -> Any:
            where = drop_reasons.Row(reason, "place", "here", "2", "tcp", "", packets)
            return {**HOST, "filters": given, "drop_reasons": [where]}

        still = [replace(one, drops=0) for one in rows]
        (one,) = joined(at(1, *still), at(9, *rows)).more["drop"]
        return str(one.filters)

    police, root = row(28, 90, kind="u32"), row(28, 90)
    ingress = replace(police, parent="ingress")
    program = replace(ingress, priority=1, kind="bpf", action="program", rate=None, drops=None,
                      program="cil_from_netdev")  # fmt: skip
    assert told("TC_INGRESS", program, ingress) == "police at 300 Mb/s (u32, pref 5)"
    assert told("TC_INGRESS", program, root) == "program cil_from_netdev"
    assert told("TC_EGRESS", program, root) == ""
    assert told("QDISC_DROP", program, root) == "police at 300 Mb/s (flower, pref 5)"
