"""Trials: one run of one test tool at both ends, with a typed result.

The tools are the modules of `tools/`, found by listing that folder. Each has `TOOL` (its name),
`PACKAGE` (what to install; empty for a built-in one), `HELP`, `BUILT_IN`, and
`measure(trial) -> Measured`. `run.run` samples both ends around it and judges the result.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType

from ..terms.modules import modules


@cache
def names() -> tuple[str, ...]:
    """Every test tool there is, without importing any; as typed: `udp-latency`."""
    tools = modules(os.path.join(__path__[0], "tools"))
    return tuple(sorted(name.replace("_", "-") for name in tools))


@cache
def tool(name: str) -> ModuleType:
    """The tool's module; KeyError for an unknown name."""
    name = name.replace("_", "-")
    if name not in names():
        raise KeyError(name)
    return import_module(f"{__name__}.tools.{name.replace('-', '_')}")
