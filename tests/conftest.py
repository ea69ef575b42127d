"""Options and fixtures that all tests share."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from nettop.changes.journal import Journal
    from nettop.settings import Host

os.environ["LC_ALL"] = "C.UTF-8"  # what is printed must not depend on who runs the tests
# a busy machine is no reason to fail: tests count, and never time
hypothesis.settings.register_profile("nettop", deadline=None)
hypothesis.settings.load_profile("nettop")


hypothesis.settings.register_profile("quick", deadline=None, max_examples=10)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow."""
    from slow import SLOW

    slow = set(" ".join(SLOW.values()).split())
    for item in items:
        if slow & {item.path.stem, item.path.parent.name}:
            item.add_marker("slow")


# of nettop's own variables only those that say what a run may use reach the tests
_SAID = ("NETTOP_SAMPLES", "NETTOP_LAB")
_TOLD = ("PIP_CONFIG_FILE", Path.home() / ".config/pip/pip.conf")  # where packages come from
_HOME = tempfile.mkdtemp(prefix="nettop-home-")


def _at_home() -> dict[str, str]:
    """An environment in which nothing of the developer's own is found or written."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NETTOP_", "XDG_")) or name.startswith(_SAID)
    }
    if _TOLD[1].exists():
        kept.setdefault(_TOLD[0], str(_TOLD[1]))
    folders = {"CONFIG": ".config", "STATE": ".local/state", "CACHE": ".cache", "DATA": ".data"}
    return kept | {f"XDG_{n}_HOME": f"{_HOME}/{f}" for n, f in folders.items()} | {"HOME": _HOME}


_HERE = _at_home()
os.environ.clear()  # at once: modules and their fixtures look at it too
os.environ.update(_HERE)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without a configuration, a journal and results of its user."""
    for name in [name for name in os.environ if name.startswith(("NETTOP_", "XDG_"))]:
        if name not in _HERE:
            monkeypatch.delenv(name)
    for name in ("HOME", *(name for name in _HERE if name.startswith("XDG_"))):
        monkeypatch.setenv(name, _HERE[name])


def pytest_unconfigure() -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write golden files anew")
    parser.addoption("--tally", metavar="FILE", help="write what became of each test as JSON")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Kind, then the reason of a skip (else nothing), then the tests."""
    path = config.getoption("--tally")
    if path is None:
        return
    told: dict[str, dict[str, list[str]]] = {}
    for kind in ("passed", "failed", "error", "skipped", "rerun"):
        for report in terminalreporter.stats.get(kind, ()):
            skip = isinstance(report.longrepr, tuple)
            reason = report.longrepr[2].removeprefix("Skipped: ") if skip else ""
            told.setdefault(kind, {}).setdefault(reason, []).append(report.nodeid)
    Path(path).write_text(json.dumps(told), encoding="utf-8")


@pytest.fixture(autouse=True)
def untouched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would change a setting of this machine fails instead of changing it.

    Tests of a real kernel have a namespace or a machine of their own. A process of the test's own
    may be changed.
    """
    if any(request.node.get_closest_marker(name) for name in ("netns", "lab")):
        return
    from nettop import settings

    write = settings.write

    def guarded(host: Host, address: settings.Address, value: str) -> None:
        if host.real and address.kind not in ("process", "thread", "nice"):
            pytest.fail(f"{address} of this machine would be set to {value!r}")
        write(host, address, value)

    monkeypatch.setattr(settings, "write", guarded)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A directory that stands in for a host."""
    import fake_host  # the lab's tests, where imports take seconds, do without

    return fake_host.make(tmp_path / "host")


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    """The journal of that host, still empty."""
    from nettop.changes.journal import Journal

    return Journal(str(tmp_path / "state"))
