"""`why --to`: what the kernel drops of arriving packets while nettop looks, where it fits."""

from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, qdisc

from nettop.collect import half_open
from nettop.commands import _way
from nettop.facts.way import Flow, walk

HOST: Any = {
    "links": [*SOUND["links"], link("ifb0", 9, kind="ifb", up=False)],
    "qdiscs": [qdisc("a0", "ingress", root=False)],
}
DROPPED = f"2.000\nTC_INGRESS 4 __netif_receive_skb_core here 2 tcp 80 {FAR} 40000 {NEAR} 80\n"


@pytest.mark.parametrize(
    ("text", "drops", "found"),
    [
        (DROPPED, True, True),
        (DROPPED, False, False),
        ("2.000\n", True, False),
        ("odd", True, False),
    ],
)
def test_drops_of_the_flow_are_a_doubt(
    text: str, monkeypatch: pytest.MonkeyPatch, *, drops: bool, found: bool
) -> None:
    monkeypatch.setattr(half_open, "now", lambda _: [])
    source: Any = SimpleNamespace(counted=lambda _: text, wait=lambda _: True)
    seen = frame(**HOST)
    way = walk(Flow(NEAR, 80, FAR, "a0"), seen)
    suspect = _way._observed(source, way, seen, drops=drops).suspect
    assert (suspect is not None) is found
    if suspect is not None:
        assert suspect.change == "ip link set ifb0 up"
