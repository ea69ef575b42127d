"""The lock file of the one file: it agrees with pyproject.toml and with itself."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import locked
import one_file
import pytest
from packaging.requirements import Requirement

REPO = Path(__file__).parents[2]
LOCK = locked.read()
INSIDE = {one.name: one for one in LOCK.of("wheel")}
EXTRAS = ("metrics", "serve")  # those whose packages are inside
WHERE = {"python_version": "3.13", "python_full_version": "3.13.5", "sys_platform": "linux",
         "platform_system": "Linux", "implementation_name": "cpython",
         "platform_python_implementation": "CPython"}  # fmt: skip


def named(text: str) -> str:
    """A name as the index compares it: PEP 503."""
    return re.sub(r"[-_.]+", "-", text).lower()


def wanted() -> list[Requirement]:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    extras = (one for name in EXTRAS for one in project["optional-dependencies"][name])
    return [Requirement(one) for one in (*project["dependencies"], *extras)]


@pytest.mark.parametrize("needed", wanted(), ids=str)
def test_the_lock_has_what_nettop_needs_in_a_version_that_it_accepts(needed: Requirement) -> None:
    one = INSIDE[named(needed.name)]
    assert needed.specifier.contains(one.version), f"{one.name} {one.version}: {needed}"


def here(name: str) -> bool:
    """Whether the version of the lock is the one that is installed: only that can be looked at."""
    return importlib.metadata.version(name) == INSIDE[name].version


def test_the_lock_has_what_its_packages_need_and_no_more() -> None:
    todo, seen = [named(one.name) for one in wanted()], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if not here(name):
            continue
        needs = map(Requirement, importlib.metadata.requires(name) or ())
        extras = ("linkify",) if name == "markdown-it-py" else ("",)  # as textual asks for it
        todo += [
            named(one.name)
            for one in needs
            if one.marker is None
            or any(one.marker.evaluate({**WHERE, "extra": extra}) for extra in extras)
        ]
    assert seen <= set(INSIDE)
    assert seen == set(INSIDE) or not all(map(here, INSIDE))


def test_each_input_is_there_once_with_a_whole_hash() -> None:
    names = [one.name for one in LOCK.inputs]
    assert len(names) == len(set(names))
    for one in LOCK.inputs:
        assert one.licence
        for value in one.hashes.values():
            assert re.fullmatch("[0-9a-f]{64}", value), one.name
    hashes = [value for one in LOCK.inputs for value in one.hashes.values()]
    assert len(hashes) == len(set(hashes))


def test_the_files_of_a_source_have_its_version() -> None:
    for one in LOCK.of("source"):
        for name in one.hashes:
            assert one.upstream in name
            assert name.startswith(f"{one.name}_")


def test_the_screenshots_and_the_one_file_are_of_the_same_textual() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    (exact,) = (o for o in project["optional-dependencies"]["dev"] if o.startswith("textual=="))
    assert exact == f"textual=={INSIDE['textual'].version}"


def sources() -> dict[Path, Iterable[ast.AST]]:
    """The statements of nettop, and those that an import of a package in the file executes."""
    found: dict[Path, Iterable[ast.AST]] = {}
    for path in (REPO / "src/nettop").rglob("*.py"):
        found[path] = ast.walk(ast.parse(path.read_text()))
    for name in filter(here, INSIDE):
        files = (Path(one) for one in importlib.metadata.files(name) or () if one.suffix == ".py")
        for file in one_file.kept(files, one_file.unneeded()["packages"]):
            path = Path(str(importlib.metadata.distribution(name).locate_file(file)))
            found[path] = ast.parse(path.read_text()).body
    return found


@pytest.mark.package
def test_no_module_that_is_imported_is_left_out() -> None:
    left_out = one_file.unneeded()["library"]
    for path, nodes in sources().items():
        for node in nodes:
            found = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found = [node.module]
            for name in found:
                if name.split(".")[0] in sys.stdlib_module_names:
                    file = Path(*name.split(".")).with_suffix(".py")
                    assert list(one_file.kept([file], left_out)), f"{path}: {name}"


def test_a_wheel_is_taken_only_with_its_hash(tmp_path: Path) -> None:
    one = INSIDE["rich"]
    false = tmp_path / f"rich-{one.version}-py3-none-any.whl"
    false.write_bytes(b"not it")
    assert locked.wheel(tmp_path, one, "x86_64") is None


def test_a_source_with_another_hash_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "fetch_wheels", lambda *_: None)
    one = LOCK.of("source")[0]
    for name in one.hashes:
        (tmp_path / name).write_bytes(b"not it")
    with pytest.raises(SystemExit, match=r"has the SHA-256 [0-9a-f]{64}; inputs.toml has"):
        locked.fetch(LOCK, tmp_path, "x86_64")
