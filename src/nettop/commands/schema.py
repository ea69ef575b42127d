"""What the JSON of a command holds: every field with its meaning and unit, as a JSON Schema.

nettop schema                 all of it
nettop schema advise          what `nettop advise --json` prints
nettop schema "rules list"    … and of a command that does several things
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..terms.errors import Refused, nearest
from . import json_argument, not_utf_8

HELP = "the meaning of every field of --json"
FILE = Path(__file__).parents[1] / "schema.json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("name", nargs="*", metavar="COMMAND", help="such as advise, rules list")
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the schema; it is JSON either way."""
    page = load()
    name = " ".join(args.name)
    if name:
        if name not in page["commands"]:
            raise Refused(f"no JSON of {name!r}{nearest(name, page['commands'])}", 2)
        page = of(name, page)
    print(json.dumps(page, ensure_ascii=not_utf_8(), indent=1))
    return 0


def load() -> dict[str, Any]:
    """The page of all commands."""
    page: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return page


def of(name: str, page: dict[str, Any]) -> dict[str, Any]:
    """The schema of one command, with the definitions it needs and no others."""
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
