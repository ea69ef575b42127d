"""What each kind of fact declares: its names, its tables and the example of rules' tests.

`pytest tests/facts/test_kinds_declared.py --update` writes the expected output anew.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path

from golden_text import same

from nettop.facts.kinds import kinds

GOLDEN = Path(__file__).parents[1] / "golden/declared"


def test_what_kinds_declare(update: bool) -> None:
    out = []
    for name, kind in kinds().items():
        out.append(f"{name}: {kind.plural}, {kind.type.__name__}")
        out += [
            f"    {part}: {dict(getattr(kind, part))}" for part in ("names", "tables", "example")
        ]
        out.append(f"    parents: {sorted(kind.parents)}, needs: {kind.needs}")
        marks = [mark for mark in ("needs_nic", "spread", "lasts") if getattr(kind, mark)]
        out.append(f"    {' '.join(marks) or 'no mark'}")
        plain = {f.name: f.default for f in fields(kind.type) if f.default is not MISSING}
        known = {k: v for k, v in plain.items() if v not in (None, (), "", False)}
        out.append(f"    defaults: {known}")
        given = {f.name: None for f in fields(kind.type) if f.default is MISSING}
        one = kind.type(**{**given, **plain, **dict(kind.example)})
        out.append(f"    target: {kind.target(one)}, key: {kind.key(one)}")
        out.append(f"    owner: {kind.owner(one) if kind.owner is not None else None}")
    same(GOLDEN / "kinds.txt", "\n".join(out) + "\n", update)
