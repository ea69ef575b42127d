"""Papers and documents cited by rules, each with one short name: rules/papers.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from .rule import Cite, Rule

TABLE: Final = "papers.toml"
KINDS: Final = ("paper", "doc")
References: TypeAlias = Mapping[str, str]  # short name → the full reference in one line


def references(pack: Path) -> References:
    """The full reference of every short name; empty if the folder has no table."""
    try:
        tables = tomllib.loads((pack / TABLE).read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {name: _line(one) for kind in KINDS for name, one in tables.get(kind, {}).items()}


def names(rule: Rule) -> list[str]:
    """The short names that a rule cites, each once."""
    return list(dict.fromkeys(map(name, (*rule.words.sources, *rule.words.competing))))


def name(cite: Cite) -> str:
    """The short name of one source."""
    return cite.get("paper") or cite.get("doc") or ""


def citation(cite: Cite) -> str:
    """One source in one line: short name, place in it, figure."""
    return ": ".join(filter(None, (place(cite), cite.get("figure"))))


def place(cite: Cite) -> str:
    """The short name of one source and the place in it."""
    return ", ".join(filter(None, (name(cite), cite.get("place"))))


def full(rule: Rule, known: References) -> list[str]:
    """The full references of a rule's sources, in the order cited."""
    return [f"{short}: {known[short]}" for short in names(rule) if short in known]


def _line(one: Mapping[str, object]) -> str:
    parts: Iterable[object] = (one.get(key) for key in ("authors", "title", "venue", "year"))
    text = ", ".join(str(part) for part in parts if part)
    text += f" ({one['note']})" if one.get("note") else ""
    return text + (f" <{one['url']}>" if one.get("url") else "")
