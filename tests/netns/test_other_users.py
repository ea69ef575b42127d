"""An ordinary user beside root: whose journal and files are used, also where /proc hides much."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm import Warm

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs to choose from"),
]
USER = 65534
BECOME = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
options = sys.argv.pop(1)
if options != "all":
    assert not libc.unshare(0x20000)
    assert not libc.mount(b"none", b"/", None, 0x84000, None)
    assert not libc.mount(b"proc", b"/proc", b"proc", 0, options.encode())
os.setgroups([])
os.setgid({USER})
os.setuid({USER})
from nettop.__main__ import main
sys.argv[0] = "nettop"
raise SystemExit(main())
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that others may enter, as that of a user."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def process() -> Iterator[int]:
    """A process of that user."""
    with subprocess.Popen(["sleep", "600"], user=USER, group=USER, extra_groups=()) as one:
        yield one.pid
        one.kill()


class User:
    """Runs nettop as that user; `proc` are the options with which /proc is mounted, or `all`."""

    def __init__(self, warm: Warm, home: Path) -> None:
        own = {"HOME": str(home), "USER": "nobody"}
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "NETTOP_", "SSH_"))
        }
        self.warm, self.environment = warm, {**kept, **own}

    def __call__(self, proc: str, *words: str, **more: str) -> tuple[int, str, str]:
        environment = {**self.environment, **more}
        done = self.warm.run(["-c", BECOME, proc, *words], environment, folder="/")
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in out + err
        return done.returncode, out, err


@pytest.fixture
def user(warm: Warm, home: Path) -> User:
    return User(warm, home)


def belongings(folder: Path) -> set[int]:
    return {os.lstat(Path(where, name)).st_uid for where, dirs, files in os.walk(folder)
            for name in (*dirs, *files)}  # fmt: skip


def test_a_value_that_root_wrote_since_is_left_to_root(
    user: User, home: Path, process: int
) -> None:
    assert user("all", "set", f"process.affinity@{process}", "0")[0] == 0
    book = home / ".local/state/nettop/journal.jsonl"
    assert (book.stat().st_mode & 0o777, book.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    os.sched_setaffinity(process, {1})
    code, out, _ = user("all", "undo", "1")
    assert code == 4
    assert "it shows '1', neither the old '0-" in out
    assert os.sched_getaffinity(process) == {1}
    assert belongings(home) == {USER}


@pytest.mark.parametrize("proc", ["hidepid=1", "hidepid=2", "subset=pid", "hidepid=2,subset=pid"])
def test_the_journal_of_a_user_is_shown_whatever_proc_hides(
    user: User, process: int, proc: str
) -> None:
    assert user("all", "set", f"process.affinity@{process}", "0")[0] == 0
    known = "subset" not in proc
    code, out, err = user(proc, "journal", "--json")
    assert code == 0, err
    (entry,) = json.loads(out)["changes"]
    assert (entry["state"], "boot_id" in entry.get("since", "")) == ("applied", not known)
    code, out, _ = user(proc, "undo", "1")
    assert (code, "undone" in out, "boot_id" in out) == ((0, True, False) if known else
                                                         (4, False, True))  # fmt: skip
    assert (os.sched_getaffinity(process) == {0}) != known


@pytest.mark.parametrize(("proc", "code"), [("all", 0), ("hidepid=2", 0), ("subset=pid", 3)])
def test_what_proc_hides_is_said(user: User, proc: str, code: int) -> None:
    words = ["advise", "--seconds", "0.2", "--no-deep", "--fail-on", "never"]
    ended, out, _ = user(proc, *words)
    assert ended == code
    assert "No problem found." not in out or proc == "all"
    assert ("processes of other users are hidden" in out) == ("hidepid" in proc)


def test_a_user_neither_reads_nor_replaces_the_journal_of_root(
    user: User, process: int, tmp_path: Path
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        book = folder / "journal.jsonl"
        book.write_text("{}\n")
        book.chmod(0o600)
        folder.chmod(0o711)
        state = {"NETTOP_STATE": str(folder)}
        assert user("all", "journal", **state)[2] == f"nettop: Permission denied: {book}\n"
        code, out, err = user("all", "set", f"process.affinity@{process}", "0", **state)
        assert (code, "Permission denied" in out + err) == (4, True)
        assert os.sched_getaffinity(process) == os.sched_getaffinity(0)
        assert book.read_text() == "{}\n"
    finally:
        shutil.rmtree(folder)


def test_root_leaves_nothing_in_the_folders_of_a_user(home: Path, tmp_path: Path) -> None:
    """As `sudo` with a kept HOME; in a mount namespace with another /var/lib/nettop."""
    user = {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "s"),
        "XDG_CONFIG_HOME": str(home / "c"),
    }
    environment = {**os.environ, **user, "SUDO_USER": "nobody"}
    environment.pop("NETTOP_STATE", None)
    words = f"mkdir -p {tmp_path}/lib && mount --bind {tmp_path}/lib /var/lib && "
    words += "ip link add va type veth peer name vb && "
    words += f"{sys.executable} -m nettop set link.txqueuelen@va 900 && "
    words += f"{sys.executable} -m nettop undo 1"
    inside = ["unshare", "-mn", "sh", "-c", words]
    done = subprocess.run(inside, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "undone" in done.stdout
    assert (tmp_path / "lib/nettop/journal.jsonl").exists()
    assert list(home.iterdir()) == []
