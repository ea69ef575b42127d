"""A patient before and after nettop's fix, without namespaces: what is cured, and what is harm."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from clinic import scoreboard, treated, ward, work
from clinic.place import Place
from clinic.scenario import Scenario
from clinic.work import Work

SICK = Scenario("netns", {"name": "a host", "surface": "tcp", "first": ["small@*"]})
CALM = Work(bits=8e6, packets=1000, datagrams=0, connections=0, lost=0.0)
DEV = """Inter-|
 face |
    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0
  eth0: 1000 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0
"""
SNMP = """Tcp: RtoAlgorithm MaxConn PassiveOpens RetransSegs
Tcp: 1 -1 7 2
Udp: InDatagrams RcvbufErrors
Udp: 40 3
"""
SNMP6 = "Udp6InDatagrams                 \t2\nUdp6RcvbufErrors\t1\n"
NETSTAT = "TcpExt: SyncookiesSent ListenDrops\nTcpExt: 0 4\n"


def found(rule: str, value: str = "", *, severity: str = "warning") -> dict[str, Any]:
    changes = [{"setting": "sysctl.a", "after": value}] if value else []
    return {"rule": rule, "id": f"{rule}@host", "severity": severity, "changes": changes}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that nettop was given; it advises `small` first, and then `LEFT`."""
    words: list[list[str]] = []

    @contextlib.contextmanager
    def patient(_scenario: Scenario) -> Iterator[Place]:
        yield Place((), (), {})

    def nettop(_place: Place, told: list[str], _state: str = "") -> dict[str, Any]:
        words.append(told)
        return {"changes": [{"state": "pending"}]}

    monkeypatch.setattr(ward, "patient", patient)
    monkeypatch.setattr(ward, "nettop", nettop)
    monkeypatch.setattr(work, "counters", lambda _place: dict.fromkeys(
        ("bits", "packets", "datagrams", "connections", "lost"), 0.0))  # fmt: skip
    return words


def looks(monkeypatch: pytest.MonkeyPatch, *answers: list[dict[str, Any]]) -> None:
    rest = iter(answers)
    monkeypatch.setattr(ward, "ask", lambda _place, _scenario: {"findings": next(rest)})


def test_a_fix_cures_when_nettop_applied_it_and_its_finding_is_gone(
    said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(monkeypatch, [found("small", "9")], [])
    outcome, fix = treated.play(SICK)
    assert outcome.right
    assert [words[0] for words in said] == ["apply", "confirm"]
    assert fix is not None
    assert (fix.fixed, fix.cures) == (("small@host",), True)


def test_what_is_found_again_and_what_begins_is_told(
    said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(
        monkeypatch,
        [found("small", "9"), found("other", "8")],
        [found("small"), found("new"), found("quiet", severity="info"), found("other")],
    )
    fix = treated.play(SICK)[1]
    assert said
    assert fix is not None
    assert (fix.cures, fix.remains, fix.begins) == (False, ("small@host",), ("new@host",))
    assert fix.twice == ("sysctl.a",)


@pytest.mark.parametrize(("setting", "begins"), [("sysctl.a", 2), ("process.affinity@7", 1)])
def test_the_load_begins_anew_unless_the_fix_would_end_with_its_process(
    setting: str, begins: int, said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[float] = []

    @contextlib.contextmanager
    def running(_self: Place, _commands: list[str], settle: float) -> Iterator[None]:
        runs.append(settle)
        yield

    monkeypatch.setattr(Place, "running", running)
    sick = found("small", "9")
    sick["changes"][0]["setting"] = setting
    looks(monkeypatch, [sick], [])
    fix = treated.play(SICK)[1]
    assert fix is not None
    assert fix.cures
    assert said
    assert len(runs) == begins


def test_a_finding_without_a_change_offers_no_fix(
    said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(monkeypatch, [found("small"), found("other", "9")])
    assert treated.play(SICK)[1] is None
    assert said == []


def test_a_change_that_needs_an_experiment_is_no_fix(
    said: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nettop(_place: Place, words: list[str], _state: str = "") -> dict[str, Any]:
        said.append(words)
        raise RuntimeError("small@host needs a test first: nettop prove small@host")

    monkeypatch.setattr(ward, "nettop", nettop)
    looks(monkeypatch, [found("small", "9")])
    assert treated.play(SICK)[1] is None
    assert len(said) == 1


def test_the_work_of_a_load_is_counted_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "do", lambda _self, _words: DEV + SNMP + SNMP6 + NETSTAT)
    counted = work.counters(Place((), (), {}))
    assert counted == {
        "bits": 12000, "packets": 15, "datagrams": 84, "connections": 14, "lost": 20,
    }  # fmt: skip
    during = work.between(dict.fromkeys(counted, 0.0), counted, 2.0)
    assert (during.bits, during.datagrams, during.connections) == (6000, 42, 7)
    assert during.lost == pytest.approx(20 / 15)


def test_harm_is_to_carry_much_less_or_to_lose_much_more() -> None:
    def now(**words: float) -> Work:
        return Work(**{**CALM.__dict__, **words})

    assert work.worse(CALM, now(bits=6e6)) == []
    assert work.worse(CALM, now(bits=5e6)) == ["bits"]
    assert work.worse(CALM, now(lost=0.009)) == []
    assert work.worse(CALM, now(lost=0.02)) == ["lost"]
    assert work.worse(now(lost=0.02), now(lost=0.03)) == []
    assert work.worse(now(bits=5e4), now(bits=0)) == []


def test_the_page_has_a_line_for_each_fix() -> None:
    fix = treated.Treated(("small@host",), (), ("new@host",), (), CALM, CALM)
    row = {"ward": "netns", "name": "a host", **scoreboard.fixed(fix)}
    assert scoreboard.fixes([row, {"ward": "netns", "name": "another"}])[1:] == [
        ("a host", "small@host", "–", "new@host", *(["8.0 Mbit/s, 0.0% lost"] * 2), "–")
    ]
