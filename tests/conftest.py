"""Options and fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from nettop.changes.journal import Journal
    from nettop.settings import Host

os.environ["LC_ALL"] = "C.UTF-8"  # what is printed must not depend on who runs the tests
# a busy machine is no reason to fail: tests count, and never time
hypothesis.settings.register_profile("nettop", deadline=None)
hypothesis.settings.load_profile("nettop")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write golden files anew")


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
