"""What an interface loses, all counters together."""

from __future__ import annotations

from nettop.facts.kinds.nic import Counters
from nettop.views.past import lost


def test_losses_are_summed_and_unknown_where_none_is_counted() -> None:
    assert lost(Counters()) is None
    assert lost(Counters(rx_dropped=0.0)) == 0.0
    assert lost(Counters(ring_drops=1.0, rx_dropped=2.0, qdisc_drops=4.0)) == 7.0
