"""The papers and documents that rules cite, by the one short name each has: rules/papers.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from .rule import Cite, Rule

TABLE: Final = "papers.toml"
KINDS: Final = ("paper", "doc")
References = Mapping[str, str]  # short name → the whole reference in a line


def references(pack: Path) -> References:
    """The whole reference of every short name; empty where the folder has no table."""
    try:
        tables = tomllib.loads((pack / TABLE).read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {name: _line(one) for kind in KINDS for name, one in tables.get(kind, {}).items()}


def cited(rule: Rule) -> list[str]:
    """The short names that a rule cites, each once."""
    return list(dict.fromkeys(map(name, (*rule.words.sources, *rule.words.competing))))


def name(cite: Cite) -> str:
    """The short name of one source."""
    return cite.get("paper") or cite.get("doc") or ""


def whole(rule: Rule, known: References) -> list[str]:
    """The whole references of a rule's sources, in the order cited."""
    return [f"{short}: {known[short]}" for short in cited(rule) if short in known]


def _line(one: Mapping[str, Any]) -> str:
    parts: Iterable[Any] = (one.get(key) for key in ("authors", "title", "venue", "year"))
    text = ", ".join(str(part) for part in parts if part)
    text += f" ({one['note']})" if one.get("note") else ""
    return text + (f" <{one['url']}>" if one.get("url") else "")
