"""Which findings make an incident: by severity, rule or expression, and not too often."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from ..advice.rules.file import build
from ..advice.rules.rule import LINKS, Finding, Rule
from ..advice.rules.severity import SEVERITIES
from ..advice.rules.written import RuleError
from ..facts.kinds import kinds
from ..terms.dataclass import dataclass
from ..terms.errors import nearest
from .incident import Incident

AGAIN: Final = 3600.0  # seconds until the same finding makes another incident
APART: Final = 600.0  # seconds until another target of the same rule does
EXPRESSION: Final = "on-expression"
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RULE: Final = """\
title = {title}
severity = "critical"
over = "{over}"
when = {when}
{links}
why = "The condition of --on is true."
[[source]]
doc = "nettop-watch(1)"
place = "--on"
figure = "the user's own condition"
"""


def expressions(texts: Iterable[str]) -> tuple[Rule, ...]:
    """A rule for each text that is an expression; ValueError (one sentence) for a wrong one."""
    wanted = [text for text in texts if not _NAME.fullmatch(text)]
    return tuple(_rule(text, number) for number, text in enumerate(wanted, 1))


def _rule(text: str, number: int) -> Rule:
    over = next((word for word in re.findall(r"[a-z_]\w*", text) if word in kinds()), None)
    if over is None:
        raise ValueError(f"--on {text!r}: it names none of {', '.join(kinds())}")
    name = EXPRESSION if number == 1 else f"{EXPRESSION}-{number}"
    title = text.replace("{", "{{").replace("}", "}}")
    links = "" if over in ("host", "core") else f"links = {json.dumps(LINKS)}"
    toml = _RULE.format(title=json.dumps(title), over=over, when=json.dumps(text), links=links)
    try:
        (rule,) = build(Path(f"on/{name}.toml"), toml)
        rule.words  # noqa: B018 - an error in them is raised at the first access
    except RuleError as error:
        raise ValueError(f"--on {text!r}: {str(error).partition(': ')[2]}") from None
    return rule


@dataclass
class Trigger:
    """The findings wanted, and the incidents that they made lately."""

    on: Sequence[str]
    rules: Iterable[Rule]
    made: dict[str, float] = field(default_factory=dict)  # by finding and by rule: its seconds
    _before: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """ValueError for a name that is neither a severity nor a rule."""
        rules = {rule.id: rule for rule in self.rules}
        known = (*SEVERITIES, *rules)
        names = {text for text in self.on if _NAME.fullmatch(text)}
        for name in sorted(names - set(known)):
            raise ValueError(f"--on {name!r} is no severity and no rule{nearest(name, known)}")
        levels = [SEVERITIES.index(name) for name in names if name in SEVERITIES]
        self._level = max(levels, default=-1)
        self._names = names | {name for name in rules if name.startswith(EXPRESSION)}

    def wants(self, finding: Finding) -> bool:
        """Whether it can make an incident."""
        return finding.rule in self._names or SEVERITIES.index(finding.severity) <= self._level

    def begun(self, findings: Mapping[str, Finding]) -> list[Finding]:
        """The wanted findings that were not there, or not severe enough, at the sample before."""
        wanted = {name: one for name, one in findings.items() if self.wants(one)}
        begun = [one for name, one in wanted.items() if name not in self._before]
        self._before = frozenset(wanted)
        return begun

    def due(self, finding: Finding, at: float) -> bool:
        """Whether it makes an incident of its own, by the time since the last one of its kind.

        `at` is of a monotonic clock, so that a wall clock that is set makes no incident.
        """
        never = float("-inf")
        again, apart = self.made.get(finding.id, never), self.made.get(finding.rule, never)
        return at - again >= AGAIN and at - apart >= APART

    def note(self, incident: Incident, at: float) -> None:
        """It was made at `at` seconds."""
        for name in (incident.id, incident.rule):
            self.made[name] = max(at, self.made.get(name, at))
