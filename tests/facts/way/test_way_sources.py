"""Each place of a way has a source: the check of the kernel that decides there."""

import ast
import tomllib
from pathlib import Path

from nettop import config
from nettop.facts import way

ENTRIES = tomllib.loads((config.rules_folder() / "way-places.toml").read_text("utf-8"))["place"]


def _places() -> set[str]:
    """The first argument of each step in the code."""
    trees = (
        ast.parse(one.read_text("utf-8")) for one in Path(way.__path__[0], "steps").glob("*.py")
    )
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    first = (node.args[0] for node in calls if isinstance(node.func, ast.Name)
             and node.func.id == "Step")  # fmt: skip
    parts = (part for one in first for part in ast.walk(one) if isinstance(part, ast.Constant))
    return {part.value for part in parts if isinstance(part.value, str)}


def test_each_place_has_its_source() -> None:
    assert _places() <= {one["name"] for one in ENTRIES}
    assert all(one["rests"] for one in ENTRIES)


def test_no_place_is_described_twice() -> None:
    assert len({one["name"] for one in ENTRIES}) == len(ENTRIES)
