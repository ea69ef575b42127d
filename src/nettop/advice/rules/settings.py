"""Check that the settings and kernel parameters that a rule names are known to nettop."""

from __future__ import annotations

from collections.abc import Iterator

from ... import settings
from ...collect import sysctls
from ...terms.errors import nearest
from ..language.expression import Expression
from ..language.syntax import literal
from ..language.template import Template
from .rule import Rule
from .written import RuleError


def check(rule: Rule) -> None:
    """RuleError with the fix whose setting is unknown, or the parameter that nettop does not read.

    A parameter that is not read is always unknown, so its rule could never have a finding.
    """
    for index, fix in enumerate(rule.words.fixes):
        if fix.setting is None:
            continue
        try:
            settings.parse(example(fix.setting))
        except LookupError as error:
            raise RuleError(f"{rule.path}: fix[{index}].set: {error.args[0]}") from None
    known = sysctls.names()
    for key, expression in _expressions(rule):
        for call in expression.calls("sysctl"):
            name = str(literal(call.args[0]))
            if name not in known:
                reason = f"nettop does not read {name!r}{nearest(name, known)}; rules/sysctls.toml"
                raise RuleError(f"{rule.path}: {key}: {reason} lists what it reads")


def _expressions(rule: Rule) -> Iterator[tuple[str, Expression]]:
    """The conditions and values of a rule, by their keys."""
    yield "when", rule.when
    for index, unless in enumerate(rule.unless):
        yield f"unless[{index}].when", unless.when
    for index, fix in enumerate(rule.words.fixes):
        if fix.when is not None:
            yield f"fix[{index}].if", fix.when
        for value in fix.to.values():
            yield f"fix[{index}].to", value


def example(address: Template) -> str:
    """The address with an example value in place of each expression."""
    return "".join(_stand_in(part) for part in address.parts)


def _stand_in(part: str | Expression) -> str:
    if isinstance(part, str):
        return part
    if part.type == "text":
        return "rx-0" if "queue" in part.text else "eth0"
    return "1"
