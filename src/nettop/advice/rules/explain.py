"""Rules and findings as text: condition, reason, change, expected effect, sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ...facts.limits.stages import declared
from ...facts.limits.words import doubted, predicted
from ...terms.dataclass import picked
from ...terms.text import safe, wrap
from ..language.syntax import Limit, Limits
from ..language.words import field_name, in_words, parts, value_text
from .rule import LINKS, Cite, Finding, Fix, References, Rule, citation, full


def page(rule: Rule, width: int = 80, known: References | None = None) -> list[str]:
    """The page of a rule in lines of at most `width` cells; `known` are the full references."""
    lines = [f"{rule.id}  ({rule.surface}, {rule.severity})", ""]
    lines += wrap(plain(rule.words.title.general(rule.limits)), width)
    why = plain(rule.words.why.general(rule.limits))
    lines += ["", *wrap(why, width), ""]
    if FIGURE.search(why):
        lines += [
            *wrap(f"N: a value of your host; nettop explain {rule.id} shows it.", width),
            "",
        ]
    lines += _titled("Applies to", [_where(rule)], width)
    lines += _titled(*_when(rule), width)
    for title, also in (("Critical", rule.critical), ("Advice", rule.harmless)):
        told = [] if also is None else [in_words(also, rule.limits)]
        lines += _titled(f"{title} where also", told, width)
    lines += _titled("Silent when", _silences(rule), width)
    limits = [f"{name} = {_limit(value)}" for name, value in rule.limits.items()]
    lines += _titled(f"Limits (override in [limits.{rule.id}])", limits, width)
    lines += _titled("What to do", [_fix(fix, rule.limits) for fix in rule.words.fixes], width)
    lines += _titled("Relieves", [declared()[one].words for one in rule.relieves], width)
    lines += _titled("Expected", [plain(rule.words.expected.general(rule.limits))], width)
    lines += _sources(rule.words.sources, rule.words.competing, width)
    lines += _titled("References", full(rule, known or {}), width)
    lines += _titled("Condition in the rule file", [rule.when.text], width)
    lines += _titled("File", [rule.path], width)
    return lines


def verdict(
    finding: Finding, rule: Rule, width: int = 80, known: References | None = None
) -> list[str]:
    """The page of a finding: evidence, reason, change, expected effect, sources, objections."""
    lines = [f"{finding.id}  ({finding.severity}, held {finding.held:.1f} s)", ""]
    lines += wrap(finding.title, width)
    lines += ["", *_titled("Evidence", map(safe, figures(finding)), width)]
    lines += [*wrap(finding.why, width), ""]
    lines += _titled(*_when(rule), width)
    changes = [
        f"{one.setting} → {one.value}{_EXPERIMENT if one.experiment else ''}"
        for one in finding.wanted
    ]
    lines += _titled("What to do", [*map(safe, changes), *finding.advice], width)
    lines += _titled("Predicted", [safe(prediction(finding))], width)
    lines += _titled("Expected", [finding.expected], width)
    lines += _sources(finding.sources, finding.competing, width)
    lines += _titled("References", full(rule, known or {}), width)
    return lines


def _when(rule: Rule) -> tuple[str, list[str]]:
    """A heading, and the condition in words: one line per operand of its outermost `and`."""
    sides = [in_words(side, rule.limits) for side in parts(rule.when)]
    return ("Conditions (all must hold)" if len(sides) > 1 else "Condition"), sides


def figures(finding: Finding) -> list[str]:
    """The evidence of a finding, one line per field."""
    return [
        f"{field_name(line['field'])}: {value_text(line['field'], line['value'], line['unit'])}"
        for line in finding.evidence
    ]


def prediction(finding: Finding) -> str:
    """The rate after the fix, and whether earlier predictions of the rule failed; "" if unknown."""
    if finding.predicted is None:
        return ""
    doubt = doubted(finding.predicted.earlier)
    at = f"at {finding.host} " if finding.host else ""
    return at + predicted(finding.predicted) + (f". {doubt}" if doubt else "")


def data(rule: Rule) -> dict[str, object]:
    """A rule as data, as `nettop rules show --json` prints it."""
    return {
        **picked(rule, "id surface severity"),
        "title": plain(rule.words.title.general(rule.limits)),
        "why": plain(rule.words.why.general(rule.limits)),
        "over": rule.over,
        "links": sorted(rule.links) if rule.links else [],
        "profiles": sorted(rule.profiles) if rule.profiles else [],
        "when": rule.when.text,
        "critical": rule.critical.text if rule.critical is not None else "",
        "harmless": rule.harmless.text if rule.harmless is not None else "",
        "unless": [{"when": e.when.text, "say": e.say.general(rule.limits)} for e in rule.unless],
        **picked(rule, "yields after hold"),
        "limits": dict(rule.limits),
        "relieves": list(rule.relieves),
        "expected": plain(rule.words.expected.general(rule.limits)),
        **picked(rule.words, "sources competing"),
        "fixes": [_fix(fix, rule.limits) for fix in rule.words.fixes],
        "changes": list(rule.changes),
        "path": rule.path,
    }


def plain(text: str) -> str:
    """The text of a template for a page without a target, on one line if it has one paragraph."""
    return " ".join(text.split()) if "\n\n" not in text else text


_OVER: Final = {"nic": "interface", "path": "direction of an interface"}
FIGURE: Final = re.compile(r"\bN\b")
_EXPERIMENT: Final = " (experiment: test it with prove)"


def _where(rule: Rule) -> str:
    every = f"every {_OVER.get(rule.over, rule.over)}" if rule.over != "host" else "the host"
    profiles = f", with profile {_any(rule.profiles)}" if rule.profiles else ""
    hold = f", after {rule.hold:g} s" if rule.hold else ""
    return f"{every}{_links(rule)}{profiles}{hold}"


def _links(rule: Rule) -> str:
    """The kinds of interface of the rule, or the excluded ones if they are fewer."""
    if rule.links is None or rule.over == "host":
        return ""
    others = frozenset(LINKS) - rule.links
    if len(others) < len(rule.links):
        return f", except on {_any(others)}" if others else ""
    about = "" if rule.over == "nic" else " on an interface"
    return f"{about} of kind {_any(rule.links)}"


def _any(names: Iterable[str], last: str = "or") -> str:
    *most, end = sorted(names)
    return f"{', '.join(most)} {last} {end}" if most else end


def _silences(rule: Rule) -> list[str]:
    others = [
        f"{e.say.general(rule.limits)} ({in_words(e.when, rule.limits)})" for e in rule.unless
    ]
    return [*others, *(f"{other} reports the same problem" for other in rule.yields)]


def _limit(value: Limit) -> str:
    return ", ".join(value) if isinstance(value, tuple) else f"{value:,.15g}"


def _fix(fix: Fix, limits: Limits) -> str:
    test = f" (if {in_words(fix.when, limits)})" if fix.when else ""
    each = f", for each {fix.each}" if fix.each else ""
    if fix.setting is None:
        return f"{fix.advice.general(limits) if fix.advice else ''}{test}{each}"
    chosen = "; ".join(
        value.text if profile == "default" else f"{profile}: {value.text}"
        for profile, value in fix.to.items()
    )
    words = _EXPERIMENT if fix.experiment else ""
    return f"{fix.setting.form()} = {chosen}{each}{test}{words}"


def _sources(sources: Iterable[Cite], competing: Iterable[Cite], width: int) -> list[str]:
    lines = _titled("Sources", map(_source, sources), width)
    others = [f"{_source(cite)}. Does not apply here: {cite['because']}" for cite in competing]
    return lines + _titled("Contrary evidence", others, width)


def _source(cite: Cite) -> str:
    """The citation with its note and address."""
    note = f" ({cite['note']})" if cite.get("note") else ""
    return citation(cite) + note + (f" <{cite['url']}>" if cite.get("url") else "")


def _titled(title: str, texts: Iterable[str], width: int) -> list[str]:
    items = [text for text in texts if text]
    if not items:
        return []
    lines = [title]
    for text in items:
        wrapped = wrap(text, width - 4)
        lines += [f"  - {line}" if i == 0 else f"    {line}" for i, line in enumerate(wrapped)]
    return [*lines, ""]


def index(rules: Iterable[Rule]) -> str:
    """The page that lists all rules (`rules/README.md`), by surface."""
    by_surface: dict[str, list[Rule]] = {}
    for rule in sorted(rules, key=lambda one: (one.surface, one.id)):
        by_surface.setdefault(rule.surface, []).append(rule)
    every = [rule for members in by_surface.values() for rule in members]
    able, places = sum(bool(rule.changes) for rule in every), {rule.path for rule in every}
    lines = [
        "# The rules",
        "",
        f"{len(every)} rules in {len(places)} files: rules that share most of their keys are cases",
        f"of one file. {able} of them change settings, named in the third column; the others say",
        "what to do. `nettop rules show ID` prints a rule with its sources; `nettop rules test`",
        "runs the tests of all rules. Made by `nettop rules list --markdown > rules/README.md`;",
        "a test checks that it is current.",
    ]
    for surface, members in by_surface.items():
        lines += ["", f"## {surface}", "", "| rule | severity | changes | problem |"]
        lines += ["|---|---|---|---|"]
        lines += [_row(rule) for rule in members]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    title = plain(rule.words.title.general(rule.limits)).replace("|", "\\|")
    link = f"[{rule.id}]({rule.surface}/{Path(rule.path).name})"
    return f"| {link} | {rule.severity} | {', '.join(rule.changes)} | {title} |"


def summary(rule: Rule) -> Mapping[str, object]:
    """A rule in a list, as `nettop rules list --json` prints it."""
    return {
        **picked(rule, "id surface severity over"),
        "title": plain(rule.words.title.general(rule.limits)),
        **picked(rule, "changes path"),
    }
