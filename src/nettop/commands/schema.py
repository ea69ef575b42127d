"""Print the JSON Schema of --json output: every field with its meaning and unit.

nettop schema                 the schema of all commands
nettop schema advise          the schema of `nettop advise --json`
nettop schema "rules list"    the schema of a subcommand
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

from ..terms.errors import Refused, nearest
from . import json_argument, not_utf_8

GROUP = "data"
HELP = "print the meaning of every field of --json"
Page = dict[str, Any]  # a JSON Schema, as schema.json has it
FILE: Final = Path(__file__).parents[1] / "schema.json"


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


def load() -> Page:
    """The schema of all commands."""
    from ..facts.limits.stages import declared

    page: Page = json.loads(FILE.read_text(encoding="utf-8"))
    page["$defs"]["stage"]["enum"] = list(declared())
    return page


def of(name: str, page: Page) -> Page:
    """The schema of one command, with only the definitions that it uses."""
    queue, needed = [page["commands"][name]["$ref"].rpartition("/")[2]], {}
    while queue:
        definition = queue.pop()
        if definition not in needed:
            needed[definition] = page["$defs"][definition]
            queue += _references(needed[definition])
    return {"$schema": page["$schema"], **page["commands"][name], "$defs": needed}


def _references(node: object) -> list[str]:
    """The names of the definitions that a part of the schema refers to."""
    if isinstance(node, list):
        return [name for item in node for name in _references(item)]
    if not isinstance(node, dict):
        return []
    here = [str(node["$ref"]).rpartition("/")[2]] if isinstance(node.get("$ref"), str) else []
    return here + _references(list(node.values()))
