"""A rule's own tests: whether it has the expected finding and remedies, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from ...facts import PROFILES, Facts
from ...terms.dataclass import dataclass
from ...terms.errors import nearest
from ..rules.load import RuleError, read, tests
from ..rules.rule import Finding, Rule
from ..rules.written import Table
from . import inline_facts as inline
from .judge import Judge, Judgement

_KEYS: Final[dict[str, type | tuple[type, ...]]] = {  # of a test, with their types; facts have any
    "name": str, "finds": bool, "profile": str, "recorded": str, "before": dict,
    "ago": (int, float), "target": str, "wanted": list, "advice": (str, list), "silent": str,
    "title": str, "after": (int, float), **dict.fromkeys(inline.FACT_KEYS, object),
}  # fmt: skip
# name and profile of a recorded host → its facts, moment by moment
Recorded: TypeAlias = Callable[[str, str | None], Sequence[Facts]]


@dataclass(frozen=True, slots=True)
class RuleTestResult:
    """One test of one rule: `why` is empty when it passed."""

    rule: str
    number: int
    name: str
    finds: bool
    why: str = ""
    absent: str = ""  # the test did not run: the recording it names is not here

    @property
    def passed(self) -> bool:
        """Whether the rule did what the test expects."""
        return not self.why and not self.absent


def check(path: Path, recorded: Recorded | None = None) -> list[RuleTestResult]:
    """Load a rule file and run the tests of each rule; RuleError when the file is wrong.

    `recorded(name, profile)` gives the facts of a recorded host, moment by moment.
    """
    return [outcome for rule in read(path) for outcome in outcomes(rule, recorded)]


def outcomes(rule: Rule, recorded: Recorded | None = None) -> list[RuleTestResult]:
    """Run the tests of one rule, as `check` does."""
    rule.words  # noqa: B018 - raises RuleError where it is wrong
    tables = enumerate(tests(rule), start=1)
    found = [_outcome(rule, number, table, recorded) for number, table in tables]
    for finds in (True, False):
        if not any(one.finds is finds for one in found):
            said = f"{rule.id}: add a [[test]] with `finds = {str(finds).lower()}`"
            raise RuleError(f"{rule.path}: {said}")
    return found


def moments(rule: Rule, table: Table, recorded: Recorded | None) -> list[Facts]:
    """The facts of a test, the earlier ones first."""
    profile = table.get("profile") or next(
        name for name in ("server", *PROFILES) if rule.profiles is None or name in rule.profiles
    )
    if "recorded" in table:
        if recorded is None:
            raise inline.InlineError("recorded hosts cannot be read here")
        return list(recorded(table["recorded"], table.get("profile")))
    earlier = []
    if "before" in table:
        earlier.append(inline.facts(table["before"], profile, 1000.0 - table.get("ago", 1)))
    return [*earlier, inline.facts(table, profile, 1000.0)]


def _outcome(rule: Rule, number: int, table: Table, recorded: Recorded | None) -> RuleTestResult:
    name, finds = str(table.get("name", f"test {number}")), table.get("finds")
    try:
        _keys(table)
        why = verdict(rule, table, moments(rule, table, recorded))
    except inline.NoRecordingError as error:
        return RuleTestResult(rule.id, number, name, bool(finds), absent=str(error))
    except inline.InlineError as error:
        raise RuleError(f"{rule.path}: test[{number - 1}]: {error}") from None
    return RuleTestResult(rule.id, number, name, bool(finds), why)


def _keys(table: Table) -> None:
    for key, value in table.items():
        if key not in _KEYS:
            raise inline.InlineError(f"unknown key {key}{nearest(key, _KEYS)}")
        parts = value if key == "advice" and isinstance(value, list) else ()
        if not isinstance(value, _KEYS[key]) or not all(isinstance(part, str) for part in parts):
            raise inline.InlineError(f"{key} cannot be {value!r}")
    if "finds" not in table:
        raise inline.InlineError("finds must be true or false")


def verdict(rule: Rule, table: Table, facts: Sequence[Facts]) -> str:
    """How the rule differs from what the test expects, in one sentence; empty if it does not."""
    if "after" in table:
        differs = _hold_differs(rule, table["after"], facts)
        if differs:
            return differs
    judge, judgement = Judge((rule,), window=0.0), Judgement()
    for moment in facts:
        judgement = judge.judge(moment)
    findings = [f for f in judgement.findings if table.get("target") in (None, f.target)]
    if table["finds"] and not findings:
        text = "; ".join(f"{one.target}: {one.because}" for one in judgement.silent())
        return f"does not find: {text or 'there is no target'}"
    if not table["finds"] and findings:
        return f"finds {', '.join(one.id for one in findings)}"
    if findings:
        return _remedy_differs(table, findings[0])
    reasons = [one.because for one in judgement.silent()]
    part = table.get("silent")
    if part is not None and not any(part in reason for reason in reasons):
        return f"is silent for another reason: {'; '.join(reasons) or 'no target'}"
    return ""


def _hold_differs(rule: Rule, after: float, moments: Sequence[Facts]) -> str:
    """How `hold` differs from the seconds that a test expects, if the last facts stay the same."""
    judge = Judge((rule,))
    *earlier, facts = moments
    for moment in earlier:
        judge.judge(moment)
    for share, finds in ((0.0, False), (0.5, False), (1.0, True)):
        seconds = share * after
        if bool(judge.judge(replace(facts, at=facts.at + seconds)).findings) is not finds:
            return f"{'does not find' if finds else 'finds'} after {seconds:g} s"
    return ""


def _remedy_differs(table: Table, finding: Finding) -> str:
    wanted = [[one.setting, one.value] for one in finding.wanted]
    if "wanted" in table and table["wanted"] != wanted:
        return f"wants {wanted}, not {table['wanted']}"
    if not _advises(table.get("advice"), finding.advice):
        return f"advises {list(finding.advice)}"
    part = table.get("title")
    if part is not None and part not in finding.title:
        return f"its title is {finding.title!r}"
    return ""


def _advises(expected: str | list[str] | None, advice: Sequence[str]) -> bool:
    """Whether one advice contains the text; of a list, whether each contains its text in order."""
    if isinstance(expected, list):
        return len(expected) == len(advice) and all(
            part in whole for part, whole in zip(expected, advice, strict=True)
        )
    return expected is None or any(expected in whole for whole in advice)
