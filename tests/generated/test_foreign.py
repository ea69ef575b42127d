"""Unusual and everyday hosts: the wanted finding comes first, and nothing else is loud."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from folded import folded
from generated import everyday, foreign, score
from generated.invariants import broken

from nettop.advice.rules.rule import Finding

MEANINGS = tomllib.loads(Path(__file__).with_name("meanings.toml").read_text())


@folded("one", [*foreign.HOSTS, *everyday.HOSTS], ids=lambda one: one.name)
def test_a_host_is_judged_as_an_expert_would(one: foreign.Foreign) -> None:
    facts, found = score.observed(one.made())
    wanted = set(MEANINGS[one.wanted]) if one.wanted else set()
    loud = {finding.rule for finding in found if finding.severity in score.LOUD}
    assert loud <= wanted
    if wanted:
        assert found[0].rule in wanted
    assert list(broken(facts, found)) == []
    if one in everyday.HOSTS and not wanted:
        nothing_is_offered(one, found)


def nothing_is_offered(one: foreign.Foreign, found: Sequence[Finding]) -> None:
    """But for adaptive moderation, which the documentation of ena advises for throughput."""
    offered = {want.setting.partition("@")[0] for finding in found for want in finding.wanted}
    assert offered <= ({"coalesce.adaptive-rx"} if one.driver == "ena" else set())
    assert [
        finding.id for finding in found if finding.severity == "advice" and not finding.wanted
    ] == []
