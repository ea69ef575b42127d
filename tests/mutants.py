"""Small changes of the sources, each of which some test should notice: `make mutants`.

    python tests/mutants.py [--count 25] [--seed N] [--map FOLDER] [--fast] [FOLDER …]

A mutant is one change of one expression or statement of src/nettop: a comparison, a number, a
switch, and/or, a returned value, a statement left out. It is made in a copy of the tree. The tests
that execute the changed lines run, the fastest first (line_map.py), then the slow tests of its
folder. A mutant that passes all of them survived: a test is missing, or the change means nothing.

The map takes some minutes. `--map` keeps it in a folder and uses it again; it holds as long as
src/nettop is unchanged.
"""

from __future__ import annotations

import argparse
import ast
import copy
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

import hypothesis  # noqa: F401 - imported once, for all children
import line_map
import pytest
import pytest_asyncio  # noqa: F401 - likewise

ROOT: Final = Path(__file__).parents[1]
SRC: Final = ROOT / "src/nettop"
OTHER: Final = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
                ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
                ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
_SLOW: Final = "slow and not netns and not lab"
_NO_TESTS: Final = 5  # pytest's exit code when it runs no test


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that can be changed, in a fixed order."""
    words = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings, calls
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        back = isinstance(node, ast.Return) and not _is_none(node.value)
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


def mutant(text: str, number: int) -> tuple[str, str, range]:
    """The changed source, the change in words and its lines; LookupError without such a place."""
    tree = ast.parse(text)
    node = next((n for i, n in enumerate(places(tree)) if i == number), None)
    if node is None:
        raise LookupError(f"no place {number}")
    new = change(node)

    class Swap(ast.NodeTransformer):
        def visit(self, one: ast.AST) -> ast.AST:
            return ast.copy_location(new, one) if one is node else self.generic_visit(one)

    line = getattr(node, "lineno", 0)
    rows = range(line, getattr(node, "end_lineno", line) + 1)
    words = f"{line}: {ast.unparse(node)} → {ast.unparse(new)}".replace("\n", " ")
    return ast.unparse(ast.fix_missing_locations(Swap().visit(tree))), words, rows


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


_written = itertools.count(1)


def write(path: Path, text: str) -> None:
    """Write a source with a time of its own: bytecode is cached by time and size of the source."""
    path.write_text(text, encoding="utf-8")
    number = next(_written)
    os.utime(path, (number, number))


def test_folders(tree: Path) -> list[str]:
    """The folders of tests that hold modules of tests."""
    return sorted({path.relative_to(tree / "tests").parts[0]
                   for path in (tree / "tests").glob("*/**/test_*.py")})  # fmt: skip


def _fails(tree: Path, words: list[str], seconds: float) -> bool:
    """Whether a test fails, or the tests take longer than `seconds`: the mutant waits for ever.

    A child of this process runs them, because pytest takes longer to start than most tests.
    """
    child = os.fork()
    if not child:
        _run(tree, words, seconds)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status) not in (0, _NO_TESTS)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _run(tree: Path, words: list[str], seconds: float) -> NoReturn:
    """Run tests of the tree in this process, and end with pytest's exit code."""
    code = 1
    try:
        os.setsid()
        signal.alarm(int(seconds) + 10)  # it ends even if its parent was killed
        os.chdir(tree)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for handle in range(3):
            os.dup2(nowhere, handle)
        sys.path.insert(0, str(tree / "src"))
        os.environ["PYTHONPATH"] = str(tree / "src")
        sys.dont_write_bytecode = False  # else each run compiles every module
        loaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        few = ["-x", "-q", "--hypothesis-profile", "quick"]
        code = int(pytest.main([*loaded, *few, *words]))
    finally:
        os._exit(code)


def killed(tree: Path, folder: str, tests: list[str], expected: float, *, slow: bool) -> bool:
    """Whether one of `tests`, which take the `expected` seconds, or a slow test notices it."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests))
        names.flush()
        if tests and _fails(tree, ["-m", line_map.MARK, f"@{names.name}"], 60 + 10 * expected):
            return True
    own = tree / "tests" / folder
    return slow and own.is_dir() and _fails(tree, ["-m", _SLOW, str(own)], 300)


def main() -> int:
    """Print each mutant and what became of it, then the sums of each folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--map", type=Path, help="folder of the line map, made if it is absent")
    parser.add_argument("--fast", action="store_true", help="leave out the slow tests")
    args = parser.parse_args()
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="nettop-mutants-") as name:
        tree = copied(Path(name))
        folder_of_map = args.map or Path(name, "map")
        if not folder_of_map.exists():
            line_map.record(tree, folder_of_map, test_folders(tree))
        lines = line_map.load(folder_of_map)
        for path, number in sample(args.folders, args.count, args.seed):
            where = path.relative_to(ROOT)
            folder = path.relative_to(SRC).parts[0]
            text = path.read_text(encoding="utf-8")
            new, what, rows = mutant(text, number)
            tests = lines.of(str(where), rows)
            expected = sum(lines.seconds.get(test, 0.0) for test in tests)
            write(tree / where, new)
            dead = killed(tree, folder, tests, expected, slow=not args.fast)
            write(tree / where, text)
            tried[folder] += 1
            noticed[folder] += dead
            print(f"{'killed  ' if dead else 'SURVIVED'} {where}:{what[:120]}", flush=True)
    for folder, count in sorted(tried.items()):
        print(f"{folder:12} {noticed[folder]:>3} of {count}")
    print(f"{'all':12} {noticed.total():>3} of {tried.total()} killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
