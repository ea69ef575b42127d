"""Print the JSON Schema of --json output: every field with its meaning and unit.

nettop schema                 the schema of all commands
nettop schema advise          the schema of `nettop advise --json`
nettop schema "rules list"    the schema of a subcommand
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..terms.errors import Refused, nearest
from . import json_argument, not_utf_8

GROUP = "data"
HELP = "print the meaning of every field of --json"
FILE = Path(__file__).parents[1] / "schema.json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "name", nargs="*", metavar="COMMAND", help="a command, such as advise or rules list"
    )
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the schema, always as JSON."""
    page = load()
    name = " ".join(args.name)
    if name:
        if name not in page["commands"]:
            raise Refused(f"no JSON schema for {name!r}{nearest(name, page['commands'])}", 2)
        page = of(name, page)
    print(json.dumps(page, ensure_ascii=not_utf_8(), indent=1))
    return 0


def load() -> dict[str, Any]:
    """The schema of all commands."""
    page: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return page


def of(name: str, page: dict[str, Any]) -> dict[str, Any]:
    """The schema of one command, with only the definitions that it uses."""
    wanted, needed = [page["commands"][name]["$ref"].rpartition("/")[2]], {}
    while wanted:
        one = wanted.pop()
        if one not in needed:
            needed[one] = page["$defs"][one]
            wanted += _references(needed[one])
    return {"$schema": page["$schema"], **page["commands"][name], "$defs": needed}


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in _references(item)]
    if not isinstance(node, dict):
        return []
    here = [str(node["$ref"]).rpartition("/")[2]] if isinstance(node.get("$ref"), str) else []
    return here + _references(list(node.values()))
