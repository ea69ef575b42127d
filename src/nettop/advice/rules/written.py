"""The rules that one file holds: without `[[case]]` one, else one for each case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...files import bounds
from ...terms.dataclass import dataclass

Table: TypeAlias = Mapping[str, Any]  # of a TOML file: any key, any value
_CASE: Final = "\n[[case]]"
_COMMON: Final = re.compile(r"^\[(?!\[?case[].])", re.MULTILINE)
_WORD: Final = re.compile(r"\$(\$|\w+)")


class RuleError(ValueError):
    """An error in a rule file; the sentence has file, line, key and reason."""


@dataclass(frozen=True, slots=True)
class Written:
    """One rule as its file has it: the keys, those of all cases included, and their place."""

    id: str
    path: Path
    data: Table
    text: str  # of the file, with the other cases blank
    case: Table  # the keys of its own case; empty without cases
    start: int = 0  # of its case in `text`

    def wrong(self, key: str, reason: str) -> RuleError:
        """The error in this key, such as `fix[1].to`, with its likely line."""
        top = re.split(r"[.[]", key)[0]
        line = _line(self.text, key, self.start if top in self.case else 0)
        which = f"case {self.id}: " if self.case else ""
        return RuleError(f"{self.path}{f':{line}' if line else ''}: {which}{key}: {reason}")


def parsed(path: Path, text: str) -> Table:
    """The TOML table of a rule file; RuleError with the line of a syntax error."""
    try:
        return bounds.tables(text)
    except ValueError as error:
        raise RuleError(f"{path}: {error}") from None


def written(path: Path, text: str) -> Iterator[Written]:
    """Each rule in the text of a file; RuleError if it is no TOML, or a case has no id.

    A text or number of a case stands in place of the common one. Its lists and tables come after
    the common ones. `$name` in any text is the word of that name in the `words` of the case.
    """
    data = parsed(path, text)
    cases = data.get("case")
    if cases is None:
        yield Written(path.stem, path, data, text, {})
        return
    common = {key: value for key, value in data.items() if key != "case"}
    starts = [match.start() for match in re.finditer(re.escape(_CASE), f"\n{text}")]
    if not isinstance(cases, list) or not cases or len(starts) != len(cases):
        raise RuleError(f"{path}: case: write [[case]]")
    if len(cases) > (most := bounds.BOUNDS["cases"]).most:
        raise RuleError(f"{path}: case: more than {most}, the bound of {most.what}")
    common_after = _COMMON.search(text, starts[0])
    if common_after is not None:
        line = text.count("\n", 0, common_after.start()) + 1
        raise RuleError(f"{path}:{line}: what is common stands before the first [[case]]")
    worded, seen = any("words" in case for case in cases), set[object]()
    for case, start, end in zip(cases, starts, [*starts[1:], len(text)], strict=True):
        before = text[: starts[0]] + _blank(text[starts[0] : start])
        name, words = case.get("id"), case.get("words", {})
        here = Written(str(name), path, {}, before + text[start:end], case, len(before))
        if not isinstance(name, str) or name in seen:
            raise here.wrong("id", "a case has the id of its rule, and no other has it")
        seen.add(name)
        if not isinstance(words, dict) or not all(isinstance(one, str) for one in words.values()):
            raise here.wrong("words", "must be a table of texts")
        own = {key: value for key, value in case.items() if key not in ("id", "words")}
        whole = {**common, **{key: _joined(common.get(key), own[key]) for key in own}}
        try:
            whole = {key: _said(value, words) for key, value in whole.items()} if worded else whole
        except KeyError as error:
            raise here.wrong("words", f"${error.args[0]} has no word; a dollar is $$") from None
        yield Written(name, path, whole, here.text, case, here.start)


def _joined(common: Any, own: Any) -> Any:
    if isinstance(common, list) and isinstance(own, list):
        return [*common, *own]
    if isinstance(common, dict) and isinstance(own, dict):
        return {**common, **own}
    return own


def _said(value: Any, words: Mapping[str, str]) -> Any:
    """The value with the words in place of their names; KeyError with a name that has none."""
    if isinstance(value, str):
        return _WORD.sub(lambda one: "$" if one[1] == "$" else words[one[1]], value)
    if isinstance(value, list):
        return [_said(one, words) for one in value]
    if isinstance(value, dict):
        return {_said(key, words): _said(one, words) for key, one in value.items()}
    return value


def _blank(text: str) -> str:
    """As many lines, and nothing in them."""
    return "\n" * text.count("\n")


def without_tests(path: Path, text: str) -> str:
    """The text with blank lines for its tests; RuleError if another table follows one of them."""
    out, line = [], 1
    for part in text.split(_CASE):
        test = _TEST.search(part)
        head = part if test is None else part[: test.start()]
        stray = None if test is None else _OTHER.search(part, test.start())
        if stray is not None:
            line += part.count("\n", 0, stray.start()) + 1
            raise RuleError(f"{path}:{line}: all [[test]] must come last in the file or case")
        out.append(head + _blank(part[len(head) :]))
        line += part.count("\n") + 1
    return _CASE.join(out)


_TEST: Final = re.compile(r"\n\[\[(?:case\.)?test\]\]")
_OTHER: Final = re.compile(r"\n\[(?!\[?(?:case\.)?test[].])")


def _line(text: str, key: str, start: int) -> int | None:
    """The likely line of a key, by text search: `fix[1].to` is `to` after the second [[fix]]."""
    first, _, last = key.rpartition(".")
    table = re.fullmatch(r"(\w+)\[(\d+)\]", first or last)
    if table is not None:
        heads = list(re.finditer(rf"^\[\[(?:case\.)?{table[1]}\]\]", text, re.MULTILINE))
        if int(table[2]) >= len(heads):  # written inline
            return _line(text, table[1], start)
        start = heads[int(table[2])].start()
        if not first:
            return text.count("\n", 0, start) + 1
    match = re.compile(rf"^[ \t]*{re.escape(last)}[ \t]*=", re.MULTILINE).search(text, start)
    return None if match is None else text.count("\n", 0, match.start()) + 1
