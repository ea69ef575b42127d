"""What users install is built once."""

from __future__ import annotations

from pathlib import Path

import pytest
import pyz


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel."""
    return pyz.built(tmp_path_factory.mktemp("dist"))
