"""The kinds of facts that rules can be over: one a module, found by listing this folder.

Each module has a frozen dataclass whose fields say what they are, and `KIND` (see `facts.kind`). A
newcomer adds a kind as one new file here; where no other module makes its facts, the file has
`build(frame, facts)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from ...terms.modules import modules
from ..kind import Kind


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind by its name."""
    found = (import_module(f"{__name__}.{name}").KIND for name in modules(__path__[0]))
    return {kind.name: kind for kind in found}
