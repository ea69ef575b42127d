"""What each collector declares: how often it is read, and its fields with their units.

`pytest tests/collect/test_declarations.py --update` writes the expected output anew.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path

from golden_text import same

from nettop import collect

GOLDEN = Path(__file__).parents[1] / "golden/declared"
MARKS = (
    "EVERY", "ON_REQUEST", "ELSE", "OPTIONAL", "MAY_REST", "PROMPT", "MEMORY", "TIMELESS",
    "KEEP_OPEN",
)  # fmt: skip


def test_what_collectors_declare(update: bool) -> None:
    out = []
    for name in collect.names():
        module = collect.collector(name)
        marks = [f"{mark}={getattr(module, mark)!r}" for mark in MARKS if hasattr(module, mark)]
        out.append(f"{name} {' '.join(marks)}".rstrip())
        for field in fields(module.Row):
            about = field.metadata
            default = "" if field.default is MISSING else f" = {field.default!r}"
            kind = f"{about.get('kind', '-')} {about.get('unit', '')}".rstrip()
            out.append(f"    {field.name}: {field.type}{default} ({kind})")
    same(GOLDEN / "collectors.txt", "\n".join(out) + "\n", update)
