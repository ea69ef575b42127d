"""Code that a test hands to another process as text imports names that exist.

Neither mypy nor ruff reads such text, and the tests that run it need root and namespaces.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
SRC = TESTS.parent / "src"
# a collector that CONTRIBUTING's worked example adds
WRITTEN_BY_A_TEST = {"nettop.collect.uptime"}


def test_embedded_imports_name_what_exists() -> None:
    found = [
        (path, module, name)
        for path in sorted(TESTS.rglob("*.py"))
        for module, name in _embedded(path.read_text())
        if module not in WRITTEN_BY_A_TEST
    ]
    assert len(found) > 80, "the texts are read"
    lost = [f"{path}: {module} has no {name}" for path, module, name in found
            if name not in _names(module)]  # fmt: skip
    assert not lost, "\n".join(lost)


def _embedded(text: str) -> Iterator[tuple[str, str]]:
    """Each (module, name) that a text inside a test's file imports from nettop."""
    inside = [*text.split('"""')[1::2], *re.findall(r"""["'].*""", text)]
    for node in ast.walk(ast.parse(text)) if "from nettop" in "".join(inside) else ():
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if "from nettop" not in node.value:
            continue
        try:
            code = ast.parse(textwrap.dedent(node.value))
        except SyntaxError:  # a sentence about code, or a part of one
            continue
        for one in ast.walk(code):
            if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("nettop"):
                yield from ((one.module or "", alias.name) for alias in one.names)


@cache
def _names(module: str) -> frozenset[str]:
    """What a module defines or imports at its top, and the modules of its folder."""
    place = SRC / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not path.is_file():
        return frozenset()
    names = {one.stem for one in place.iterdir()} if place.is_dir() else set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name)
    return frozenset(names)
