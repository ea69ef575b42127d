"""The kinds of facts that rules can be over: one per module, found by listing this folder.

Each module has a frozen dataclass with declared fields, and `KIND` (see `facts.kind`). A new kind
is one new file here; if no other module makes its facts, the file has `build(frame, facts)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from ...terms.modules import modules
from ..kind import Kind


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds by name."""
    found = (import_module(f"{__name__}.{name}").KIND for name in modules(__path__[0]))
    return {kind.name: kind for kind in found}
