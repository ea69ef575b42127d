"""How values reach a host: files, netlink, tools and threads, and each way that fails."""

import errno
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nettop import settings
from nettop.settings import Host, _host, process


def test_a_value_is_one_line_of_a_file_that_exists(tmp_path: Path) -> None:
    host = Host.at(f"{tmp_path}/")
    assert (host.root, host.real, Host.at("/").real) == (str(tmp_path), False, True)
    (tmp_path / "value").write_text("long before\n")
    host.write("/value", "new")
    assert (tmp_path / "value").read_text() == "new\n"
    with pytest.raises(FileNotFoundError) as found:
        host.write("/absent", "1")
    assert (found.value.errno, found.value.filename) == (errno.ENOENT, "/absent")
    assert not (tmp_path / "absent").exists()


def test_a_kernels_file_is_cut_written_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "value"
    path.write_text("longer before\n")
    host = Host("/")
    host.write(str(path), "new")
    assert path.read_text() == "new\n"
    closed: list[int] = []
    close = os.close

    def keep(handle: int) -> None:
        closed.append(handle)
        close(handle)

    def refuse(_handle: int, _data: bytes) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", keep)
        patch.setattr(os, "write", refuse)
        with pytest.raises(OSError, match="Invalid argument") as found:
            host.write(str(path), "x")
    assert (found.value.errno, found.value.filename) == (errno.EINVAL, str(path))
    assert len(closed) == 1


def test_a_directory_has_no_netlink(tmp_path: Path) -> None:
    host = Host.at(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="a directory has no netlink") as found:
        host.change("route", 1, b"")
    assert (found.value.errno, found.value.filename) == (errno.ENOENT, str(tmp_path))


def test_a_change_by_netlink_closes_its_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Kernel:
        def change(self, *words: Any) -> None:
            seen.append(words)
            if words[1] == 9:
                raise OSError(errno.EPERM, "denied")

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr("nettop.host.netlink.kernel.Kernel", Kernel)
    Host("/").change("route", 8, b"x", 3)
    assert seen == [("route", 8, b"x", 3), "closed"]
    with pytest.raises(OSError, match="denied"):
        Host("/").change("route", 9, b"x")
    assert seen[2:] == [("route", 9, b"x", 0), "closed"]


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (SimpleNamespace(returncode=1, stderr="first\nsecond\n", stdout="x"), "first"),
        (SimpleNamespace(returncode=1, stderr="", stdout="out\n"), "out"),
        (SimpleNamespace(returncode=3, stderr="", stdout=" "), "tc ended with 3"),
    ],
)
def test_a_tool_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, done: Any, said: str) -> None:
    asked: list[Any] = []

    def run(argv: Any, **options: Any) -> Any:
        asked.append((argv, options["timeout"], options["stdin"], options["check"]))
        return done

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(_host, "program", lambda name: f"/sbin/{name}")
    with pytest.raises(OSError, match=f"^.*{said}$") as found:
        Host("/").run(("tc", "qdisc"))
    assert (found.value.errno, found.value.strerror) == (errno.EIO, said)
    assert asked == [(("/sbin/tc", "qdisc"), 30, subprocess.DEVNULL, False)]
    done.returncode = 0
    assert Host("/").run(("tc",)) == done.stdout


def test_a_tool_that_hangs_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("tc", 30)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(_host, "program", lambda name: f"/sbin/{name}")
    with pytest.raises(TimeoutError, match="tc did not end within 30 s") as found:
        Host("/").run(("tc",))
    assert found.value.errno == errno.ETIMEDOUT


@pytest.mark.parametrize(
    ("error", "number", "said"),
    [
        (ProcessLookupError(errno.ESRCH, "x"), errno.ESRCH, "there is no process 7"),
        (PermissionError(errno.EPERM, "x"), errno.EPERM, "process 7 is another user's"),
    ],
)
def test_a_thread_that_cannot_be_moved(
    monkeypatch: pytest.MonkeyPatch, error: OSError, number: int, said: str
) -> None:
    moved: list[Any] = []

    def move(tid: int, cpus: Any) -> None:
        moved.append((tid, set(cpus)))
        if tid == 7:
            raise error

    monkeypatch.setattr(os, "sched_setaffinity", move)
    process.place(Host("/"), "8", "0-2,5")
    with pytest.raises(type(error), match=said) as found:
        process.place(Host("/"), "7", "0")
    assert found.value.errno == number
    assert moved == [(8, {0, 1, 2, 5}), (7, {0})]


# an absent target is ENOENT, whatever the kind
ABSENT = (
    "sysctl.net.absent", "nice.value@7", "process.affinity@7", "thread.affinity@7/7",
    "irq.affinity@999", "link.mtu@gone0", "ring.rx@gone0", "channels.combined@gone0",
    "coalesce.rx-usecs@gone0", "feature.rx-gro@gone0", "pause.rx@gone0", "rss.table@gone0",
    "rss.key@gone0", "napi.threaded@gone0", "rps.cpus@gone0/rx-0", "xps.cpus@gone0/tx-0",
    "qdisc.root@gone0", "cpufreq.governor@cpu9", "irqbalance.ban@gone0", "privflag.x@gone0",
    "service.running@irqbalance",
)  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_not_there_has_one_number(tmp_path: Path, name: str) -> None:
    host = Host.at(str(tmp_path))
    address = settings.parse(name)
    with pytest.raises((FileNotFoundError, LookupError)) as found:
        settings.read(host.source, address)
    assert getattr(found.value, "errno", errno.ENOENT) == errno.ENOENT
    if address.kind not in ("sysctl", "service"):
        with pytest.raises((OSError, LookupError, ValueError)):
            settings.limits(host.source, address)
