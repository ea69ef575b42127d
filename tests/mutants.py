"""Small changes of the sources, each of which some test should notice: `make mutants`.

    python tests/mutants.py [--count 25] [--seed N] [--map FOLDER] [--fast] [--seconds N]
                            [--record | --again] [FOLDER …]

A mutant is one change of one expression or statement of src/nettop: a comparison, a number, a
switch, and/or, a returned value, a statement left out. It is made in a copy of the tree. The tests
that execute the changed lines run, the fastest first (line_map.py), then the slow tests of its
folder. A mutant that passes all of them survived: a test is missing, or the change means nothing.

The map takes some minutes. `--map` keeps it in a folder and uses it again; it holds as long as
src/nettop is unchanged. With `--seconds` only the fastest tests run, as long as they take so many
seconds together: a mutant that only slower tests notice counts as a survivor. `--record` adds each
mutant to the record (mutant_record.py) and rewrites docs/records/mutants.md; `--again` plays the
survivors of the record again.
"""

import argparse
import ast
import copy
import itertools
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

import hypothesis  # noqa: F401 - imported once, for all children
import line_map
import mutant_record
import pytest
import pytest_asyncio  # noqa: F401 - likewise

ROOT: Final = Path(__file__).parents[1]
SRC: Final = ROOT / "src/nettop"
OTHER: Final = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
                ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
                ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
WIDTH: Final = 120  # of the description of a change
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


def called(tree: ast.Module, node: ast.AST) -> bool:
    """Whether the node is in the body of a function, not in what an import executes."""
    return any(
        node in ast.walk(statement)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for statement in (function.body if isinstance(function.body, list) else [function.body])
    )


def words_of(node: ast.AST) -> str:
    """The node and what stands in its place, as text in one line."""
    return f"{ast.unparse(node)} → {ast.unparse(change(node))}".replace("\n", " ")


def mutant(text: str, number: int) -> tuple[str, str, range]:
    """The changed source, the change in words and its lines; LookupError without such a place.

    No lines if an import executes them: which test is the first to import a module means nothing.
    """
    tree = ast.parse(text)
    node = next((n for i, n in enumerate(places(tree)) if i == number), None)
    if node is None:
        raise LookupError(f"no place {number}")
    new = change(node)

    class Swap(ast.NodeTransformer):
        def visit(self, one: ast.AST) -> ast.AST:
            return ast.copy_location(new, one) if one is node else self.generic_visit(one)

    line = getattr(node, "lineno", 0)
    rows = range(line, getattr(node, "end_lineno", line) + 1) if called(tree, node) else range(0)
    words = f"{line}: {words_of(node)}"
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


def survivors(folders: list[str]) -> list[tuple[Path, int]]:
    """The places of the survivors in the record, in the code of today; those that are gone, not."""
    found = []
    for one in mutant_record.load():
        path = SRC / one.where
        if one.now or one.same or (folders and one.folder not in folders) or not path.exists():
            continue
        same = [
            (abs(getattr(node, "lineno", 0) - one.line), number)
            for number, node in enumerate(places(ast.parse(path.read_text(encoding="utf-8"))))
            if words_of(node)[:WIDTH] == one.change
        ]
        found += [(path, min(same)[1])] if same else []
    return found


def played(seed: int, path: Path, what: str) -> bool:
    """Whether the record has this mutant of this seed: a run that was cut off goes on."""
    line, _, change = what.partition(": ")
    mine = (seed, str(path.relative_to(SRC)), int(line), change[:WIDTH])
    return mine in {(one.seed, one.where, one.line, one.change) for one in mutant_record.load()}


def recorded(seed: int, path: Path, what: str, *, dead: bool, again: bool) -> None:
    """Put the outcome of a mutant into the record."""
    line, _, change = what.partition(": ")
    where = str(path.relative_to(SRC))
    every = mutant_record.load()
    if again:
        same = [one for one in every if (one.where, one.change) == (where, change[:WIDTH])]
        nearest = min(same, key=lambda one: (one.now, abs(one.line - int(line))))
        every[every.index(nearest)] = replace(nearest, now=dead)
    else:
        every.append(
            mutant_record.Played(seed, where, int(line), change[:WIDTH], first=dead, now=dead)
        )
    mutant_record.save(every)


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
        few = ["-x", "-q"]
        code = int(pytest.main([*loaded, *few, *words]))
    finally:
        os._exit(code)


def within(lines: line_map.LineMap, tests: list[str], most: float) -> list[str]:
    """The first of these tests, which together take at most so many seconds."""
    sums = itertools.accumulate(lines.seconds.get(test, 0.0) for test in tests)
    return [test for test, total in zip(tests, sums, strict=True) if total <= most]


def killed(tree: Path, folder: str, tests: list[str], expected: float, *, slow: bool) -> bool:
    """Whether one of `tests`, which take the `expected` seconds, or a slow test notices it.

    The tests of its own folder run first: they notice most, and the others need not be imported.
    """
    near = [test for test in tests if test.startswith(f"tests/{folder}/")]
    for part in (near, [test for test in tests if test not in set(near)]):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
            names.write("\n".join(part))
            names.flush()
            if part and _fails(tree, ["-m", line_map.MARK, f"@{names.name}"], 60 + 10 * expected):
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
    parser.add_argument("--seconds", type=float, default=math.inf, help="most for the tests of one")
    parser.add_argument("--record", action="store_true", help="add to the record and the page")
    parser.add_argument("--again", action="store_true", help="play the survivors of the record")
    args = parser.parse_args()
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="nettop-mutants-") as name:
        tree = copied(Path(name))
        folder_of_map = args.map or Path(name, "map")
        if not folder_of_map.exists():
            line_map.record(tree, folder_of_map, test_folders(tree))
        lines = line_map.load(folder_of_map)
        chosen = sample(args.folders, args.count, args.seed)
        for path, number in survivors(args.folders) if args.again else chosen:
            where = path.relative_to(ROOT)
            folder = path.relative_to(SRC).parts[0]
            text = path.read_text(encoding="utf-8")
            new, what, rows = mutant(text, number)
            if args.record and played(args.seed, path, what):
                continue
            tests = within(lines, lines.of(str(where), rows), args.seconds)
            expected = sum(lines.seconds.get(test, 0.0) for test in tests)
            write(tree / where, new)
            dead = killed(tree, folder, tests, expected, slow=not args.fast)
            write(tree / where, text)
            tried[folder] += 1
            noticed[folder] += dead
            print(f"{'killed  ' if dead else 'SURVIVED'} {where}:{what[:WIDTH]}", flush=True)
            if args.record or args.again:
                recorded(args.seed, path, what, dead=dead, again=args.again)
    for folder, count in sorted(tried.items()):
        print(f"{folder:12} {noticed[folder]:>3} of {count}")
    print(f"{'all':12} {noticed.total():>3} of {tried.total()} killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
