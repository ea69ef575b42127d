"""Reading the host: whole files whatever their size, from the disk and from the kernel."""

import gc
import os
import re
from pathlib import Path

import pytest

from nettop.collect import cpu, softirqs
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler


@pytest.mark.parametrize("folder", ["proc", "sys"])
@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 65535, 65536, 65537, 131072, 1_000_003])
def test_a_file_is_read_whole(tmp_path: Path, folder: str, size: int) -> None:
    body = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "file").write_bytes(body)
    source = Live(str(tmp_path))
    assert source.data(f"/{folder}/file") == body
    assert source.text(f"/{folder}/file") == body.decode()


def test_what_is_read_every_second_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    really = os.open

    def counted(path: str, flags: int) -> int:
        opened.append(path)
        return really(path, flags)

    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    source, names = Live(), ("/proc/stat", "/proc/softirqs", "/proc/net/softnet_stat")
    source.keep_open(names)
    monkeypatch.setattr(os, "open", counted)
    for _ in range(3):
        for name in names:
            told = source.text(name)
            shape = re.sub(r"[0-9a-f]+", "", Path(name).read_text())
            assert re.sub(r"[0-9a-f]+", "", told).split() == shape.split()
    assert opened == [*names]
    del source
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_sampler_keeps_open_what_collectors_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    really = os.open

    def counted(path: str, *flags: int) -> int:
        opened.append(path)
        return really(path, *flags)

    sampler = Sampler(Live())
    monkeypatch.setattr(os, "open", counted)
    for _ in range(3):
        sampler.take(["cpu", "softirqs"])
    assert sorted(opened) == sorted((*cpu.TABLE.keep_open, *softirqs.TABLE.keep_open))


def test_what_needs_more_than_one_read_is_opened_each_time() -> None:
    source = Live()
    source.keep_open(["/proc/kallsyms"])
    for _ in range(2):
        assert source.data("/proc/kallsyms").count(b"\n") > 1000


def test_the_kernel_gives_a_file_in_many_pieces() -> None:
    before = len(os.listdir("/proc/self/fd"))
    found = Live().text("/proc/kallsyms").splitlines()
    assert len(found) > 1000
    assert all(len(line.split()) >= 3 for line in found)
    assert len(os.listdir("/proc/self/fd")) == before
