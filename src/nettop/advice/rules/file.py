"""The parser of a rule file: it checks every key, name and type; an error is one sentence."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeVar, cast

from ...facts import PROFILES
from ...facts.kinds import kinds
from ...facts.limits.stages import declared, having
from ...files import bounds
from ...terms.errors import nearest
from ..language.expression import Expression, condition, parse
from ..language.syntax import ExpressionError, Limit, Limits
from ..language.template import Template, template
from ..language.tunable import CPUS, type_of
from ..language.vocabulary import ANY, FACT, NUMBER, TEXT, TUPLE
from .rule import LINKS, Cite, Fix, Rule, Unless, Words
from .severity import SEVERITIES
from .written import RuleError, Table, Written, written

T = TypeVar("T")
_KEYS: Final = (
    "title", "severity", "critical", "harmless", "over", "when", "why", "source", "links",
    "profiles", "hold", "keep", "unless", "yields", "after", "show", "relieves", "expected",
    "gain", "limits", "fix", "test",
)  # fmt: skip
_OLDER: Final = ("encodes", "competing", "safety")  # no longer written, and still read
_CITE: Final = ("paper", "doc", "place", "figure", "url", "note", "because", "if")
_FIX: Final = ("set", "to", "if", "each", "experiment", "advice", "relieves")
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")


def threshold(value: object) -> Limit | None:
    """The threshold: a number, or a tuple of texts for a list; None for any other value."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return cast("float", value) if bounds.number(value) else None


def build(path: Path, text: str) -> tuple[Rule, ...]:
    """The rules in the text of a file; RuleError if the text is wrong.

    Errors in the parts of `Rule.words` are raised at the first access to it. The same text gives
    the same rules: parsing all of them takes longer than a sample. Only that text is kept, packed:
    what is parsed takes 4 MB.
    """
    return _built(path, zlib.compress(text.encode(), 1))


@lru_cache(maxsize=1024)
def _built(path: Path, packed: bytes) -> tuple[Rule, ...]:
    return tuple(_Builder(one, packed).rule() for one in _written(path, packed))


@lru_cache(maxsize=8)  # a file has several cases
def _written(path: Path, packed: bytes) -> tuple[Written, ...]:
    return tuple(written(path, zlib.decompress(packed).decode()))


def _words(path: Path, packed: bytes, name: str) -> Words:
    builder = next(_Builder(one, packed) for one in _written(path, packed) if one.id == name)
    builder.rule()
    return builder.words()


class _Builder:
    def __init__(self, one: Written, packed: bytes) -> None:
        self.id = one.id
        self.packed = packed  # its file
        self.path = one.path
        self.data = one.data
        self.wrong = one.wrong
        self.over = ""
        self.limits: Limits = {}

    def rule(self) -> Rule:
        if not _NAME.fullmatch(self.id):
            raise RuleError(f"{self.path}: a rule's name is lower-case words with dashes")
        self.keys("", self.data, (*_KEYS, *_OLDER))
        self.required("title", "severity", "over", "when", "why", "source")
        severity, self.over = self.text_of("severity"), self.text_of("over")
        self.one_of("severity", severity, SEVERITIES)
        self.one_of("over", self.over, kinds())
        self.limits = self.thresholds()
        self.within("hold", 0.0, 86400.0)
        self.within("keep", 0.0, 86400.0)
        self.within("gain", 0.0, 1e6)
        return Rule(
            id=self.id,
            surface=self.path.parent.name,
            path=str(self.path),
            severity=severity,
            over=self.over,
            when=self.condition("when", self.text_of("when")),
            critical=self.may_hold("critical"),
            harmless=self.may_hold("harmless"),
            later=partial(_words, self.path, self.packed, self.id),
            links=self.links(),
            profiles=self.names("profiles", PROFILES),
            hold=float(self.data.get("hold", 0)),
            keep=float(self.data.get("keep", 0)),
            unless=tuple(self.each("unless", self.unless)),
            yields=tuple(self.list_of("yields")),
            after=tuple(self.list_of("after")),
            relieves=self.stages(),
            gain=float(self.data.get("gain", 1)) or 1.0,
            safety=self.data.get("gain") == 0 or self.switch("safety", self.data),
            limits=self.limits,
        )

    def words(self) -> Words:
        cites = [*self.each("source", self.cite), *self.each("competing", self.cite)]
        applies = self.each("source", self.applies)
        return Words(
            title=self.template("title"),
            why=self.template("why"),
            expected=self.template("expected"),
            show=tuple(self.expression("show", text) for text in self.list_of("show")),
            sources=tuple(cite for cite in cites if "because" not in cite),
            applies=tuple(
                one for one, cite in zip(applies, cites, strict=False) if "because" not in cite
            ),
            competing=tuple(cite for cite in cites if "because" in cite),
            fixes=tuple(self.each("fix", self.fix)),
        )

    def required(self, *keys: str) -> None:
        for key in keys:
            if not self.data.get(key):
                raise self.wrong(key, "missing")

    def keys(self, where: str, table: Table, known: Sequence[str]) -> None:
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
            raise self.wrong(key, f"must be a number from {low:g} to {high:g}, not {value!r}")

    def text_of(self, key: str, table: Table | None = None, where: str = "") -> str:
        value = (self.data if table is None else table).get(key, "")
        if not isinstance(value, str):
            raise self.wrong(f"{where}.{key}" if where else key, f"not a text: {value!r}")
        return _unwrapped(value)

    def list_of(self, key: str, table: Table | None = None, where: str = "") -> list[str]:
        value = (self.data if table is None else table).get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(f"{where}.{key}" if where else key, "must be a list of texts")
        return value

    def switch(self, key: str, table: Table, where: str = "") -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(f"{where}.{key}" if where else key, "must be true or false")
        return value

    def names(self, key: str, known: Iterable[str]) -> frozenset[str] | None:
        values = self.list_of(key)
        for value in values:
            self.one_of(key, value, known)
        return frozenset(values) or None

    def stages(self) -> tuple[str, ...]:
        stages = tuple(self.list_of("relieves"))
        for stage in stages:
            self.one_of("relieves", stage, tuple(declared()))
        if len(set(stages)) < len(stages):
            raise self.wrong("relieves", "a stage is listed twice")
        if stages and not self.data.get("fix"):
            raise self.wrong("relieves", "a rule without a fix relieves nothing")
        return stages

    def part(self, where: str, table: Table) -> tuple[str, ...]:
        """The stages that a fix relieves: those of the rule, or the part of them that it names."""
        every = self.stages()
        own = tuple(self.list_of("relieves", table, where))
        for stage in own:
            self.one_of(f"{where}.relieves", stage, every)
        return own if "relieves" in table else every

    def links(self) -> frozenset[str] | None:
        links = self.names("links", LINKS)
        if self.over in ("host", "core"):
            if links:
                raise self.wrong("links", f"a rule over {self.over} has no interface")
            return None
        if links or self.over in ("nic", "queue", "path"):
            return links or frozenset({"nic"})
        feeds = bool(self.stages()) and having("feeds").issuperset(self.stages())
        # what a program waits for is the same whatever device carries its data
        return frozenset(LINKS) if feeds else frozenset(LINKS) - {"loopback"}

    def thresholds(self) -> Limits:
        values = self.data.get("limits", {})
        if not isinstance(values, dict):
            raise self.wrong("limits", "must be a table of numbers")
        limits: dict[str, Limit] = {}
        for key, value in values.items():
            limit = threshold(value)
            if limit is None:
                raise self.wrong(f"limits.{key}", f"neither number nor list of texts: {value!r}")
            limits[key] = limit
        return limits

    def each(self, key: str, make: Callable[[str, Table], T]) -> list[T]:
        tables = self.data.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.wrong(key, f"write [[{key}]]")
        return [make(f"{key}[{index}]", table) for index, table in enumerate(tables)]

    def cite(self, where: str, table: Table) -> Cite:
        self.keys(where, table, _CITE)
        cite = {key: self.text_of(key, table, where).strip() for key in table if key != "if"}
        if not (table.get("paper") or table.get("doc")):
            raise self.wrong(where, "a source has either paper or doc")
        if where.startswith("competing") and not table.get("because"):
            raise self.wrong(where, "because is missing: why this advice does not apply here")
        return cite

    def applies(self, where: str, table: Table) -> Expression | None:
        """The condition of a source."""
        return self.condition(f"{where}.if", self.text_of("if", table)) if "if" in table else None

    def unless(self, where: str, table: Table) -> Unless:
        self.keys(where, table, ("when", "say"))
        if not table.get("when") or not table.get("say"):
            raise self.wrong(where, "when and say are both required")
        when = self.condition(f"{where}.when", self.text_of("when", table, where))
        return Unless(when, self.template(f"{where}.say", self.text_of("say", table, where)))

    def condition(self, key: str, text: str, also: tuple[str, ...] = ()) -> Expression:
        try:
            return condition(text, self.over, self.limits, also=also)
        except ExpressionError as error:
            raise self.wrong(key, str(error)) from None

    def may_hold(self, key: str) -> Expression | None:
        return self.condition(key, self.text_of(key)) if key in self.data else None

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

    def fix(self, where: str, table: Table) -> Fix:
        self.keys(where, table, _FIX)
        setting, advice = (self.text_of(key, table, where) for key in ("set", "advice"))
        if bool(setting) != ("to" in table) or not (setting or advice):
            raise self.wrong(where, "a fix has set and to, or advice")
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
            relieves=self.part(where, table),
            advice=self.template(f"{where}.advice", advice, also) if advice else None,
        )

    def values(
        self, key: str, setting: str, value: object, also: tuple[str, ...]
    ) -> dict[str, Expression]:
        table = value if isinstance(value, dict) else {"default": value}
        expected, expressions = type_of(setting), {}
        for profile, text in table.items():
            self.one_of(key, profile, (*PROFILES, "default"))
            if not isinstance(text, str):
                raise self.wrong(key, f"must be an expression in quotes, not {text!r}")
            one = self.expression(key, _unwrapped(text), also, to=True)
            fits = (NUMBER, TEXT, TUPLE) if expected == CPUS else (expected,)
            if one.type == FACT or (ANY not in (one.type, expected) and one.type not in fits):
                raise self.wrong(key, f"{text!r} is a {one.type}, {setting} a {expected}")
            expressions[profile] = one
        return expressions


def _unwrapped(text: str) -> str:
    """The text with the lines of each paragraph joined."""
    if "\n" not in text:
        return text
    return "\n\n".join(" ".join(part.split()) for part in _PARAGRAPH.split(text.strip()))
