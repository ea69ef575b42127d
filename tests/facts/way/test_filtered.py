"""Which rules of the packet filter may have dropped packets that were seen."""

from dataclasses import replace
from typing import Any

import pytest
from folded import folded
from way_tables import frame

from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.kernel import Row as Kernel
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.collect.nftables import Row as Nftables
from nettop.facts.way import chains
from nettop.facts.way.chains import filtered, writing
from nettop.facts.way.flow import Host
from nettop.frame.rates import Entry, Frame

DROP, ACCEPT = ("immediate", 0, "0:"), ("immediate", 0, "1:")
IPV6 = ("meta", 1, 1), ("cmp", 1, 0, "86dd")
UDP = ("meta", 16, 1), ("cmp", 1, 0, "11")
PORT9 = (*UDP, ("payload", 1, 2, 2, 2), ("cmp", 1, 0, "0009"))
USER = ("meta", 10, 1), ("lookup", "banned", 1, 0)
LEAVES_A0 = ("meta", 7, 1), ("cmp", 1, 0, b"a0".hex() + "00" * 14)
STATE = ("ct", 0, 1), ("bitwise", 1, 1, "01000000", "00000000"), ("cmp", 1, 1, "00000000")
HERE, FAR, OLD = "10.0.0.1", "10.9.9.9", "iptables"
SEEN = Drop(
    "NETFILTER_DROP", "nft_do_chain", "here", "2", "udp", "5309", 40, 2.0,
    FAR, 40000, HERE, 5309,
)  # fmt: skip
SENT = replace(SEEN, interface="", source=HERE, to=FAR)


def may(
    does: tuple[Any, ...], seen: Drop = SEEN, hook: str = "input", family: str = "inet",
    rule: str = "2", kernel: str = "6.18.1",
) -> bool:  # fmt: skip
    """Whether a rule is named for the drop."""
    row = Nftables(family, "t", "c", rule, hook, packets=None)
    short = family.removesuffix("tables")
    known = Rule(short, "t", "c", 2, does, old=family == OLD)
    chain = Hook(short, "t", "c", hook, 0, "filter", drops=rule == "policy", old=family == OLD)
    tables = frame(
        nftables=[row], nft_rules=[known], nft_hooks=[chain], drop_reasons=[seen],
        kernel=[Kernel(kernel, "", None, None)],
    )  # fmt: skip
    return bool(filtered(Host.of(tables), [seen]))


@folded(
    "does",
    [
        (("objref", 2, "tenant"), DROP),
        (DROP,),
        (*UDP, DROP),
        (*USER, DROP),
        (*STATE, DROP),
        (*LEAVES_A0, DROP),
    ],
)
def test_a_rule_that_the_packet_may_match_is_named(does: tuple[Any, ...]) -> None:
    assert may(does)
    assert may(does, replace(SEEN, to="", source="", protocol=""))


@pytest.mark.parametrize(("does", "seen", "hook", "family"), [
    ((*PORT9, DROP), SEEN, "input", "inet"), ((*IPV6, DROP), SEEN, "input", "inet"),
    ((DROP,), SEEN, "output", "inet"),  # it arrived
    ((DROP,), SENT, "input", "inet"),
    ((DROP,), SEEN, "input", "ip6"), ((DROP,), SEEN, "input", "arp"),
    ((DROP,), SEEN, "input", OLD),  # the drop is one of nf_tables
    ((DROP,), replace(SEEN, place="nf_hook_slow"), "input", "inet"),
])  # fmt: skip
def test_one_that_it_does_not_match_or_meet_is_not(
    does: tuple[Any, ...], seen: Drop, hook: str, family: str
) -> None:
    assert not may(does, seen, hook, family)


def test_each_rule_of_a_long_chain_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Nftables("ip", "t", "c", str(one), "input", packets=None) for one in range(200)]
    known = [Rule("ip", "t", "c", one, (DROP,)) for one in range(200)]
    host, looked, own = Host.of(frame(nftables=rows, nft_rules=known)), [0], chains.place

    def counted(one: Any) -> Any:
        looked[0] += 1
        return own(one)

    monkeypatch.setattr(chains, "place", counted)
    assert filtered(host, [SEEN]) == rows
    assert looked == [200]


def test_the_place_tells_nf_tables_and_the_older_iptables_apart_on_new_kernels() -> None:
    hooked = replace(SEEN, place="nf_hook_slow")
    assert may((DROP,), hooked, family=OLD)
    assert may((DROP,), hooked, kernel="6.6.9")
    assert may((DROP,), hooked, family=OLD, kernel="6.6.9")


def test_a_policy_is_named_only_if_the_packet_may_reach_it() -> None:
    assert not may((*UDP, ACCEPT), rule="policy")
    assert may((*PORT9, ACCEPT), rule="policy")
    assert may((*USER, ACCEPT), rule="policy")


def test_what_may_have_dropped_most_comes_first() -> None:
    rows = [Nftables("ip", "t", "c", one, "input", packets=None) for one in ("2", "3")]
    rules = [Rule("ip", "t", "c", 2, (*PORT9, DROP)), Rule("ip", "t", "c", 3, (DROP,))]
    seen = [replace(SEEN, to_port=9, packets=2), SEEN]
    host = Host.of(frame(nftables=rows, nft_rules=rules))
    assert [one.rule for one in filtered(host, seen)] == ["3", "2"]


@pytest.mark.parametrize(
    ("counts", "before", "named"),
    [
        ((9, 8), (9, 7), "3"),
        ((9, 8), (7, 8), "2"),
        ((9, 8), (9, 8), ""),
        ((None, 8), (None, 8), "2"),
    ],
)
def test_where_no_counter_rises_just_now_one_that_rose_before_is_named(
    counts: tuple[int | None, int], before: tuple[int | None, int], named: str
) -> None:
    def rows(packets: tuple[int | None, int]) -> list[Nftables]:
        each = zip("23", packets, strict=True)
        return [Nftables("ip", "t", "c", one, "input", packets=many) for one, many in each]

    entries = tuple(Entry(row, before=row, older=one if one != row else None, seconds=1.0)
                    for row, one in zip(rows(counts), rows(before), strict=True))  # fmt: skip
    known = frame(nft_rules=[Rule("ip", "t", "c", int(one), (DROP,)) for one in "23"])
    host = Host.of(Frame(0.0, 0.0, {**known.tables, "nftables": entries}))
    assert [one.rule for one in filtered(host, [SEEN])] == list(named)


TTL, PORT = ("payload", 1, 8, 1), ("payload", 1, 2, 2, 2)


@folded(("hook", "does", "hops", "found"), [
    ("prerouting", (TTL,), True, True), ("postrouting", (TTL,), True, False),
    ("prerouting", (("payload", 1, 7, 1),), True, False),  # another byte
    ("prerouting", (("payload", 2, 12, 2),), True, False),
    ("prerouting", (("payload", 2, 12, 2),), False, True),
    ("prerouting", (("payload", 1, 1, 8, 1),), True, False),  # it reads
    ("prerouting", (PORT, ("cmp", 1, 0, "0035"), TTL), True, True),
    ("prerouting", (PORT, ("cmp", 1, 0, "0050"), TTL), True, False),  # of another port
    ("prerouting", (("target", "TTL"),), True, True),
])  # fmt: skip
def test_a_rule_that_writes_into_what_arrives(
    hook: str, does: tuple[Any, ...], hops: bool, found: bool
) -> None:
    row = Drop("IP_INHDR", "ip_forward", "here", "2", "udp", "53", 9, 9.0, "10.0.0.2", 4000,
               "10.7.0.1", 53)  # fmt: skip
    rule = Rule("ip", "mangle", "pre", 2, does)
    chain = Hook("ip", "mangle", "pre", hook, -150, "filter", drops=False)
    host = Host.of(frame(nft_hooks=[chain], nft_rules=[rule]))
    assert writing(host, row, hops=hops) == ((chain, rule) if found else None)
