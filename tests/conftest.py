"""Options and fixtures that all tests share."""

from __future__ import annotations

import hypothesis
import pytest

# a busy machine is no reason to fail: tests count, and never time
hypothesis.settings.register_profile("nettop", deadline=None)
hypothesis.settings.load_profile("nettop")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write golden files anew")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update"))
