"""The layers of src/nettop as data, and what its imports really are. `make map` prints both.

A folder imports only folders of a lower rank, at the top of a module and inside functions alike.
"""

import ast
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

SRC: Final = Path(__file__).parents[1] / "src/nettop"
# folder (or flat module) → rank; two folders of one rank know nothing of each other
RANKS: Final[Mapping[str, int]] = {
    "terms": 0,
    "files": 1,
    "config": 2,
    "host": 2,
    "frame": 3,
    "collect": 4,
    "sampling": 5,
    "facts": 5,
    "settings": 5,
    "advice": 6,
    "changes": 6,
    "trials": 7,
    "reports": 8,
    "views": 8,
    "panes": 9,
    "box": 9,
    "metrics": 9,
    "fleet": 10,
    "serving": 9,
    "tui": 10,
    "commands": 11,
    "cli": 12,
    "__main__": 13,
}
# folders that reason on values only: no disk, no configuration, no host
PURE: Final = ("terms", "frame", "facts")


def modules(root: Path = SRC) -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(root: Path = SRC) -> dict[str, set[str]]:
    """For each module the modules of nettop that it imports, lazily or not."""
    known = modules(root)
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name in known}
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join(base + (node.module.split(".") if node.module else []))
                for alias in node.names:
                    whole = f"{module}.{alias.name}"
                    found[name] |= {whole if whole in known else module} & known.keys()
    return {name: targets - {name} for name, targets in found.items()}


def folder(module: str) -> str:
    """The first-level folder, or flat module, of a dotted name; empty for nettop itself."""
    return module.split(".")[1] if "." in module else ""


def folders(edges: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
    """How many imports run from each folder to each other one."""
    found: dict[str, dict[str, int]] = {}
    for name, targets in edges.items():
        for target in targets:
            here, there = folder(name), folder(target)
            if here and there and here != there:
                counts = found.setdefault(here, {})
                counts[there] = counts.get(there, 0) + 1
    return found


def climbing(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Imports that do not run to a lower rank."""
    return sorted(
        f"{_ranked(name)} imports {_ranked(target)}"
        for name, targets in edges.items()
        for target in targets
        if folder(name)
        and folder(target)
        and folder(name) != folder(target)
        and RANKS.get(folder(name), -1) <= RANKS.get(folder(target), 99)
    )


def _ranked(module: str) -> str:
    return f"{module} (rank {RANKS.get(folder(module))})"


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of names that import each other (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in edges.get(name, ()):
            if target not in order:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], order[target])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in edges:
        if name not in order:
            visit(name)
    return found


def page() -> str:
    """The layers from the top, with size, purpose and imports of each folder; then any cycle."""
    known, edges = modules(), imports()
    between = folders(edges)
    rows = []
    for name in sorted(RANKS, key=lambda one: (-RANKS[one], one)):
        own = [path for module, path in known.items() if folder(module) == name]
        lines = sum(len(path.read_text().splitlines()) for path in own)
        text = ast.get_docstring(ast.parse(known[f"nettop.{name}"].read_text())) or ""
        rows.append(f"{RANKS[name]:>3}  {name:<9} {len(own):>3} files {lines:>6} lines  ")
        rows[-1] += text.splitlines()[0] if text else ""
        below = between.get(name, {})
        if below:
            told = ", ".join(f"{to} {below[to]}" for to in sorted(below, key=lambda t: -RANKS[t]))
            rows.append(f"{'':15}imports {told}")
    wrong = [*climbing(edges), *(f"cycle: {' ↔ '.join(group)}" for group in cycles(edges))]
    return "\n".join([*rows, *(wrong or ["no import runs upward, and there is no cycle"])])


if __name__ == "__main__":
    print(page())
    sys.exit(bool(climbing(imports()) or cycles(imports())))
