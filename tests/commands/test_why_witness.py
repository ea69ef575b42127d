"""The problems and drops below the limits of `nettop why`: those of its target and its programs."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import flow_tables
import pytest

from nettop.advice.judge.judge import Judgement
from nettop.advice.rules.rule import Finding
from nettop.collect import addresses, socket_owners
from nettop.commands import _silent, _witness
from nettop.commands.why import text
from nettop.facts.kind import about
from nettop.facts.kinds.drop import Drop
from nettop.facts.kinds.program import Program
from nettop.facts.kinds.resolver import Resolver
from nettop.facts.limits import Limit, Reading
from nettop.frame.rates import Frame
from nettop.views.observer import Observation


def finding(name: str, title: str, severity: str = "critical", cause: str = "") -> Finding:
    rule, _, target = name.partition("@")
    return Finding(
        name, rule, target, severity, title, "", 9.0, (), (), (), (), (), "", cause=cause
    )


def observed(*found: Finding, frame: Frame | None = None) -> Observation:
    facts: Any = SimpleNamespace()
    return Observation(frame or Frame(1.0, 1.0, {}), facts, Judgement(found, (), lambda: ()))


def test_problems_that_name_the_target_or_its_program_stand_below() -> None:
    held = finding("program-held@web[7]", "web is blocked by log[9]", cause="program-held@log[9]")
    found = [
        finding("program-held@log[9]", "log is stopped"),
        held,
        finding("link-errors@eth1", "eth1 has errors"),
        finding("calls-fail@web[7]/connect/EINVAL", "told with the calls"),
        finding("send-buffer-limits@tcp:10.0.0.1:80-10.0.0.2:9", "told by its limit"),
        finding("small@web[7]", "no problem", "advice"),
        finding("program-held@web[71]", "another process"),
    ]
    limit = Limit("flow", "10.0.0.1:80>10.0.0.2:9", "tx", pid=7, process="web")
    seen = observed(*found)
    told = [one.id for one in _silent.beside(seen, [limit], ":80")]
    assert told == ["program-held@log[9]", "program-held@web[7]"]
    assert [one.id for one in _silent.beside(seen, [], "eth1")] == ["link-errors@eth1"]
    assert len(_silent.beside(seen, [], None)) == 4
    assert _silent.lines([held])[-1].strip() == "✗ program-held@web[7]: web is blocked by log[9]"
    assert _silent.lines([]) == []


def test_what_relieves_the_limit_of_a_flow_of_the_target_stands_first() -> None:
    there = "tcp:10.0.0.1:80-10.0.0.2:9"
    synced = replace(finding(f"synced@{there}", "web syncs", "advice"), relieves=("disk-write",))
    pod, held = replace(synced, target=f"{there}@pod"), finding("program-held@web[7]", "blocked")
    others = [replace(synced, relieves=("sndbuf",)), replace(synced, target="tcp:[::1]:80-[::2]:9")]
    limit = Limit("flow", "10.0.0.1:80>10.0.0.2:9", "rx", pid=7, process="web",
                  stage=Reading("disk-write", "here"))  # fmt: skip
    seen = observed(*others, pod, held, synced)
    assert _silent.beside(seen, [limit], ":80") == [synced, held]
    assert _silent.beside(seen, [limit], None) == [held]
    setting = replace(finding("window-scaling-off@host", "off"), relieves=("disk-write",))
    assert _silent.beside(observed(setting, held), [limit], ":80") == [setting, held]
    assert _silent.beside(seen, [replace(limit, namespace="pod")], ":80") == [pod, held]


def test_a_port_stands_for_its_programs_and_for_where_they_connect_to() -> None:
    door = flow_tables.socket(
        1, local="::", local_port=8080, remote="::", remote_port=0, state="listen"
    )
    backend = flow_tables.socket(2, local_port=40001, remote="10.0.0.9", remote_port=5432)
    other = flow_tables.socket(3, local_port=40002, remote="10.0.0.7", remote_port=25)
    owners = [socket_owners.Row(101, 7, "web"), socket_owners.Row(102, 7, "web"),
              socket_owners.Row(103, 8, "mail")]  # fmt: skip
    home = addresses.Row("eth0", "fd00::1", 64, 6, "global")
    (frame,) = flow_tables.frames(
        {"sockets_tcp": [door, backend, other], "socket_owners": owners, "addresses": [home]}
    )

    def named(one: Finding) -> bool:
        problems = _silent.beside(observed(one, frame=frame), [], ":8080")
        return problems == [one]

    name = "name-server-does-not-answer@10.0.0.53:53"
    asked = replace(finding(name, "no answer"), about=("10.0.0.53:53", "web[7]"))
    assert named(asked)
    assert not named(replace(asked, about=("web[71]", "mail[8]")))
    assert named(finding("slow@x", "connections to 10.0.0.9:5432 get no answer"))
    assert not named(finding("slow@x", "connections to 10.0.0.7:25 get no answer"))
    assert named(finding("lost@fd00::1", "nobody finds it"))
    assert not named(finding("lost@fd00::12", "nobody finds it"))


def test_what_a_fact_is_about_are_its_texts_programs_and_ports() -> None:
    resolver = Resolver("10.0.0.53:53", processes=("shop[16911]",))
    assert {"10.0.0.53:53", "shop[16911]"} <= {*about(resolver)}
    assert {"port 443", "[3391]", "app"} <= {*about(Program(3391, "app", ports=(443,)))}


@pytest.mark.parametrize(("port", "named"), [("1812", True), ("812", False), ("10", False)])
def test_a_port_is_found_in_a_list_of_ports_and_addresses(port: str, named: bool) -> None:
    told = "the first address of the interface: 1812 at 10.15.1.100@e0, 53 at 10.15.1.100@e0"
    assert bool(re.search(_silent._port(port), told)) is named


def test_what_a_filter_drops_on_purpose_has_no_mark_of_a_fault() -> None:
    drops = (
        Drop("a", "NETFILTER_DROP", "nft_do_chain", "turned away", "a rule dropped it", packets=9),
        Drop("b", "QDISC_DROP", "__dev_queue_xmit", "loss", "the queue is full", packets=9),
    )
    facts: Any = SimpleNamespace(more={"drop": drops, "call": ()}, losses=None, rhythms=())
    marks = [row.split()[0] for row in _witness.lines(facts) if "dropped in" in row]
    assert marks == ["·", "✗"]


def test_connections_of_one_listener_that_wait_unaccepted_are_told_once() -> None:
    because = "the connection waits in the accept queue: the program has not accepted it"
    reading = Reading("application", "here")
    base = Limit("flow", "", "rx", 0.5, stage=reading, pid=7, process="api")
    waiting = replace(reading, because=because)
    limits = [
        replace(base, target=f"10.0.0.1:80>10.0.0.2:{port}", stage=waiting) for port in range(5)
    ]
    lines = text([*limits, replace(base, target="10.0.0.1:80>10.0.0.2:9")], every=True)
    assert sum(line.startswith("10.0.0.1:80>") for line in lines) == 2
    assert any(line.endswith(", and 4 connections more alike") for line in lines)
