"""`--root DIR`: a directory that stands in for a host, and hostile files in it.

With any kind of file in the place of a kernel file, each command ends with data or one sentence,
uses little memory, and still shows the other files.
"""

import json
import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from limited import Limited
from standing import stand
from thinned import thinned

from nettop.host.recording import Replay, load

HOST = Path(__file__).parents[1] / "hosts/guest-transfer.host"
HEALTHY = ("/proc/stat", "/proc/net/softnet_stat")  # left as they are


def link(to: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(to)


def text(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def unreadable(path: Path) -> None:
    path.touch(0o000)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "endless": link("/dev/zero"),
    "terminal": link("/dev/tty"),
    "full": link("/dev/full"),
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "sparse": sparse,
    "kernel": link("/proc/self/pagemap"),  # a regular file without end
    "waits": link("/proc/self/mem"),
    "loop": lambda path: path.symlink_to(path),
    "nowhere": link("/nowhere"),
    "unreadable": unreadable,
    "folder": Path.mkdir,
    "empty": text(b""),
    "binary": text(random.Random(3).randbytes(1 << 16)),
    "nul": text(b"\0" * 5000),
    "line": text(b"9" * (2 << 20)),
    "digits": text(b"cpu0: " + b"9" * 5000 + b"\n"),
    "marks": text(b"-- /proc/stat --\n!13 no\n-- @9.0 --\n" * 50),
    "columns": text((b"a" * 40 + b" ") * 2_000 + b"\n"),
}
ENDLESS = ("sparse", "kernel", "line")  # each is read up to its bound: a few of them suffice
WORDS = {
    "advise": ("advise", "--json", "--all", "--seconds", "0.2", "--fail-on", "never"),
    "show": ("show", "overview", "--once", "--interval", "0.1"),
    "nic": ("show", "nic", "--once", "--interval", "0.1"),
    "snapshot": ("snapshot", "--json", "--seconds", "0.1"),
    "get": ("get", "sysctl.net.ipv4.tcp_rmem"),
}


def quiet(errors: str) -> None:
    for word in ("Traceback", "internal error", "MemoryError", "RecursionError", "ResourceWarning"):
        assert word not in errors, errors[-2000:]


@pytest.mark.parametrize("kind", thinned(HOSTILE, 5))
def test_hostile_files_in_a_directory_hide_only_themselves(
    kind: str, tmp_path: Path, limited: Limited
) -> None:
    root = tmp_path.resolve() / "host"
    healthy = [root / name[1:] for name in HEALTHY]
    files = stand(HOST, root)
    for path in files[::20] if kind in ENDLESS else files:
        if path not in healthy:
            path.unlink()
            HOSTILE[kind](path)
    file = tmp_path / "it.host"
    record = ("record", str(file), "--seconds", "0.1", "--interval", "0.1")
    words = [(*one, "--root", str(root)) for one in (*WORDS.values(), record)]
    for name, *more in words:
        done = limited(name, *more)
        code, out, err = done.returncode, done.stdout, done.stderr
        quiet(err)
        # a directory stands still: no rate to judge by
        assert code in {"get": (0, 2, 3), "advise": (3,)}.get(name, (0,)), (name, err)
        if name == "snapshot":
            tables = json.loads(out)["tables"]
            assert tables["cpu"]
            assert tables["softnet"]
    assert Replay(load(str(file))).text(HEALTHY[0]).startswith("cpu")


@pytest.mark.parametrize("kind", ["fifo", "loop", "text", "endless", "unreadable"])
def test_something_else_in_place_of_folders_hides_only_them(
    kind: str, tmp_path: Path, limited: Limited
) -> None:
    root = tmp_path / "host"
    stand(HOST, root)
    for folder in ("proc/net", "sys/class/net", "sys/devices/system/cpu"):
        shutil.rmtree(root / folder)
        HOSTILE.get(kind, text(b"no folder\n"))(root / folder)
    words = [(*one, "--root", str(root)) for one in WORDS.values()]
    for name, *more in words:
        done = limited(name, *more)
        code, out, err = done.returncode, done.stdout, done.stderr
        quiet(err)
        assert code == (3 if name == "advise" else 0), (name, err)
        if name == "snapshot":
            assert json.loads(out)["tables"]["cpu"]


def test_a_directory_where_nothing_is_wrong_is_not_called_healthy(
    tmp_path: Path, limited: Limited
) -> None:
    stand(HOST, tmp_path / "host")
    done = limited("advise", "--seconds", "0.1", "--root", str(tmp_path / "host"))
    assert done.returncode == 3
    assert "Not enough to judge this host: no counter changed between the samples" in done.stdout
    assert done.stdout.count("a directory has no netlink") == 1


def test_a_recording_of_one_sample_is_not_called_healthy(tmp_path: Path, limited: Limited) -> None:
    whole = HOST.read_bytes()
    second = whole.index(b"\n-- @", whole.index(b"\n-- @") + 1)
    (tmp_path / "cut.host").write_bytes(whole[: second + 1])
    done = limited("advise", "--replay", str(tmp_path / "cut.host"))
    assert done.returncode == 3
    assert "Not enough to judge this host: one sample has no rates" in done.stdout
