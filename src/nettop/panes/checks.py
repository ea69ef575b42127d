"""The rules without a finding: how many could not be evaluated and why, and the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..terms.text import Line, crop, fit, line, wrap
from .parts import section

if TYPE_CHECKING:
    from ..advice.rules.rule import Silent


UNEVALUATED: Final = "not evaluated: "
OTHER: Final = "with an unknown value"
_REASON: Final = re.compile(r"unknown \(([^()]*)\)(?:;|$)")
_LONGEST: Final = 38  # columns of the name of a rule
_NARROW: Final = 60  # columns below which the names stand alone


def reasons(silent: Iterable[Silent]) -> Counter[str]:
    """The rules that could not be evaluated on a target, counted by the first reason."""
    texts = (one.because for one in silent if one.because.startswith(UNEVALUATED))
    return Counter(_reason(text.removeprefix(UNEVALUATED)) for text in texts)


def _reason(text: str) -> str:
    known = _REASON.search(text)
    if known is not None:
        return known[1]
    return OTHER if " unknown" in text else text


def unevaluated(silent: Iterable[Silent]) -> str:
    """`9 not possible here: 6 not reported by the driver, 3 …`, most frequent first; or ""."""
    counts = reasons(silent)
    if not counts:
        return ""
    parts = (f"{count} {text.replace(',', '')}" for text, count in counts.most_common())
    return f"{counts.total()} not possible here: {', '.join(parts)}"


def unheld(silent: Iterable[Silent]) -> str:
    """`120 checks passed, 9 not possible here`: a rule that has a result does not hold."""
    known = [one for one in silent if one.applies]
    rules = {one.rule for one in known}
    judged = {one.rule for one in known if not one.because.startswith(UNEVALUATED)}
    unknown = len(rules - judged)
    more = f", {unknown} not possible here" if unknown else ""
    return f"{len(judged)} checks passed{more}"


def silent_lines(silent: Sequence[Silent], width: int, height: int) -> list[Line]:
    """The rules that apply here in at most `height` lines: first those that cannot be evaluated.

    A rule has one line, with the reason on its first target and the number of targets.
    """
    known = [one for one in silent if one.applies]
    rest: dict[str, list[Silent]] = {}
    for one in known:
        if not one.because.startswith(UNEVALUATED):
            rest.setdefault(one.rule, []).append(one)
    out = [section("CHECKS", f"{len(rest)} passed", width)]
    out += [line((f" {row}", "dim")) for row in wrap(unevaluated(known), max(10, width - 2))]
    shown = list(rest.items())[: max(0, height - len(out))]
    names = [_name(rule, targets) for rule, targets in shown]
    wide = min(_LONGEST, len(max(names, key=len, default="")) + 2)
    for (_, targets), name in zip(shown, names, strict=True):
        if width < _NARROW:
            out.append(line((crop(f"  {name}", width), "dim")))
        else:
            out.append(line((fit(f"  {name}", wide), "dim"), (f" {targets[0].because}", "dim")))
    return out[: max(0, height)]


def _name(rule: str, targets: Sequence[Silent]) -> str:
    """`link-full@eth0`; of several targets `link-full × 3`."""
    if len(targets) > 1:
        return f"{rule} × {len(targets)}"
    return f"{rule}@{targets[0].target}" if targets[0].target else rule
