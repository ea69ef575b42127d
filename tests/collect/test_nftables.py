"""Drops of nf_tables from raw messages: which rules count what they drop."""

import struct
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import Fake
from nft_bytes import (
    ACCEPT,
    ARP,
    DROP,
    INET,
    NETDEV,
    be32,
    be64,
    chain,
    counter,
    expression,
    nest,
    rule,
    text,
    verdict,
)

from nettop.collect import nft_rules, nftables
from nettop.host.netlink.codec import attribute

CHAINS = chain("in", hook=1, policy=ACCEPT) + chain("bad")
LIMIT = expression("limit", be64(1, 100), be64(2, 1), be32(3, 5))
MATCH = expression("cmp", be32(1, 8), be32(2, 0))


def parsed(*expressions: bytes, name: str = "in") -> list[nftables.Row]:
    return nftables.parse(CHAINS, rule(name, 7, *expressions))


def test_a_rule_that_counts_and_drops_is_listed_with_the_hook_of_its_chain() -> None:
    (row,) = parsed(MATCH, counter(4711, 9), verdict(DROP))
    assert (row.family, row.table, row.chain, row.rule) == ("inet", "t", "in", "7")
    assert (row.hook, row.limited, row.packets) == ("input", False, 4711)
    (row,) = parsed(counter(3), verdict(DROP), name="bad")
    assert row.hook == ""


def test_a_rate_limit_is_known_before_the_counter() -> None:
    (row,) = parsed(LIMIT, counter(5), verdict(DROP))
    assert (row.limited, row.packets) == (True, 5)


@pytest.mark.parametrize(("flags", "told"), [(1, "over "), (0, "")])
def test_a_rate_limit_is_told_with_its_figures(flags: int, told: str) -> None:
    limit = expression("limit", be64(1, 25), be64(2, 1), be32(3, 10), be32(4, 0), be32(5, flags))
    (row,) = parsed(limit, counter(5), verdict(DROP))
    assert row.tests == f"limit rate {told}25/second burst 10 packets"
    (read,) = nft_rules.parse(rule("in", 7, limit, verdict(DROP)))
    assert read.does[0] == ("limit", 25, 1, 10, 0, flags)
    each = expression("dynset", nest(7, limit[4:]))
    (read,) = nft_rules.parse(rule("in", 7, each, verdict(DROP)))
    assert read.does[:2] == (("dynset",), ("limit", 25, 1, 10, 0, flags))


def test_what_a_rule_tests_of_connections_is_told() -> None:
    state = expression("ct", be32(2, 0), be32(1, 1))
    mask = expression("bitwise", nest(4, attribute(1, struct.pack("=I", 1 | 4))))
    many = expression("connlimit", be32(1, 20), be32(2, 1))
    (row,) = parsed(state, mask, MATCH, many, counter(5), verdict(DROP))
    assert row.tests == "ct state invalid,related, ct count over 20"
    assert row.told == "inet/t/in/7 (ct state invalid,related, ct count over 20)"
    tally = expression("counter", be64(1, 0), be64(2, 9))  # of an element
    for each in (nest(7, many[4:]), nest(10, tally, many)):
        (row,) = parsed(MATCH, expression("dynset", each), counter(5), verdict(DROP))
        assert (row.tests, row.limited, row.packets) == ("ct count over 20", True, 5)
    mark = expression("ct", be32(2, 3), be32(1, 1))
    (row,) = parsed(mark, mask, counter(5), verdict(DROP))
    assert (row.tests, row.told) == ("", "inet/t/in/7")
    (row,) = parsed(expression("ct", bytes(8)), expression("connlimit", bytes(8)), verdict(DROP))
    assert row.tests == ""  # scrubbed


@pytest.mark.parametrize(("inverted", "told"), [(0, "ct state invalid"), (1, "")])
def test_the_state_that_a_rule_of_iptables_tests_is_told(inverted: int, told: str) -> None:
    info = bytes(146) + struct.pack("=3H", 1, inverted, 1) + bytes(8)
    match = expression("match", text(1, "conntrack"), be32(2, 3), attribute(3, info))
    (row,) = parsed(match, counter(5), verdict(DROP))
    assert row.tests == told


def test_a_rule_on_fragments_is_told_so() -> None:
    field = expression("payload", be32(2, 1), be32(3, 6), be32(4, 2))
    mask = expression("bitwise", nest(4, attribute(1, b"\x3f\xff")))
    other = expression("cmp", be32(2, 1), nest(3, attribute(1, b"\0\0")))
    port = expression("payload", be32(2, 2), be32(3, 2), be32(4, 2))
    (row,) = parsed(field, mask, other, port, other, counter(5), verdict(DROP))
    assert row.tests == "ip frag-off & 0x3fff != 0: fragments"
    (row,) = parsed(expression("exthdr", be32(1, 1), attribute(2, b"\x2c")), verdict(DROP))
    assert row.tests == "exthdr frag: fragments"


@pytest.mark.parametrize(("key", "name"), [(3, "meta mark"), (10, "meta skuid")])
def test_a_mark_or_a_user_that_a_rule_tests_is_told(key: int, name: str) -> None:
    own = struct.pack("=I", 7)  # in the byte order of the host
    meta, mask = expression("meta", be32(2, key), be32(1, 1)), nest(4, attribute(1, own))
    other = expression("cmp", be32(2, 0), nest(3, attribute(1, own)))
    assert [row.tests for row in parsed(meta, other, verdict(DROP))] == [f"{name} 7"]
    masked = parsed(meta, expression("bitwise", mask), other, verdict(DROP))
    assert [row.tests for row in masked] == [f"{name} & 0x00000007 7"]


@pytest.mark.parametrize(("family", "number", "hook", "told"), [
    (INET, 1, "input", "ip frag-off 1"), (ARP, 0, "input", "arp operation 1"),
    (NETDEV, 0, "ingress", "ip frag-off 1"), (NETDEV, 1, "egress", "ip frag-off 1"),
])  # fmt: skip
def test_hooks_and_fields_are_those_of_the_family(
    family: int, number: int, hook: str, told: str
) -> None:
    field = expression("payload", be32(2, 1), be32(3, 6), be32(4, 2))
    asks = expression("cmp", be32(2, 0), nest(3, attribute(1, b"\0\1")))
    known = rule("in", 7, field, asks, verdict(DROP), family=family)
    (row,) = nftables.parse(chain("in", number, family=family), known)
    assert (row.hook, row.tests) == (hook, told)


def test_a_verdict_map_may_drop() -> None:
    (row,) = parsed(MATCH, expression("lookup", text(1, "verdicts"), be32(2, 1), be32(3, 0)))
    assert (row.maps, row.packets) == (True, None)
    assert row.told == "inet/t/in/7 (vmap @verdicts: an element may drop)"
    assert parsed(expression("lookup", text(1, "names"), be32(2, 1), be32(3, 9))) == []
    assert parsed(expression("lookup", text(1, "names"), be32(2, 1))) == []
    (row,) = parsed(expression("lookup", text(1, "names"), be32(2, 1)), verdict(DROP))
    assert not row.maps


@pytest.mark.parametrize(("place", "flags", "name", "told"), [
    ((1, 12, 4), 0, "banned", "ip saddr @banned"), ((2, 2, 2), 1, "open", "dport != @open"),
    ((1, 9, 1), 0, "others", "a value @others"), ((1, 12, 4), 0, "__set0", ""),
])  # fmt: skip
def test_the_set_that_a_rule_looks_up_is_named(
    place: tuple[int, int, int], flags: int, name: str, told: str
) -> None:
    field = expression("payload", *(be32(2 + n, one) for n, one in enumerate(place)))
    looked = expression("lookup", text(1, name), be32(2, 1), be32(5, flags))
    (row,) = parsed(field, looked, counter(5), verdict(DROP))
    assert row.tests == told


@pytest.mark.parametrize(("used", "flags", "told"), [
    (50_000, 3, "quota over 50000 bytes: used up"), (49_999, 1, "quota over 50000 bytes"),
    (50_000, 2, "quota 50000 bytes: used up"),
])  # fmt: skip
def test_a_quota_is_told_with_whether_it_is_used_up(used: int, flags: int, told: str) -> None:
    def big(kind: int, value: int) -> bytes:
        return attribute(kind, struct.pack(">Q", value))

    quota = expression("quota", big(1, 50_000), be32(2, flags), big(4, used))
    (row,) = parsed(MATCH, quota, counter(5), verdict(DROP))
    assert (row.tests, row.limited) == (told, False)


def test_a_log_or_a_reject_may_follow_the_counter() -> None:
    assert len(parsed(counter(5), expression("log"), verdict(DROP))) == 1
    assert len(parsed(MATCH, counter(5), expression("reject"))) == 1


@pytest.mark.parametrize(
    "expressions",
    [
        (counter(5), verdict(ACCEPT)),
        (counter(5), verdict(-3, "bad")),
        (counter(5),),
        (),
    ],
    ids=["accepts", "jumps", "no verdict", "empty"],
)
def test_a_rule_that_drops_nothing_is_not_listed(expressions: tuple[bytes, ...]) -> None:
    assert parsed(*expressions) == []


@pytest.mark.parametrize(
    "expressions",
    [(verdict(DROP),), (counter(5), MATCH, verdict(DROP)), (counter(5), LIMIT, verdict(DROP))],
    ids=["no counter", "match later", "limit later"],
)
def test_a_rule_that_does_not_count_what_it_drops_has_no_number(
    expressions: tuple[bytes, ...],
) -> None:
    (row,) = parsed(*expressions)
    assert (row.rule, row.packets) == ("7", None)


def test_a_policy_counts_if_its_chain_has_counters() -> None:
    chains = chain("in", 1, DROP, 12) + chain("out", 3, ACCEPT, 13) + chain("fwd", 2, DROP)
    counts, silent = nftables.parse(chains, b"")
    assert (counts.chain, counts.rule, counts.hook, counts.packets) == ("in", "policy", "input", 12)
    assert (silent.chain, silent.rule, silent.hook, silent.packets) == (
        "fwd", "policy", "forward", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        ({}, True),  # a kernel without modules
        ({"/proc/modules": "nf_tables 1 0 - Live 0x0\nx 1 0 - Live 0x0\n"}, True),
        ({"/proc/modules": "x 1 0 - Live 0x0\n"}, False),
        (
            {
                "/proc/modules": "x 1 0 - Live 0x0\n",
                "/proc/sys/kernel/osrelease": "6.1.0\n",
                "/lib/modules/6.1.0/modules.builtin": "kernel/net/netfilter/nf_tables.ko\n",
            },
            True,
        ),
        (
            {
                "/proc/modules": "x 1 0 - Live 0x0\n",
                "/proc/sys/kernel/osrelease": "6.1.0\n",
                "/lib/modules/6.1.0/modules.builtin": "kernel/net/x.ko\n",
                "/proc/net/netlink": "sk Eth Pid\n0 12 0 0\n",
            },
            False,
        ),
        ({"/proc/modules": "x 1 0 -\n", "/proc/net/netlink": "sk Eth Pid\n0 12 0 0\n"}, True),
        (
            {"/proc/modules": "nfnetlink 1 0 -\n", "/proc/net/netlink": "sk Eth Pid\n0 12 0 0\n"},
            False,
        ),
    ],
)
def test_no_request_loads_the_module(files: dict[str, str], asked: bool) -> None:
    class Host(Fake):
        def text(self, path: str) -> str:
            if path in files:
                return files[path]
            raise FileNotFoundError(2, "No such file or directory", path)

    source = Host({"netfilter/chains": CHAINS, "netfilter/rules": rule("in", 1, counter(1))})
    with nullcontext() if asked else pytest.raises(FileNotFoundError, match="not loaded"):
        nftables.update(source, {})
    assert bool(source.asked) is asked


@given(st.integers(0, 200), st.binary(max_size=40))
def test_any_bytes_are_rows_or_one_error(at: int, noise: bytes) -> None:
    good = CHAINS + rule("in", 7, LIMIT, counter(5), verdict(DROP))
    raw = good[:at] + noise + good[at + len(noise) :]
    try:
        nftables.parse(raw, raw)
    except ValueError:
        return


def test_an_answer_that_ends_early_is_an_error() -> None:
    with pytest.raises(ValueError, match="cut off"):
        nftables.parse(struct.pack("=IHHII", 18, 0xA03, 0, 1, 0) + b"\x01\x00\x00\x00", b"")


def test_other_families_have_their_own_names() -> None:
    raw = bytearray(rule("in", 7, counter(1), verdict(DROP)))
    raw[16] = 10
    assert nftables.parse(b"", bytes(raw))[0].family == "ip6"


def test_a_rule_shows_its_verdict_and_the_address_to_which_it_translates() -> None:
    address = expression("immediate", be32(1, 1), nest(2, attribute(1, bytes((10, 2, 0, 30)))))
    (row,) = nft_rules.parse(rule("pre", 7, address, expression("nat"), verdict(0)))
    assert row.does == (("immediate", 1, "0a02001e"), ("nat",), ("immediate", 0, "0:"))


def test_a_jump_to_a_chain_that_rejects_all_is_what_drops() -> None:
    chains = chain("forward", hook=2, policy=DROP) + chain("refuse")
    reset = expression("reject", be32(1, 1))
    door = rule("refuse", 7, MATCH, reset) + rule("refuse", 8, expression("reject", be32(1, 0)))
    jump = verdict(-3, "refuse")
    policy, row = nftables.parse(chains, rule("forward", 4, MATCH, counter(44), jump) + door)
    assert (policy.rule, policy.packets) == ("policy", None)
    assert (row.name, row.hook, row.packets) == ("inet/t/forward/4", "forward", 44)
    assert row.rejects
    bare = nftables.parse(chains, rule("forward", 4, MATCH, jump) + door)
    assert [(one.rule, one.packets, one.rejects) for one in bare] == [
        ("policy", None, False), ("7", None, True), ("8", None, True),
    ]  # fmt: skip
    open_ = rule("refuse", 7, MATCH, reset)  # what does not match goes on
    rows = nftables.parse(chains, rule("forward", 4, counter(44), jump) + open_)
    assert [one.rule for one in rows] == ["policy", "7"]
    (row,) = nftables.parse(
        b"", rule("in", 4, counter(3), verdict(-4, "none")) + rule("in", 5, verdict(DROP))
    )
    assert (row.rule, row.rejects) == ("5", False)


@pytest.mark.parametrize(("kind", "told"), [
    (2, "the quota object tenant7"), (4, "the limit object tenant7"), (1, ""),
])  # fmt: skip
def test_an_object_that_a_rule_tests_is_named(kind: int, told: str) -> None:
    named = expression("objref", be32(1, kind), attribute(2, b"tenant7\0"))
    (row,) = parsed(MATCH, named, verdict(DROP))
    assert row.tests == told
