"""An open connection whose segments a rule on `ct state invalid` drops."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from way_filters import ACCEPT, DROP, ruled
from way_tables import FAR, NEAR, listener

from nettop.collect.drop_reasons import Row
from nettop.facts.cut_connections import cut
from nettop.facts.way.flow import Host
from nettop.frame.rates import Entry

INVALID = (("ct", 0, 1), ("bitwise", 1, 1, "01000000", "00000000"), ("cmp", 1, 1, "00000000"))
DROPPED = Row("NETFILTER_DROP", "nft_do_chain", "here", "2", "tcp", "6379", 1, 5.0, FAR, 40000,
              NEAR, 6379)  # fmt: skip
OPEN = replace(
    listener(NEAR, 6379, state="established", remote=FAR, remote_port=40000),
    bytes_received=800, bytes_acked=1,
)  # fmt: skip


def found(*rules: Any, row: Row = DROPPED, past: Any = None) -> Any:
    frame = ruled(*(rules or ((*INVALID, DROP),)), hook="input", sockets_tcp=[OPEN])
    frame.tables["sockets_tcp"] = [Entry(OPEN, before=past)]
    return cut(SimpleNamespace(host=Host.of(frame), rows=[row]))


def test_the_rule_and_the_connection_are_named() -> None:
    one = found()
    assert one["cut"]
    assert one["by"] == "Rule of handle 2 in chain c (hook input, inet t)"
    assert one["ends"] == "10.0.0.2:40000 to 10.0.0.1:6379"
    assert one["cure"] == "nft delete rule inet t c handle 2"


def test_other_packets_and_rules_are_not_it() -> None:
    assert not found(row=replace(DROPPED, source_port=40001))  # of no connection
    assert not found((DROP,))  # those that are tracked too
    assert not found((ACCEPT,))
    assert found(past=OPEN)
    assert not found(past=replace(OPEN, bytes_received=700))  # others get through
