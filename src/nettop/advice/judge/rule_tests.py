"""A rule's own tests: does it find and want what it should, and keep silent otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...facts import PROFILES, Facts
from ...terms.errors import nearest
from ..rules.load import RuleError, read, tests
from ..rules.rule import Finding, Rule
from . import inline_facts as inline
from .judge import Judge, Judgement

_KEYS: Final = (
    "name", "finds", "profile", "recorded", "before", "ago", "target", "wanted", "advice",
    "silent", "title", *inline.FACT_KEYS,
)  # fmt: skip
Recorded = Callable[[str, str | None], Sequence[Facts]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test of one rule: `why` is empty when it passed."""

    rule: str
    number: int
    name: str
    finds: bool
    why: str = ""
    absent: str = ""  # the test did not run: the recording it names is not here

    @property
    def passed(self) -> bool:
        """Whether the rule did what the test says."""
        return not self.why and not self.absent


def check(path: Path, recorded: Recorded | None = None) -> list[Outcome]:
    """Load a rule file and run its tests; RuleError when the file is wrong.

    `recorded(name, profile)` gives the facts of a recorded host, moment by moment.
    """
    rule = read(path)
    rule.words  # noqa: B018 - read now, so that a mistake in it is said
    given = tests(path)
    found = [_outcome(rule, number, table, recorded) for number, table in enumerate(given, start=1)]
    for wanted in (True, False):
        if not any(outcome.finds is wanted for outcome in found):
            what = "finds" if wanted else "does not find"
            raise RuleError(f"{path}: test: there is none that {what}")
    return found


def moments(rule: Rule, table: Mapping[str, Any], recorded: Recorded | None) -> list[Facts]:
    """The facts a test is about: earlier ones first."""
    profile = table.get("profile") or next(
        name for name in ("server", *PROFILES) if rule.profiles is None or name in rule.profiles
    )
    if "recorded" in table:
        if recorded is None:
            raise inline.InlineError("recorded hosts cannot be read here")
        return list(recorded(table["recorded"], table.get("profile")))
    found = []
    if "before" in table:
        found.append(inline.facts(table["before"], profile, 1000.0 - table.get("ago", 1)))
    return [*found, inline.facts(table, profile, 1000.0)]


def _outcome(
    rule: Rule, number: int, table: Mapping[str, Any], recorded: Recorded | None
) -> Outcome:
    name, finds = str(table.get("name", f"test {number}")), table.get("finds")
    try:
        _keys(table)
        why = verdict(rule, table, moments(rule, table, recorded))
    except inline.NoRecordingError as error:
        return Outcome(rule.id, number, name, bool(finds), absent=str(error))
    except inline.InlineError as error:
        raise RuleError(f"{rule.path}: test[{number - 1}]: {error}") from None
    return Outcome(rule.id, number, name, bool(finds), why)


def _keys(table: Mapping[str, Any]) -> None:
    for key in table:
        if key not in _KEYS:
            raise inline.InlineError(f"unknown key {key}{nearest(key, _KEYS)}")
    if not isinstance(table.get("finds"), bool):
        raise inline.InlineError("finds is true or false")


def verdict(rule: Rule, table: Mapping[str, Any], facts: Sequence[Facts]) -> str:
    """What the rule does otherwise than the test says; empty when nothing."""
    judge, judgement = Judge((rule,), window=0.0), Judgement()
    for moment in facts:
        judgement = judge.judge(moment)
    found = [f for f in judgement.findings if table.get("target") in (None, f.target)]
    if table["finds"] and not found:
        reasons = "; ".join(f"{one.target}: {one.because}" for one in judgement.silent())
        return f"does not find: {reasons or 'there is no target'}"
    if not table["finds"] and found:
        return f"finds {', '.join(one.id for one in found)}"
    if found:
        return _remedy_differs(table, found[0])
    silent = [one.because for one in judgement.silent()]
    part = table.get("silent")
    if part is not None and not any(part in reason for reason in silent):
        return f"is silent for another reason: {'; '.join(silent) or 'no target'}"
    return ""


def _remedy_differs(table: Mapping[str, Any], found: Finding) -> str:
    wanted = [[one.setting, one.value] for one in found.wanted]
    if "wanted" in table and table["wanted"] != wanted:
        return f"wants {wanted}, not {table['wanted']}"
    part = table.get("advice")
    if part is not None and not any(part in words for words in found.advice):
        return f"advises {list(found.advice)}"
    part = table.get("title")
    if part is not None and part not in found.title:
        return f"its title is {found.title!r}"
    return ""
