"""The gzip file that is complete after each write."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from nettop.box.ring import OVERHEAD, Growing


def test_every_gzip_reads_it_after_each_part(tmp_path: Path) -> None:
    path, text = tmp_path / "a.gz", b""
    file = Growing(path)
    for number in range(20):
        text += (part := b"%d\n" % number * 100)
        file.append(file.packed(part))
        assert gzip.decompress(path.read_bytes()) == text
        assert path.stat().st_size == file.size + OVERHEAD - 10


def test_only_its_owner_can_read_it_and_it_replaces_no_file(tmp_path: Path) -> None:
    Growing(tmp_path / "a.gz").close()
    assert (tmp_path / "a.gz").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        Growing(tmp_path / "a.gz")


def test_a_full_disk_leaves_the_parts_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Growing(tmp_path / "a.gz")
    file.append(file.packed(b"one\n"))
    real, most = os.pwrite, (tmp_path / "a.gz").stat().st_size + 5

    def full(handle: int, data: bytes, at: int) -> int:
        if at >= most:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[: most - at], at)

    part = file.packed(b"".join(b"%d\n" % (n * n) for n in range(1000)))
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        file.append(part)
    monkeypatch.undo()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"one\n"
