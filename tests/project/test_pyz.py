"""nettop as one file runs on a bare Python: it needs a package index to be made."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import pyz
from hang import HANG

from nettop import __version__
from nettop.commands.top import demo

pytestmark = pytest.mark.package


def reachable(where: Path) -> bool:
    """Whether pip finds a small dependency anywhere."""
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "0",
             "--timeout", "20", "-d", str(where), "py-cpuinfo"]  # fmt: skip
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[Path]:
    """The file; what root's runs unpack is removed again."""
    where = tmp_path_factory.mktemp("pyz")
    if not reachable(where / "index"):
        pytest.skip("no package index is reachable")
    cache = Path("/var/cache/nettop")
    before = set(cache.glob("*"))
    yield pyz.make(where / "nettop.pyz", wheel)
    for made in set(cache.glob("*")) - before:
        shutil.rmtree(made, ignore_errors=True)


def nettop(one_file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The file as a program of a host that has Python and nothing else."""
    python = os.path.realpath(sys.executable)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(one_file.parent), "LANG": "C.UTF-8"}
    return subprocess.run(
        [python, "-S", str(one_file), *words],
        cwd=one_file.parent, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_one_file_advises(one_file: Path) -> None:
    assert nettop(one_file, "--version").stdout == f"nettop {__version__}\n"
    done = nettop(one_file, "advise", "--json", "--replay", demo())
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["findings"]


def test_the_one_file_looks_at_this_host_and_draws(one_file: Path) -> None:
    done = nettop(one_file, "set", "sysctl.net.ipv4.tcp_sack", "7", "--dry-run")
    assert done.returncode in (0, 4), done.stderr  # read and judged, whatever the kernel allows
    done = nettop(one_file, "show", "overview", "--once", "--replay", demo())
    assert "CORES" in done.stdout, done.stderr


def test_the_one_file_runs_a_test(one_file: Path) -> None:
    words = ("test", "bulk", "--to", "127.0.0.1", "--peer", "env")
    done = nettop(one_file, *words, "--seconds", "0.5", "--warmup", "0", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)


def test_the_one_file_is_executable(one_file: Path) -> None:
    assert os.access(one_file, os.X_OK)
    assert one_file.read_bytes().startswith(b"#!/usr/bin/env python3\n")


START = """
import os, runpy, sys
seen = os.uname()
os.uname = lambda: os.uname_result((*seen[:4], {machine!r}))
sys.argv = [{path!r}, "--version"]
runpy.run_path({path!r}, run_name="__main__")
"""


def on(one_file: Path, machine: str) -> subprocess.CompletedProcess[str]:
    """The file's first start as it would be on another machine."""
    script = START.format(machine=machine, path=str(one_file))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(one_file.parent), "LANG": "C.UTF-8"}
    words = [os.path.realpath(sys.executable), "-S", "-c", script]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("machine", "code"), [("x86_64", 62), ("aarch64", 183)])
def test_it_unpacks_the_compiled_module_of_the_machine(
    one_file: Path, machine: str, code: int
) -> None:
    """ELF's e_machine, elf(5): EM_X86_64 is 62, EM_AARCH64 is 183."""
    done = on(one_file, machine)
    assert done.stdout == f"nettop {__version__}\n", done.stderr
    caches = (Path("/var/cache/nettop"), one_file.parent / ".cache/nettop")
    newest = max(
        (p for c in caches for p in c.glob(f"*-{machine}")), key=lambda p: p.stat().st_mtime
    )
    (module,) = newest.rglob("psutil/*.so")
    assert int.from_bytes(module.read_bytes()[18:20], "little") == code
    assert not list(newest.rglob("native"))


def test_on_a_machine_without_a_compiled_module_it_says_so(one_file: Path) -> None:
    done = on(one_file, "riscv64")
    assert done.returncode == 1
    assert done.stderr == (
        "nettop.pyz is for x86_64 and aarch64; this is riscv64: use pip install\n"
    )


def test_an_interrupt_while_it_unpacks_leaves_neither_a_traceback_nor_a_folder(
    tmp_path: Path,
) -> None:
    """The interrupt comes when it opens its own file: a module beside it stands in for zipfile."""
    main = pyz.MAIN.replace("{machines}", repr((os.uname().machine,)))
    (tmp_path / "__main__.py").write_text(main.replace("/var/cache", str(tmp_path / "cache")))
    (tmp_path / "zipfile.py").write_text("def ZipFile(_):\n    raise KeyboardInterrupt\n")
    done = subprocess.run(
        [os.path.realpath(sys.executable), "-S", str(tmp_path)],
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True, text=True, timeout=HANG, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert list((tmp_path / "cache/nettop").iterdir()) == []
