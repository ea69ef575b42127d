"""Check that the settings named by the fixes of a rule exist."""

from __future__ import annotations

from ... import settings
from ..language.expression import Expression
from ..language.template import Template
from .file import RuleError
from .rule import Rule


def check(rule: Rule) -> None:
    """RuleError with the fix whose setting is unknown."""
    for index, fix in enumerate(rule.words.fixes):
        if fix.setting is None:
            continue
        try:
            settings.parse(example(fix.setting))
        except LookupError as error:
            raise RuleError(f"{rule.path}: fix[{index}].set: {error.args[0]}") from None


def example(address: Template) -> str:
    """The address with an example value in place of each expression."""
    return "".join(_stand_in(part) for part in address.parts)


def _stand_in(part: str | Expression) -> str:
    if isinstance(part, str):
        return part
    if part.type == "text":
        return "rx-0" if "queue" in part.text else "eth0"
    return "1"
