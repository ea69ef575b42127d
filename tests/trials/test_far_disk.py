"""The files of a transfer: read again and again, and written without a name."""

import os
import socket
from pathlib import Path

import pytest

from nettop.trials.far import bulk
from nettop.trials.far.offload import Refusal


def test_a_file_is_read_again_when_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"abcde")
    found = bulk.reading(str(path))
    assert found is not None
    memory = memoryview(bytearray(3))
    assert [bytes(found.fill(memory)) for _ in range(5)] == [b"abc", b"de", b"abc", b"de", b"abc"]
    os.close(found.file)


def test_what_was_read_leaves_the_page_cache_at_each_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _, *words: asked.append(words))
    (tmp_path / "data").write_bytes(b"abc")
    found = bulk.Reading(str(tmp_path / "data"))
    for _ in range(3):
        found.fill(memoryview(bytearray(3)))
    assert asked == [(0, 0, os.POSIX_FADV_DONTNEED)] * 3
    os.close(found.file)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, said in (("empty", "the file is empty"), ("none", "No such file or directory"),
                       (".", "Is a directory")):  # fmt: skip
        with pytest.raises(Refusal, match=said):
            bulk.Reading(f"{tmp_path}/{name}")
    assert (bulk.reading(None), bulk.writing(None)) == (None, None)


def test_what_is_written_has_no_name_and_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    monkeypatch.setattr(bulk, "FLUSH", 4)
    monkeypatch.setattr(bulk, "ROUND", 8)
    found = bulk.writing(str(tmp_path))
    assert found is not None
    assert os.listdir(tmp_path) == []
    for part in (b"abc", b"de", b"fgh", b"i"):
        found.store(memoryview(part))
    assert os.pread(found.file, 99, 0) == b"ibcdefgh"  # the ninth byte is the first again
    assert len(synced) == 2  # after five bytes, and after four more
    found.flush()
    assert len(synced) == 3
    os.close(found.file)


def test_a_folder_without_room_or_rights_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refusal, match="No such file or directory"):
        bulk.Writing(str(tmp_path / "none"))
    monkeypatch.setattr(bulk, "ROOM", 1 << 62)
    with pytest.raises(Refusal, match="GiB are free"):
        bulk.Writing(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_device_that_is_full_ends_the_transfer_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, object]] = []
    monkeypatch.setattr(bulk, "send", lambda **words: sent.append(words))
    here, there = socket.socketpair()
    with here, there:
        sink = bulk.Writing(str(tmp_path))
        monkeypatch.setattr(os, "write", full)
        one = bulk.Connection(here, pours=False, sink=sink)
        there.sendall(b"x")
        memory = memoryview(bytearray(8))
        assert not one.move(memory)
        assert one.bytes == 0
        bulk.report([one], [], 0.0, 0.0)
    assert sent[-1] == {"error": f"{tmp_path}: No space left on device"}


def full(*_: object) -> int:
    raise OSError(28, "No space left on device")
