"""Small changes of the sources, each of which some test should notice: `make mutants`.

    python tests/mutants.py [--count 25] [--seed N] [FOLDER …]

A mutant is one change of one expression or statement of src/nettop: a comparison, a number, a
switch, and/or, a returned value, a statement left out. It is made in a copy of the tree. The tests
of the folder it lies in run first, then those of the rest that need no namespace, each for at most
`--seconds`. One that passes all of them survived: a test is missing, or the change means nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SRC: Final = ROOT / "src/nettop"
OTHER: Final = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
                ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
                ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
QUICK: Final = "not netns and not lab"


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that can be changed, in a fixed order."""
    words = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings, calls
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        back = isinstance(node, ast.Return) and node.value is not None
        compared = isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER
        logic = isinstance(node, ast.BoolOp)
        logic |= isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if (number and id(node) not in words) or call or back or compared or logic:
            yield node


def change(node: ast.AST) -> ast.AST:
    """What stands in its place."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Constant):
        new.value = not new.value if isinstance(new.value, bool) else new.value + 1  # type: ignore[operator]
    elif isinstance(new, ast.Compare):
        new.ops[0] = OTHER[type(new.ops[0])]()
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
    elif isinstance(new, ast.UnaryOp):
        return new.operand
    elif isinstance(new, ast.Return):
        new.value = ast.Constant(None)
    else:
        return ast.Pass()
    return new


def mutant(text: str, number: int) -> tuple[str, str]:
    """The changed source and what was changed; LookupError where there is no such place."""
    tree = ast.parse(text)
    node = next((n for i, n in enumerate(places(tree)) if i == number), None)
    if node is None:
        raise LookupError(f"no place {number}")
    new = change(node)

    class Swap(ast.NodeTransformer):
        def visit(self, one: ast.AST) -> ast.AST:
            return ast.copy_location(new, one) if one is node else self.generic_visit(one)

    line = getattr(node, "lineno", 0)
    said = f"{line}: {ast.unparse(node)} → {ast.unparse(new)}"
    return ast.unparse(ast.fix_missing_locations(Swap().visit(tree))), said.replace("\n", " ")


def sample(folders: list[str], count: int, seed: int) -> list[tuple[Path, int]]:
    """So many places of the sources, chosen by chance."""
    files = [path for path in sorted(SRC.rglob("*.py")) if path.name != "__main__.py"]
    files = [p for p in files if not folders or p.relative_to(SRC).parts[0] in folders]
    every = [
        (path, number)
        for path in files
        for number, _ in enumerate(places(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def copied(folder: Path) -> Path:
    """The tree without what was built."""
    names = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "dist", "build")
    return Path(shutil.copytree(ROOT, folder / "tree", ignore=names))


def killed(tree: Path, folder: str, seconds: float) -> bool:
    """Whether a test fails; a run that is cut off tells nothing."""
    own = tree / "tests" / folder
    rest = ["--ignore", str(own), str(tree / "tests")]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ignored = [f"--ignore={tree / 'tests' / name}" for name in ("netns", "lab", "faults")]
    for words in ([str(own)] if own.is_dir() else [], rest if seconds else []):
        if words:
            run = [sys.executable, "-m", "pytest", "-x", "-q", "-m", QUICK, *ignored, *words]
            try:
                done = subprocess.run(
                    run, cwd=tree, env=environment, capture_output=True, check=False,
                    timeout=seconds or 120,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                continue
            if done.returncode != 0:
                return True
    return False


def main() -> int:
    """Print each mutant and what became of it, then the sums of each folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="0: only the folder's own tests")
    args = parser.parse_args()
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="nettop-mutants-") as name:
        tree = copied(Path(name))
        for path, number in sample(args.folders, args.count, args.seed):
            where = path.relative_to(ROOT)
            folder = path.relative_to(SRC).parts[0]
            text = path.read_text(encoding="utf-8")
            new, what = mutant(text, number)
            (tree / where).write_text(new, encoding="utf-8")
            dead = killed(tree, folder, args.seconds)
            (tree / where).write_text(text, encoding="utf-8")
            tried[folder] += 1
            noticed[folder] += dead
            print(f"{'killed  ' if dead else 'SURVIVED'} {where}:{what[:120]}", flush=True)
    for folder, count in sorted(tried.items()):
        print(f"{folder:12} {noticed[folder]:>3} of {count}")
    print(f"{'all':12} {noticed.total():>3} of {tried.total()} killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
