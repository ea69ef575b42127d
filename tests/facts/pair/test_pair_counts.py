"""Packets that one host lost, by stage: which counters are added, and which are parts."""

from dataclasses import replace
from typing import Any

import pytest
from scenes import healthy

from nettop.collect import qdiscs
from nettop.facts import Facts
from nettop.facts.kinds.nic import Nic
from nettop.facts.limits import Limit, Reading
from nettop.facts.pair import model
from nettop.facts.pair.losses import Counts, arriving, leaving
from nettop.frame.rates import Entry, Frame


def port(name: str, lower: tuple[str, ...] = (), **totals: float) -> Nic:
    nic = Nic(name, "nic", lower=lower)
    return replace(nic, total=replace(nic.total, **totals))


def host(*nics: Nic) -> Facts:
    facts = healthy().facts
    assert facts is not None
    return replace(facts, nics=nics)


def frame(*rows: Any) -> Frame:
    return Frame(1.0, 1.0, {"qdiscs": tuple(Entry(row) for row in rows)}, {}, {})


def discipline(interface: str, handle: str, drops: int | None, *, root: bool = False) -> Any:
    fields: dict[str, Any] = dict.fromkeys(qdiscs.Row.__dataclass_fields__)
    fields |= {"interface": interface, "kind": "htb", "handle": handle, "root": root,
               "parent": "root" if root else "1:1", "drops": drops}  # fmt: skip
    return qdiscs.Row(**fields)


def test_a_qdisc_that_holds_others_counts_their_drops_too() -> None:
    """The root of a tree counts what its children drop; children alone may count more."""
    nics = host(port("eth0"))
    root = discipline("eth0", "1:", 5, root=True)
    leaves = discipline("eth0", "10:", 2), discipline("eth0", "20:", 2)
    assert leaving(frame(root, *leaves), nics, "eth0").lost["qdisc"] == 5
    assert leaving(frame(replace(root, drops=3), *leaves), nics, "eth0").lost["qdisc"] == 4
    assert leaving(frame(replace(root, drops=None)), nics, "eth0").lost == {}
    other = discipline("eth9", "1:", 7, root=True)
    assert leaving(frame(other), nics, "eth0").lost == {}


def test_the_ports_below_an_interface_take_part_and_others_do_not() -> None:
    nics = host(
        port("bond0", ("eth1", "eth2"), rx_bytes=3000.0, rx_packets=2.0),
        port("eth0", ring_drops=100.0),
        port("eth1", ring_drops=3.0),
        port("eth2", ring_drops=4.0),
    )
    known = arriving(frame(), nics, "bond0")
    assert known.lost == {"ring": 7.0}
    assert known.names["ring"].startswith("eth2, ")
    assert known.received == (3000.0, 2.0)
    assert arriving(frame(), nics, "no such interface").lost == {}


@pytest.mark.parametrize(
    ("before", "after", "mean"),
    [
        ((0.0, 0.0), (3000.0, 2.0), 1500.0),
        ((1000.0, 1.0), (2500.0, 2.0), 1500.0),
        ((1000.0, 1.0), (1000.0, 1.0), 0.0),
        (None, (3000.0, 2.0), 0.0),
        ((0.0, 0.0), None, 0.0),
    ],
)
def test_the_mean_size_of_what_arrived(
    before: tuple[float, float] | None, after: tuple[float, float] | None, mean: float
) -> None:
    assert Counts(received=after).mean(Counts(received=before)) == mean


def limit(direction: str, rate: float | None, over: str = "flow", where: str | None = None) -> Any:
    stage = Reading("thread", "here")
    target = "10.0.0.1:1>10.0.0.2:2"
    return Limit(over, target, direction, rate, 0.0, stage, (), None, (stage,), namespace=where)


def test_where_both_hosts_send_the_higher_rate_counts() -> None:
    fast, slow, unknown = limit("tx", 5.0), limit("tx", 4.0), limit("tx", None)
    assert model._sides(fast, slow) == (True, fast, None)
    assert model._sides(slow, fast) == (False, fast, None)
    assert model._sides(unknown, limit("tx", 0.5))[0] is False
    assert model._sides(limit("tx", 0.5), unknown)[0] is True
    take, less = limit("rx", 5.0), limit("rx", 4.0)
    assert model._sides(take, less) == (False, None, take)
    assert model._sides(less, take) == (True, None, take)


def test_only_flows_of_the_hosts_own_namespace_are_joined() -> None:
    own = limit("tx", 1.0)
    assert list(model._by_name((own,)).values()) == [own]
    assert model._by_name((limit("tx", 1.0, over="nic"),)) == {}
    assert model._by_name((replace(own, namespace="pod"),)) == {}


def test_what_filters_of_the_receiver_drop_is_lost_there() -> None:
    nics = host(port("eth0"))
    filters = replace(discipline("eth0", "ffff:", 7), kind="ingress", parent="ingress")
    found = arriving(frame(filters, discipline("eth0", "1:", 5, root=True)), nics, "eth0")
    assert found.lost == {"qdisc": 7}
    assert found.names["qdisc"] == "filters of ingress ffff: of eth0"
    assert leaving(frame(filters), nics, "eth0").lost == {}


def test_a_queue_with_waiting_packets_is_named() -> None:
    nics = host(port("eth0"))
    root, leaf = discipline("eth0", "1:", 0, root=True), discipline("eth0", "10:", 0)
    assert leaving(frame(root, leaf), nics, "eth0").waits == ""
    waiting = replace(leaf, kind="bfifo", backlog=9000)
    assert leaving(frame(root, waiting), nics, "eth0").waits == "bfifo 10: of eth0"
    assert leaving(frame(root, waiting), host(port("eth1")), "eth1").waits == ""
