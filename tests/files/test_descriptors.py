"""Errors of files hold nothing: a source that nobody holds is gone, with its sockets."""

import gc
import weakref
from pathlib import Path

import pytest

from nettop.files import descriptors
from nettop.host.source import Live


def test_a_source_that_missed_a_file_is_gone_without_a_collection(tmp_path: Path) -> None:
    def missed() -> weakref.ref[Live]:
        source = Live()
        with pytest.raises(FileNotFoundError):
            source.text(str(tmp_path / "gone"))
        return weakref.ref(source)

    gc.disable()
    try:
        assert missed()() is None
    finally:
        gc.enable()


def test_the_error_of_a_file_is_that_of_the_kernel(tmp_path: Path) -> None:
    error = FileNotFoundError(2, "gone", str(tmp_path))
    with pytest.raises(FileNotFoundError) as raised:
        descriptors.instead(error, "what")
    assert raised.value is error
