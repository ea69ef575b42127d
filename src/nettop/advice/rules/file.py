"""A rule of a file's text: every key, name and type checked, each mistake one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from ...facts import PROFILES
from ...facts.kinds import kinds
from ...files import bounds
from ...terms.errors import nearest
from ..language.expression import Expression, condition, parse
from ..language.syntax import ExpressionError, Limits
from ..language.template import Template, template
from ..language.tunable import CPUS, type_of
from ..language.vocabulary import ANY, FACT, NUMBER, TEXT, TUPLE
from .rule import LINKS, SEVERITIES, Cite, Fix, Rule, Unless, Words

T = TypeVar("T")
_KEYS: Final = (
    "title", "severity", "over", "when", "why", "source", "links", "profiles", "hold", "unless",
    "yields", "show", "encodes", "expected", "gain", "safety", "limits", "competing", "fix", "test",
)  # fmt: skip
_CITE: Final = ("paper", "doc", "place", "figure", "url", "note")
_FIX: Final = ("set", "to", "if", "each", "experiment", "advice")
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SAID: Final = re.compile(r"\n\[\[(?:source|competing|fix)\]\]")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")
_NEEDED: Final = re.compile(r"\n\[\[?(?:limits|unless)\b")
_PROSE: Final = re.compile(  # a repeated group is not possessive: Python before 3.11.5 misreads it
    r"\n(?:why|expected|show)[ \t]*=[ \t]*"
    r'(?:"""(?:[^"\\]++|\\(?s:.)|"(?!""))*"""|"[^"\\\n]*+"|\[[^][]*+\])'
)


class RuleError(ValueError):
    """What is wrong with a rule file: file, line, key and the reason in one sentence."""


def parsed(path: Path, text: str) -> dict[str, Any]:
    """The TOML of a rule file; RuleError with the line when it is none."""
    try:
        return bounds.tables(text)
    except ValueError as error:
        raise RuleError(f"{path}: {error}") from None


def threshold(value: Any) -> Any:
    """A threshold: a number, or a list of texts as a tuple; None for anything else."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return value if bounds.number(value) else None


def build(path: Path, text: str, *, shipped: bool = False) -> Rule:
    """The rule that a file's text holds; RuleError when the text is wrong.

    `shipped`: the file came with nettop. Its prose is skipped until `Rule.words` is asked for,
    which saves 30 ms of 90 at the start; a test compares every shipped rule with its whole text.
    """
    return _Builder(path, text, _judged(text) if shipped else text).rule()


def _judged(text: str) -> str:
    """The part of a shipped rule's text that judging needs: before [[source]], without prose.

    It knows the layout of the shipped files, not all of TOML: a user's file is parsed whole.
    """
    start = _SAID.search(text)
    if start is not None and not _NEEDED.search(text, start.start()):
        text = text[: start.start()]
    return _PROSE.sub(lambda said: "\n" * said[0].count("\n"), text)  # lines keep their numbers


class _Builder:
    def __init__(self, path: Path, text: str, needed: str) -> None:
        self.path = path
        self.text = text
        self.data = parsed(path, needed)
        self.over = ""
        self.limits: Limits = {}

    def wrong(self, key: str, reason: str) -> RuleError:
        line = _line(self.text, key)
        return RuleError(f"{self.path}{f':{line}' if line else ''}: {key}: {reason}")

    def rule(self) -> Rule:
        if not _NAME.fullmatch(self.path.stem):
            raise RuleError(f"{self.path}: a rule's name is lower-case words with dashes")
        self.keys("", self.data, _KEYS)
        self.required("severity", "over", "when")
        severity, self.over = self.text_of("severity"), self.text_of("over")
        self.one_of("severity", severity, SEVERITIES)
        self.one_of("over", self.over, kinds())
        self.limits = self.thresholds()
        self.within("hold", 0.0, 86400.0)
        self.within("gain", 0.0, 1e6)
        return Rule(
            id=self.path.stem,
            surface=self.path.parent.name,
            path=str(self.path),
            severity=severity,
            over=self.over,
            when=self.condition("when", self.text_of("when")),
            later=self.words,
            links=self.links(),
            profiles=self.names("profiles", PROFILES),
            hold=float(self.data.get("hold", 0)),
            unless=tuple(self.each("unless", self.unless)),
            yields=tuple(self.list_of("yields")),
            encodes=tuple(self.list_of("encodes")),
            gain=float(self.data.get("gain", 1)),
            safety=self.switch("safety", self.data),
            limits=self.limits,
        )

    def words(self) -> Words:
        self.data = parsed(self.path, self.text)
        self.keys("", self.data, _KEYS)
        self.required("title", "why", "source")
        return Words(
            title=self.template("title"),
            why=self.template("why"),
            expected=self.template("expected"),
            show=tuple(self.expression("show", text) for text in self.list_of("show")),
            sources=tuple(self.each("source", self.cite)),
            competing=tuple(self.each("competing", self.cite)),
            fixes=tuple(self.each("fix", self.fix)),
        )

    def required(self, *keys: str) -> None:
        for key in keys:
            if not self.data.get(key):
                raise self.wrong(key, "missing")

    def keys(self, where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                full = f"{where}.{key}" if where else key
                raise self.wrong(full, f"unknown key{nearest(key, known)}")

    def one_of(self, key: str, value: str, known: Iterable[str]) -> None:
        if value not in (names := tuple(known)):
            raise self.wrong(key, f"{value!r} is none of {', '.join(names)}{nearest(value, names)}")

    def within(self, key: str, low: float, high: float) -> None:
        value = self.data.get(key, low)
        if not bounds.number(value) or not low <= value <= high:
            raise self.wrong(key, f"a number from {low:g} to {high:g} is wanted, not {value!r}")

    def text_of(self, key: str, table: Mapping[str, Any] | None = None, where: str = "") -> str:
        value = (self.data if table is None else table).get(key, "")
        if not isinstance(value, str):
            raise self.wrong(f"{where}.{key}" if where else key, f"not a text: {value!r}")
        return _unwrapped(value)

    def list_of(self, key: str) -> list[str]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, "a list of texts is wanted")
        return value

    def switch(self, key: str, table: Mapping[str, Any], where: str = "") -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(f"{where}.{key}" if where else key, "true or false is wanted")
        return value

    def names(self, key: str, known: Iterable[str]) -> frozenset[str] | None:
        values = self.list_of(key)
        for value in values:
            self.one_of(key, value, known)
        return frozenset(values) or None

    def links(self) -> frozenset[str] | None:
        given = self.names("links", LINKS)
        if self.over in ("host", "core"):
            if given:
                raise self.wrong("links", f"a rule over {self.over} has no interface")
            return None
        if given or self.over in ("nic", "queue", "path"):
            return given or frozenset({"nic"})
        return frozenset(LINKS) - {"loopback"}

    def thresholds(self) -> Limits:
        values = self.data.get("limits", {})
        if not isinstance(values, dict):
            raise self.wrong("limits", "a table of numbers is wanted")
        for key, value in values.items():
            if threshold(value) is None:
                raise self.wrong(f"limits.{key}", f"neither number nor list of texts: {value!r}")
        return {key: threshold(value) for key, value in values.items()}

    def each(self, key: str, make: Callable[[str, Mapping[str, Any]], T]) -> list[T]:
        tables = self.data.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.wrong(key, f"write [[{key}]]")
        return [make(f"{key}[{index}]", table) for index, table in enumerate(tables)]

    def cite(self, where: str, table: Mapping[str, Any]) -> Cite:
        competing = where.startswith("competing")
        self.keys(where, table, (*_CITE, "because") if competing else _CITE)
        given = {key: self.text_of(key, table, where).strip() for key in table}
        if not (table.get("paper") or table.get("doc")):
            raise self.wrong(where, "a source is a paper or a doc")
        if competing and not table.get("because"):
            raise self.wrong(where, "no because: say why it loses here")
        return given

    def unless(self, where: str, table: Mapping[str, Any]) -> Unless:
        self.keys(where, table, ("when", "say"))
        if not table.get("when") or not table.get("say"):
            raise self.wrong(where, "when and say are both wanted")
        when = self.condition(f"{where}.when", self.text_of("when", table, where))
        return Unless(when, self.template(f"{where}.say", self.text_of("say", table, where)))

    def condition(self, key: str, text: str, also: tuple[str, ...] = ()) -> Expression:
        try:
            return condition(text, self.over, self.limits, also=also)
        except ExpressionError as error:
            raise self.wrong(key, str(error)) from None

    def expression(
        self, key: str, text: str, also: tuple[str, ...] = (), *, to: bool = False
    ) -> Expression:
        try:
            return parse(text, self.over, self.limits, also=also, to=to)
        except ExpressionError as error:
            raise self.wrong(key, str(error)) from None

    def template(self, key: str, text: str | None = None, also: tuple[str, ...] = ()) -> Template:
        words = self.text_of(key).strip() if text is None else text
        try:
            return template(words, self.over, self.limits, also)
        except ExpressionError as error:
            raise self.wrong(key, str(error)) from None

    def fix(self, where: str, table: Mapping[str, Any]) -> Fix:
        self.keys(where, table, _FIX)
        setting, advice = (self.text_of(key, table, where) for key in ("set", "advice"))
        if bool(setting) != ("to" in table) or not (setting or advice):
            raise self.wrong(where, "a fix is set and to, or advice")
        each = self.text_of("each", table, where) or None
        also: tuple[str, ...] = ()
        if each is not None:
            self.one_of(f"{where}.each", each, [k.name for k in kinds().values() if k.spread])
            also = (each,)
        test = self.text_of("if", table, where)
        return Fix(
            setting=self.template(f"{where}.set", setting, also) if setting else None,
            to=self.values(f"{where}.to", setting, table["to"], also) if setting else {},
            when=self.condition(f"{where}.if", test, also) if test else None,
            each=each,
            experiment=self.switch("experiment", table, where),
            advice=self.template(f"{where}.advice", advice, also) if advice else None,
        )

    def values(
        self, key: str, setting: str, value: Any, also: tuple[str, ...]
    ) -> dict[str, Expression]:
        table = value if isinstance(value, dict) else {"default": value}
        wanted, found = type_of(setting), {}
        for profile, text in table.items():
            self.one_of(key, profile, (*PROFILES, "default"))
            if not isinstance(text, str):
                raise self.wrong(key, f"an expression in quotes is wanted, not {text!r}")
            made = self.expression(key, _unwrapped(text), also, to=True)
            fits = (NUMBER, TEXT, TUPLE) if wanted == CPUS else (wanted,)
            if made.type == FACT or (ANY not in (made.type, wanted) and made.type not in fits):
                raise self.wrong(key, f"{text!r} is a {made.type}, {setting} a {wanted}")
            found[profile] = made
        return found


def _unwrapped(text: str) -> str:
    """A text that the file breaks into lines: paragraphs stay, lines are joined."""
    if "\n" not in text:
        return text
    return "\n\n".join(" ".join(part.split()) for part in _PARAGRAPH.split(text.strip()))


def _line(text: str, key: str) -> int | None:
    """The line a key stands on: `fix[1].to` is `to` after the second [[fix]]; a guess by words."""
    first, _, last = key.rpartition(".")
    table = re.fullmatch(r"(\w+)\[(\d+)\]", first or last)
    start = 0
    if table is not None:
        heads = list(re.finditer(rf"^\[\[{table[1]}\]\]", text, re.MULTILINE))
        if int(table[2]) >= len(heads):  # written inline
            return _line(text, table[1])
        start = heads[int(table[2])].start()
        if not first:
            return text.count("\n", 0, start) + 1
    found = re.compile(rf"^[ \t]*{re.escape(last)}[ \t]*=", re.MULTILINE).search(text, start)
    return None if found is None else text.count("\n", 0, found.start()) + 1
