"""A counter of the host, and the way of the packets that it counts."""

from __future__ import annotations

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.config import rules_folder

RULES = load([rules_folder()])


@pytest.mark.parametrize("explains", [True, False])
def test_a_counter_is_explained_by_the_way_of_its_packets_alone(explains: bool) -> None:
    named = ("IP_RPFILTER/f", "reverse-path-filter-drops") if explains else ()
    way = {"id": "10.0.0.1:80", "what": "packets", "stops": True, "decider": "no route back",
           "change": "x", "asks": "y", "packets": 900, "per_s": 180.0,
           "explains": named}  # fmt: skip
    drop = {"id": "IP_RPFILTER/f", "reason": "IP_RPFILTER", "kind": "refused", "means": "refused",
            "advice": "look", "packets": 900, "per_s": 180.0, "nics": "feed0", "nic": "feed0",
            "rule": "reverse-path-filter-drops", "whose": "udp port 80",
            "of": "a to b"}  # fmt: skip
    host = {"reverse_path_drops": 180, "ip_in": 200}
    table = facts({"host": host, "drops": [drop], "ways": [way]}, "server", 1000.0)
    told = {one.rule: one for one in Judge(RULES, window=0.0).judge(table).findings}
    counted = told["reverse-path-filter-drops"]
    assert counted.cause == ("destination-out-of-reach@10.0.0.1:80" if explains else "")
    assert {row["field"]: row["value"] for row in counted.evidence}["drop.of"] == "a to b"
    assert "net.ipv4.conf.feed0.rp_filter=2" in " ".join(counted.advice)
