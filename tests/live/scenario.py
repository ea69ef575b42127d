"""A host with a known fault, or a sound one, as data; and how a diagnosis is scored.

A comment above a case says what a right finding must say.

name      what is wrong with the host, or that nothing is
surface   the folder of rules that is asked: rings, tcp, udp, offloads …
profile   what the host is for; seen by nettop itself when not said
seconds   how long nettop looks (4)
router    true: a third namespace forwards between both; commands there begin with `middle`
break     commands that mis-tune the host, each beginning with `here` or `there`
load      commands that run meanwhile; `settle` seconds pass before nettop looks (1.5)
mend      commands that put a host right again that is not thrown away (the VM)
like      (recorded) a recording of tests/hosts, or a host of tests/cases/hosts.toml
facts     (recorded) what differs from it, rows by their label, as in tests/cases
first     findings that must stand first, in this order, as rule@target; `*` matches
expect    findings that must be there, anywhere
may       rules that may be critical or warning besides those; every other is a false alarm
never     rules that must not find anything, of whatever severity
quick     true: `make live` plays it without being asked
healthy   true: nothing at all may be critical or warning
obvious   the advice that everybody would give here and that is wrong; `never` names its rule
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "cases"
LOUD = ("critical", "warning")
VERDICTS = ("first", "found", "missed", "quiet")
WORDS = frozenset(
    "name surface profile seconds break load settle mend like facts first expect may never healthy "
    "obvious nic queues router quick".split()
)


@dataclass(frozen=True)
class Scenario:
    """One case: `told` is its table, `file` where it stands (routes, sound-traffic, vm-…)."""

    file: str
    told: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What is wrong, in a few words."""
        return str(self.told["name"])

    @property
    def surface(self) -> str:
        """The folder of rules that is asked."""
        return str(self.told["surface"])

    @property
    def sound(self) -> bool:
        """Nothing is to be found on this host."""
        return not (self.told.get("first") or self.told.get("expect"))

    def words(self, key: str) -> list[str]:
        """A list of the table; empty when absent."""
        return list(self.told.get(key, ()))


@dataclass(frozen=True)
class Outcome:
    """What nettop said of a case. `verdict`: first found missed, or quiet for a sound host."""

    scenario: Scenario
    verdict: str
    alarms: tuple[str, ...]
    seen: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the expected finding is first (none on a sound host), without false alarms."""
        return self.verdict in ("first", "quiet") and not self.alarms


def scenarios(file: str) -> list[Scenario]:
    """The cases of a file; ValueError names a word that means nothing."""
    path = HERE / f"{file}.toml"
    found = [Scenario(file, told) for told in tomllib.loads(path.read_text())["scenario"]]
    for one in found:
        for word in set(one.told) - WORDS:
            raise ValueError(f"{path.name}: {one.name}: {word!r} means nothing")
    return found


def files() -> list[str]:
    """The files of cases there are."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def score(scenario: Scenario, findings: Sequence[tuple[str, str]]) -> Outcome:
    """Judge nettop's (severity, id) in its order against what the case demands."""
    ids = [found for _, found in findings]
    first, expect = scenario.words("first"), scenario.words("expect")
    stands = len(ids) >= len(first) and all(
        fnmatchcase(seen, wanted) for seen, wanted in zip(ids, first, strict=False)
    )
    there = all(any(fnmatchcase(seen, wanted) for seen in ids) for wanted in [*first, *expect])
    verdict = "first" if stands and there else "found" if there else "missed"
    wanted = [*first, *expect, *(f"{rule}@*" for rule in scenario.words("may"))]
    never = [f"{rule}@*" for rule in scenario.words("never")]
    alarms = [
        found
        for severity, found in findings
        if any(fnmatchcase(found, rule) for rule in never)
        or (severity in LOUD and not any(fnmatchcase(found, one) for one in wanted))
    ]
    if scenario.sound:
        verdict = "quiet"
    return Outcome(scenario, verdict, tuple(alarms), tuple(ids))
