"""Inside the lab's virtual machine: nettop in this process, the kernel through its own tools.

Python is fifteen times slower here, so commands run in-process and a test checks many things.
`pytest.mark.topology("two-nodes")` names the topology a test needs; in another it is left out.
`pytest.mark.full` is left out but in `make lab-full`.
"""

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import no_guard
from lab.inside.kernel import Nettop, see
from live.scenario import files

__all__ = ["Nettop", "see"]  # tests take them from here
collect_ignore_glob = [] if "NETTOP_LAB" in os.environ else ["test_*.py"]
# a topology without cases has no host, and a test without a case is an error
collect_ignore = [] if f"vm-{os.environ.get('NETTOP_LAB')}" in files() else ["test_lab_cases.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "topology(name): the lab's topology that a test needs")
    config.addinivalue_line("markers", "full: takes minutes; for `make lab-full`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here, full = os.environ.get("NETTOP_LAB"), os.environ.get("NETTOP_LAB_FULL")
    if here is None:
        return  # none of its tests is there; of the others there are ten thousand
    items[:] = [
        item
        for item in items
        if ((mark := item.get_closest_marker("topology")) is None or here in mark.args)
        and (full or item.get_closest_marker("full") is None)
    ]
    for item in items:  # those of the whole session, also of other folders
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("lab")  # settings of this machine may be written: it is the lab's own


@pytest.fixture(scope="session")
def told() -> dict[str, str]:
    """What guest.py laid out: role (e1000e, e1000e_to, tap_to …) → interface or address."""
    return {
        word.removeprefix("LAB_").lower(): value
        for word, value in os.environ.items()
        if word.startswith("LAB_")
    }


@pytest.fixture
def nettop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nettop]:
    """`nettop WORDS… --json` in this process: exit code and document; all undone afterwards."""
    from nettop.cli import main

    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run(*words: str) -> tuple[int, dict[str, object]]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main([*words, "--json"])
        text = out.getvalue()
        return code, json.loads(text) if text else {}

    yield run
    run("undo", "--all")
    run("confirm")  # an undo that may cut the link would go back
    no_guard(tmp_path / "state")  # without a journal it would revert
