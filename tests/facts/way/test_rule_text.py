"""The text of a rule, made of the expressions that the kernel gives."""

from typing import Any

import pytest
from way_tables import NEAR, frame, went

from nettop.collect import nft_hooks, nft_sets
from nettop.collect.nft_rules import Row
from nettop.facts.way.flow import Host
from nettop.facts.way.rule_text import written

TCP = ("meta", 16, 1), ("cmp", 1, 0, "06")
PORT = ("payload", 1, 2, 2, 2)
DROP = ("immediate", 0, "0:")


def text(*does: Any) -> str:
    sets = [
        nft_sets.Row("ip", "t", "__set0", (("0050", "0050", ""), ("1f40", "1f4a", ""))),
        nft_sets.Row("ip", "t", "__map0", (("0016", "0016", "-3:web"),)),
    ]
    return written(Row("ip", "t", "c", 2, does), Host.of(frame(nft_sets=sets)))


@pytest.mark.parametrize(("does", "told"), [
    ((*TCP, PORT, ("cmp", 1, 0, "0016"), ("counter",), DROP), "tcp dport 22 counter drop"),
    ((*TCP, PORT, ("lookup", "__set0", 1, 0), DROP), "tcp dport { 80, 8000-8010 } drop"),
    ((*TCP, PORT, ("lookup", "__map0", 1, 0, 0)), "tcp dport vmap { 22 : jump web }"),
    ((PORT, ("cmp", 1, 5, "0016"), ("cmp", 1, 3, "0019"), DROP), "th dport 22-25 drop"),
    ((PORT, ("range", 1, 1, "0016", "0019")), "th dport != 22-25"),
    ((("meta", 6, 1), ("cmp", 1, 0, "65746800")), 'iifname "eth"'),
    ((("meta", 7, 1), ("cmp", 1, 1, "657468")), 'oifname != "eth*"'),
    ((("payload", 1, 1, 12, 1), ("cmp", 1, 0, "0a")), "ip saddr 10.0.0.0/8"),
    ((("meta", 15, 1), ("cmp", 1, 0, "02"), ("payload", 1, 1, 16, 4),
      ("bitwise", 1, 1, "fffffc00", "00000000"), ("cmp", 1, 0, "c0a80400")),
     "ip daddr 192.168.4.0/22"),
    ((("payload", 1, 1, 12, 4), ("payload", 9, 2, 2, 2), ("lookup", "bad", 1, 0)),
     "ip saddr . th dport @bad"),
    ((("ct", 0, 1), ("bitwise", 1, 1, "06000000", "00000000"), ("cmp", 1, 1, "00000000")),
     "ct state established,related"),
    ((("payload", 1, 2, 13, 1), ("bitwise", 1, 1, "12", "00"), ("cmp", 1, 0, "02")),
     "tcp flags & 0x12 == 2"),
    ((("limit", 10, 1, 5, 0, 1), DROP), "limit rate over 10/second burst 5 packets drop"),
    ((("quota", 1000, 1, 0), ("reject",)), "quota over 1000 bytes reject"),
    ((("queue", 3, 4, 0),), "queue to 3-6"),
    ((("immediate", 1, "0a080001"), ("immediate", 2, "0fa0"), ("immediate", 3, "0fa3"),
      ("nat", 0, 1, 2)), "snat to 10.8.0.1:4000-4003"),
    ((("masq",),), "masquerade"),
    ((("immediate", 1, "07000000"), ("meta", 3)), "meta mark set 0x7"),
    ((("match", "recent"), DROP), "match recent … drop"),
    ((("fib", 1, 3, 2), ("cmp", 1, 0, "02000000"), ("fib", "?"), DROP), "… fib … drop"),
    ((("payload", 1, 1, 12, 4), ("cmp", 1, 0, "?")), "ip saddr …"),
])  # fmt: skip
def test_a_rule_reads_as_nft_writes_it(does: tuple[Any, ...], told: str) -> None:
    assert text(*does) == told


def test_the_rule_that_decides_is_told_in_full() -> None:
    chain = nft_hooks.Row("ip", "t", "c", "input", 0, "filter", drops=False)
    rule = Row("ip", "t", "c", 2, (*TCP, PORT, ("cmp", 1, 0, "0050"), DROP))
    decider = went(NEAR, frame(nft_hooks=[chain], nft_rules=[rule]), port=80).decider
    assert decider is not None
    assert decider.rule == "tcp dport 80 drop"
    assert decider.command == "nft -a list chain ip t c"
