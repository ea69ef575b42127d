"""The mark of what is played for a scoreboard."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "live: judges real traffic: `make live`, never blocking")
