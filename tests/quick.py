"""Print the tests of what changed and of its neighbours: `make quick` runs them.

What changed is what differs from the last commit, or, if nothing does, what that commit changed. A
file of src/nettop/X stands for the folder X and the folders that import it; one of rules/ for
advice. Nothing is printed where all tests belong to a change, as after one of pyproject.toml.
"""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import layers

TESTS: Final = Path(__file__).parent
ALWAYS: Final = ("project",)  # layers, documents, declarations: seconds


def changed() -> list[str]:
    """The changed files, from the root of the project."""
    new = _git("ls-files", "--others", "--exclude-standard")
    return _git("diff", "--name-only", "HEAD") + new or _git("diff", "--name-only", "HEAD~1")


def _git(*words: str) -> list[str]:
    done = subprocess.run(
        ["git", *words], cwd=TESTS.parent, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def folders(paths: Iterable[str]) -> Iterator[str]:
    """The folders of tests, and files of tests, of changed files."""
    between = layers.folders(layers.imports())
    for path in paths:
        match path.split("/"):
            case ["src", "nettop", folder, _, *_]:
                yield folder
                yield from (name for name, below in between.items() if folder in below)
            case ["src", "nettop", _]:
                yield "commands"
            case ["rules", *_]:
                yield "advice"
            case ["tests", "golden", folder, *_] | ["tests", folder, _, *_]:
                yield folder


def chosen() -> list[str]:
    """The words for pytest."""
    paths = changed()
    if any(path in ("pyproject.toml", "tests/conftest.py") for path in paths):
        return [str(TESTS)]
    there = {name for name in (*folders(paths), *ALWAYS) if (TESTS / name).is_dir()}
    return sorted(str(TESTS / name) for name in there if any((TESTS / name).rglob("test_*.py")))


if __name__ == "__main__":
    print(" ".join(chosen()))
