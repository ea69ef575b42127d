"""The small programs of plays: `python run.py KIND WORD…`; the modules beside this say which kinds.

It runs as a plain script, also in a network namespace and in the lab's virtual machine.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from live.programs.shared import KINDS

RUN: Final = Path(__file__).resolve()
# imported one after the other, until one has the kind
MODULES: Final = (
    "listeners", "answers", "clients", "datagrams", "paths", "packets", "processes", "nftables",
)  # fmt: skip


def kinds() -> Mapping[str, Callable[..., object]]:
    """All programs by the word that starts them."""
    for module in MODULES:
        importlib.import_module(f"live.programs.{module}")
    return KINDS


def main(kind: str, *words: str) -> None:
    """Become that program; KeyError if there is none."""
    for module in MODULES:
        importlib.import_module(f"live.programs.{module}")
        if kind in KINDS:
            break
    KINDS[kind](*words)


if __name__ == "__main__":
    main(*sys.argv[1:])
