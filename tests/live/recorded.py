"""Hosts that are files: a recording, or a host of tests/cases, with what differs laid over it.

A VM has no pause frames, no e1000e that counts its losses and no RoCE. Such hosts are a recording
of a real one on which a few facts are replaced: the rows under `facts`, found by their label
(nic by name, core by number …), field by field. Everything else stays what the kernel said.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from live.scenario import Scenario

from nettop.advice.judge import inline_facts as inline
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load as rules
from nettop.facts import Facts
from nettop.host.recording import Replay, load
from nettop.views.observer import Observation, Observer

TESTS = Path(__file__).parents[1]
RULES = TESTS.parent / "rules"
LABELS = {"nics": ("name",), "queues": ("nic", "name"), "cores": ("cpu",), "processes": ("pid",),
          "flows": ("id",), "captures": ("inode",), "paths": ("nic", "direction")}  # fmt: skip


def findings(scenario: Scenario) -> list[tuple[str, str]]:
    """(severity, id) of what nettop finds, in its order."""
    like, differs = str(scenario.told["like"]), scenario.told.get("facts", {})
    profile = scenario.told.get("profile")
    if (path := recording(like)) is None:
        table = {**_written()[like], **{k: v for k, v in differs.items() if k not in LABELS}}
        facts = laid(inline.facts(table, profile or "server", 1000.0), differs)
    else:
        seen = _watched(path, profile)
        if not differs:
            return [(one.severity, one.id) for one in seen.judgement.findings]
        facts = laid(seen.facts, differs)
    judged = Judge(rules([RULES]), window=0.0).judge(facts)
    return [(one.severity, one.id) for one in judged.findings]


def recording(name: str) -> Path | None:
    """The recording of that name, compressed or not."""
    found = sorted((TESTS / "hosts").glob(f"{name}.host*"))
    return found[0] if found else None


def laid(facts: Facts, differs: Mapping[str, Any]) -> Facts:
    """`facts` with the given fields of the given rows replaced, and new rows added."""
    made = inline.facts(differs, facts.profile.name)
    told: dict[str, Any] = {}
    if "host" in differs:
        told["host"] = _over(facts.host, made.host, differs["host"])
    if "sysctls" in differs:
        told["sysctls"] = {**facts.sysctls, **made.sysctls}
    for plural, label in LABELS.items():
        rows = list(getattr(facts, plural))
        for given, new in zip(differs.get(plural, ()), getattr(made, plural), strict=False):
            for at, row in enumerate(rows):
                if all(getattr(row, key) == getattr(new, key) for key in label):
                    rows[at] = _over(row, new, given)
                    break
            else:
                rows.append(new)
        told[plural] = tuple(rows)
    return replace(facts, **told)


def _over(fact: Any, new: Any, given: Mapping[str, Any]) -> Any:
    """`fact` with the fields that `given` names taken from `new`; features by name."""
    told = {}
    for key, value in given.items():
        was, now = getattr(fact, key), getattr(new, key)
        if key == "features":
            now = (*(one for one in was if one.name not in value), *now)
        elif is_dataclass(was) and isinstance(value, Mapping):
            now = _over(was, now, value)
        told[key] = now
    return replace(fact, **told)


@cache
def _written() -> Mapping[str, Any]:
    return tomllib.loads((TESTS / "cases" / "hosts.toml").read_text())


@cache
def _watched(path: Path, profile: str | None) -> Observation:
    """The recording seen to its end."""
    source = Replay(load(str(path)))
    observer = Observer(source, profile=profile, window=4.0)
    seen = observer.step()
    while source.wait(1):
        seen = observer.step()
    return seen
