"""Trials: one run of one test tool between two hosts, with a typed result.

The tools are the modules of `tools/`; the folder is listed. Each has `TOOL` (its name), `PACKAGE`
(the package to install; empty for a built-in tool), `HELP`, `TAKES` (the options that it obeys
beside those of each trial: names of `result.Options`) and `measure(trial) -> Measured`.
`run.run` samples both hosts during the measurement and checks the result.
"""

import os
from functools import cache
from importlib import import_module
from types import ModuleType

from ..terms.modules import modules


@cache
def names() -> tuple[str, ...]:
    """The names of all test tools, as typed (`udp-latency`), without importing them."""
    tools = modules(os.path.join(__path__[0], "tools"))
    return tuple(sorted(name.replace("_", "-") for name in tools))


@cache
def tool(name: str) -> ModuleType:
    """The module of a tool; KeyError for an unknown name."""
    name = name.replace("_", "-")
    if name not in names():
        raise KeyError(name)
    return import_module(f"{__name__}.tools.{name.replace('-', '_')}")
