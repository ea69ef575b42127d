"""A relative NETTOP_STATE is refused: guard and command may run in different folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from warm import Warm


@pytest.mark.parametrize("words", [["journal"], ["undo", "1"], ["confirm"], ["incidents"]])
def test_the_refusal_says_that_the_path_must_be_absolute(
    words: list[str], tmp_path: Path, warm: Warm
) -> None:
    done = warm.run(words, {**os.environ, "NETTOP_STATE": "here/state"}, str(tmp_path))
    assert done.returncode == 3
    assert b"NETTOP_STATE must be an absolute path: here/state" in done.stderr
    assert not any(tmp_path.iterdir())
