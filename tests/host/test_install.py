"""What may be installed at another host, its answers, and reading by the Python of that file."""

import os
import shlex
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nettop.host import once, prefix
from nettop.host.connection import NoPythonError
from nettop.host.distant import behind
from nettop.host.once import File
from nettop.host.source import HostLostError
from nettop.trials.end import Peer

ONE = File(__file__, "x86_64", 1, "0")


def elf(bits: int = 2, order: int = 1, machine: int = 62) -> bytes:
    return struct.pack("<4sBB12xH", b"\x7fELF", bits, order, machine)


def test_the_machine_of_a_file_is_in_its_header(tmp_path: Path) -> None:
    path = tmp_path / "nettop"
    for number, name in ((62, "x86_64"), (183, "aarch64")):
        path.write_bytes(elf(machine=number))
        assert once.file(str(path)).machine == name


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", elf(bits=1), elf(order=2), elf(machine=40)])
def test_another_file_is_not_sent(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "nettop"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="make binary builds it"):
        once.file(str(path))


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            "echo motd; echo nettop-install machine aarch64",
            "is aarch64, and .* is for x86_64: give",
        ),
        ("echo nettop-install no 'no room'", "no room$"),
        ("echo 'sudo: a password is required' >&2; exit 1", "a password is required$"),
        ("exit 7", "exit code 7$"),
    ],
)
def test_each_failure_is_one_sentence(script: str, sentence: str) -> None:
    with pytest.raises(HostLostError, match=sentence):
        once.install(("sh", "-c", script), ONE)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A prefix to a host where only sh, id and the given script `nettop` or `python3` are."""
    monkeypatch.setattr(prefix, "FILES", set())
    for name in ("sh", "id"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))

    def put(name: str, script: str = "") -> str:
        if name:
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        return f"env PATH={tmp_path} HOME={tmp_path} PYTHONPATH={os.pathsep.join(sys.path)}"

    return put


NETTOP = f'exec {shlex.quote(sys.executable)} -P -m nettop "$@"'
FOUND = ("/opt/nettop/nettop", "an installed nettop is on this machine")


@pytest.mark.skipif(os.path.exists(FOUND[0]), reason=FOUND[1])
@pytest.mark.parametrize("older", [False, True])
def test_a_host_without_python_is_read_by_that_of_its_nettop(
    bare: Callable[..., str], older: bool
) -> None:
    text = bare("nettop", NETTOP)
    if older:
        bare("python3", "echo 'nettop-python 3.4' >&2; exit 1")
    source = behind(text)
    assert source.text("/proc/sys/kernel/ostype") == "Linux\n"
    source.close()
    peer = Peer(prefix.parse(text))
    assert peer.run(["sh", "-c", "echo 2"]) == (0, "2")


@pytest.mark.skipif(os.path.exists(FOUND[0]), reason=FOUND[1])
def test_where_neither_is_the_sentence_is_about_python(bare: Callable[..., str]) -> None:
    with pytest.raises(NoPythonError, match=r"has no python3: .* \(--install puts it there\)"):
        behind(bare(""))
    with pytest.raises(NoPythonError, match=r"has Python 3\.4: nettop needs 3\.6 or later"):
        behind(bare("python3", "echo 'nettop-python 3.4' >&2; exit 1"))
    with pytest.raises(HostLostError, match="no place to unpack to"):
        behind(bare("nettop", "echo 'nettop: there is no place to unpack to' >&2; exit 2"))
    assert not prefix.FILES
