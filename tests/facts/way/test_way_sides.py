"""Hooks of one interface, ports that the kernel chooses, and sources of this link alone."""

from dataclasses import replace
from typing import Any

import pytest
from way_filters import ACCEPT, DROP, PORT80
from way_tables import FAR, SOUND, frame, link, route, switches, went

from nettop.collect import addresses, filters, qdiscs, sysctls
from nettop.collect.failed_calls import Row as Call
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule

ON = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
RANGE = sysctls.Row("net.ipv4.ip_local_port_range", "32768\t60999")
ESTABLISHED = (("ct", 0, 1), ("bitwise", 1, 1, "06000000", "00000000"), ("cmp", 1, 1, "00000000"))


def chained(*hooks: Hook, rules: Any = (), **more: Any) -> Any:
    return frame(nft_hooks=hooks, nft_rules=rules, interface_sysctls=ON, **more)


@pytest.mark.parametrize(("device", "stops"), [("a0", True), ("b0", False)])
def test_a_chain_of_the_interface_by_which_packets_leave_is_walked(
    device: str, *, stops: bool
) -> None:
    hook = Hook("netdev", "t", "c", "egress", 0, "filter", drops=False, devices=(device,))
    way = went(FAR, chained(hook, rules=[Rule("netdev", "t", "c", 3, (*PORT80, DROP))]), port=80)
    assert (way.decider is not None) is stops
    if way.decider is not None:
        assert "handle 3 in chain c" in way.decider.saw
        assert way.decider.change == "nft delete rule netdev t c handle 3"


@pytest.mark.parametrize(
    ("port", "untracked", "stops"),
    [("0016", True, True), ("0016", False, False), ("9c40", True, False)],
)
def test_an_answer_comes_to_a_port_that_the_kernel_chose(
    port: str, *, untracked: bool, stops: bool
) -> None:
    """A rule for port 22 is none for it; one for 40000 may be."""
    one = ("payload", 1, 2, 2, 2), ("cmp", 1, 0, port), ACCEPT
    rules = [Rule("inet", "t", "in", 2, (*ESTABLISHED, ACCEPT)), Rule("inet", "t", "in", 3, one)]
    hooks = [Hook("inet", "t", "in", "input", 0, "filter", drops=True)]
    if untracked:
        hooks.append(Hook("inet", "t", "raw", "output", -300, "filter", drops=False))
        rules.append(Rule("inet", "t", "raw", 4, (("notrack",),)))
    way = went(FAR, chained(*hooks, rules=rules, sysctls=[RANGE]), port=80)
    assert (way.decider is not None) is stops
    if way.decider is not None:
        assert "leaves this flow untracked (notrack)" in way.decider.saw


@pytest.mark.parametrize("duplicate", [True, False])
def test_no_router_forwards_what_has_a_source_of_this_link(*, duplicate: bool) -> None:
    near = addresses.Row("a0", "fe80::1", 64, 6, "link", tentative=False)
    lost = addresses.Row("a0", "fd00::1", 64, 6, "global", tentative=True, duplicate=duplicate)
    routes = [route("::/0", "a0", "fe80::fe"), route("fe80::/64", "a0")]
    seen = frame(addresses=[near, lost], fib=routes, interface_sysctls=ON)
    way = went("2001:db8::7", seen, origin="fe80::1")
    assert way.decider is not None
    assert way.decider.saw.startswith("a0 gives packets the link-local source fe80::1, which no")
    assert ("is that of another host" in way.decider.saw) is duplicate
    assert "ip addr add fd00::1/64 dev a0" in way.decider.change
    on_link = went("fe80::9", seen, origin="fe80::1")
    assert on_link.decider is None


def test_a_new_destination_is_doubted_where_calls_to_the_old_one_fail() -> None:
    data = ("immediate", 1, "0a00004d"), ("immediate", 2, "1f91"), ("nat", 1, 1, 2)
    rule = Rule("ip", "lb", "out", 2, (*PORT80, *data))
    hook = Hook("ip", "lb", "out", "output", -100, "nat", drops=False)
    failed = Call("connection", "EHOSTUNREACH", address=FAR, pid=7, where="here", port="80",
                  process="app", events=4)  # fmt: skip
    sound = went(FAR, chained(hook, rules=[rule]), port=80)
    assert sound.suspect is None
    for one, doubted in ((failed, True), (replace(failed, port="81"), False)):
        way = went(FAR, chained(hook, rules=[rule], failed_calls=[one]), port=80)
        assert (way.suspect is not None) is doubted
    way = went(FAR, chained(hook, rules=[rule], failed_calls=[failed]), port=80)
    assert way.suspect is not None
    assert "sends these packets to 10.0.0.77:8081, and calls for them fail" in way.suspect.saw
    assert "nft delete rule ip lb out handle 2" in way.suspect.change


@pytest.mark.parametrize("kind", ["veth", "ifb"])
def test_a_filter_that_leads_packets_away_as_they_leave_is_doubted(kind: str) -> None:
    links = [*SOUND["links"], link("tap0", 9, kind=kind)]
    rule = filters.Row("a0", "egress", 10, 1, 0, "u32", "redirect", "tap0", packets=40)
    clsact = qdiscs.Row("a0", "ffff:", "clsact", "ingress", root=False)
    way = went(FAR, frame(links=links, filters=[rule], qdiscs=[clsact]))
    assert (way.suspect is not None) is (kind == "veth")
    if way.suspect is not None:
        assert "redirects packets to tap0: those do not leave by a0" in way.suspect.saw
        assert "tc filter del dev a0 egress pref 10" in way.suspect.change
