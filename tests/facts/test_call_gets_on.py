"""Calls that fail beside the work of their program: a server that is off, a client that leaves."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.collect import failed_calls
from nettop.config import rules_folder
from nettop.facts.kinds.call import build
from nettop.frame.rates import Entry, Frame
from nettop.terms.dataclass import picked

FIELDS = "id kind call error means events per_s share opened beside gets_on"


def severity(lines: str, flows: tuple[Any, ...] = (), opened: float = 0.0) -> list[str]:
    """Of the findings about these lines of `bpf.calls`, counted in two seconds."""
    entries = tuple(Entry(row) for row in failed_calls.parse("2.000\n" + lines))
    host = SimpleNamespace(tcp_active=0.0, tcp_passive=opened)
    seen: Any = SimpleNamespace(flows=flows, host=host, more={})
    calls = build(Frame(0.0, 2.0, {"failed_calls": entries}), seen)
    told = [{key: value for key, value in picked(one, FIELDS).items() if value is not None}
            for one in calls]  # fmt: skip
    judge = Judge(load([rules_folder()]), muted=(), window=0.0)
    findings = judge.judge(facts({"calls": told}, "server", 1000.0)).findings
    return [one.severity for one in findings if one.rule == "calls-fail"]


REFUSED = "connection ECONNREFUSED 4 7 here 10.0.0.2 8081 balancer\n"


@pytest.mark.parametrize(("others", "expected"), [
    ("", "critical"),
    ("connection 0 200 7 here 10.0.0.2 8080 balancer\n", "advice"),  # another port
    ("connection 0 200 7 here 10.0.0.3 8081 balancer\n", "advice"),  # another host
    ("connection 0 200 7 here 10.0.0.3 6379 balancer\n", "critical"),  # another service
    ("connection 0 200 9 here 10.0.0.2 8080 other\n", "critical"),  # another program
    ("connection 0 20 7 here 10.0.0.2 8080 balancer\n", "critical"),  # one of six fails
])  # fmt: skip
def test_a_server_that_is_off_is_advice_while_the_others_are_used(
    others: str, expected: str
) -> None:
    assert severity(REFUSED + others) == [expected]


@pytest.mark.parametrize(("many", "port", "expected"), [
    (9, 8080, "advice"), (8, 8080, "critical"), (9, 8081, "critical"),
])  # fmt: skip
def test_connections_that_stay_open_to_the_others_tell_it_too(
    many: int, port: int, expected: str
) -> None:
    flows = many * (SimpleNamespace(pid=7, tx_per_s=None, rx_per_s=9e4, remote="10.0.0.2",
                                    remote_port=port),)  # fmt: skip
    assert severity(REFUSED, flows) == [expected]


def reset(clients: int) -> str:
    return "".join(
        f"sendto ECONNRESET 1 7 here 10.0.0.2 {50_000 + one} media\n" for one in range(clients)
    )


def served(many: int, pid: int = 7, first: int = 40_000) -> tuple[Any, ...]:
    return tuple(
        SimpleNamespace(
            pid=pid, tx_per_s=9e4, rx_per_s=0.0, remote="10.0.0.2", remote_port=first + one
        )
        for one in range(many)
    )


@pytest.mark.parametrize(("flows", "expected"), [
    (served(5), "advice"),
    (served(5, pid=9), "critical"),
    (served(4), "critical"),
    (served(9, first=50_000), "critical"),  # those that are reset
])  # fmt: skip
def test_clients_that_leave_are_advice_while_others_are_served(
    flows: tuple[Any, ...], expected: str
) -> None:
    assert severity(reset(20), flows, 10.0) == [expected]


def test_a_server_that_resets_what_is_sent_to_it_is_no_client() -> None:
    assert severity("sendto ECONNRESET 20 7 here 10.0.0.2 443 app\n", served(30), 10.0) == [
        "critical"
    ]
