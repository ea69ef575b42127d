"""The one file where it was built: it unpacks once, safely, and then is nettop.

Each test runs in a mount namespace of its own, with empty places to unpack to.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import locked
import one_file
import pytest
from hang import HANG, until
from pty_terminal import Terminal, restored

from nettop import __version__
from nettop.commands.top import demo

REPO = Path(__file__).parents[2]
FILE = REPO / f"dist/nettop-{os.uname().machine}"
pytestmark = [
    pytest.mark.package,
    pytest.mark.skipif(not FILE.exists(), reason="dist has no file: make binary"),
    pytest.mark.needs("root"),
]
USER: Final = 65534
PLACES: Final = ("/var/cache", "/var/tmp", "/tmp", "/run/user", "/dev/shm")
FRESH: Final = "; ".join(
    f"mkdir -p {one}; mount -t tmpfs -o mode=1777 none {one}" for one in PLACES
)


@pytest.fixture(scope="module")
def nettop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file where each user may run it."""
    where = tmp_path_factory.getbasetemp().parent.parent / f"nettop-one-file-{os.getpid()}"
    where.mkdir(mode=0o755)
    shutil.copy(FILE, where / "nettop")
    yield where / "nettop"
    shutil.rmtree(where)


class Room:
    """A mount namespace with a home folder and empty places, for as long as a test takes."""

    def __init__(self, nettop: Path, user: int) -> None:
        self.user = user
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.nettop = "/srv/nettop"
        mine = f"/proc/{self.holder.pid}/ns/mnt"
        until(lambda: os.readlink(mine) != os.readlink("/proc/self/ns/mnt"))
        self.root(
            f"mount -t tmpfs none /srv; cp {shlex.quote(str(nettop))} /srv/nettop;"
            f"cp {shlex.quote(demo())} /srv/demo.host.gz; chmod 644 /srv/demo.host.gz"
        )
        self.root(
            f"{FRESH}; mkdir -p /srv/home; chown {user}:{user} /srv/home; chmod 755 /var/cache"
        )

    def root(self, script: str) -> None:
        """Prepare something."""
        subprocess.run([*self._enter(), "sh", "-ec", script], check=True, timeout=HANG)

    def _enter(self) -> list[str]:
        return ["nsenter", "--mount", f"--target={self.holder.pid}", "--wd=/srv"]

    def words(self, *words: str) -> list[str]:
        """The command line of nettop as the user."""
        as_user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        env = ["env", "-i", "PATH=/usr/bin:/bin", "HOME=/srv/home", "LANG=C.UTF-8",
               "TERM=xterm-256color"]  # fmt: skip
        return [*self._enter(), *as_user, *env, self.nettop, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One start."""
        return subprocess.run(
            self.words(*words), capture_output=True, text=True, check=False, timeout=HANG
        )  # fmt: skip

    def place(self) -> str:
        """Where it is unpacked, from its own words."""
        done = self.run("--self-check")
        assert done.returncode == 0, done.stderr
        return str(re.findall(r"files in (\S+) are as", done.stdout)[0])

    def seen(self, path: str) -> Path:
        """A path of the room as the test sees it."""
        return Path(f"/proc/{self.holder.pid}/root{path}")

    def close(self) -> None:
        """End it, and its mounts with it."""
        assert self.holder.stdin
        self.holder.stdin.close()
        self.holder.wait(HANG)
        assert self.holder.stdout
        self.holder.stdout.close()


@pytest.fixture(params=[0, USER], ids=["root", "user"])
def room(nettop: Path, request: pytest.FixtureRequest) -> Iterator[Room]:
    found = Room(nettop, request.param)
    yield found
    found.close()


def own(room: Room) -> str:
    """The first place of the user."""
    return "/srv/home/.cache/nettop" if room.user else "/var/cache/nettop"


def test_it_unpacks_once(room: Room) -> None:
    assert room.run("--version").stdout == f"nettop {__version__}\n"
    place = room.place()
    assert os.path.dirname(place) == own(room)
    before = {path: path.stat() for path in room.seen(place).rglob("*")}
    room.run("advise", "--json", "--replay", "/srv/demo.host.gz")
    after = {path: path.stat() for path in room.seen(place).rglob("*")}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()
    }
    assert all(s.st_uid == room.user and not s.st_mode & 0o077 for s in after.values())
    assert [p.name for p in room.seen(own(room)).iterdir()] == [os.path.basename(place)]


def test_folders_above_the_cache_are_made_as_they_ought_to_be(room: Room) -> None:
    above = os.path.dirname(own(room))
    room.root(f"umount {above} 2>/dev/null || :; mount -t tmpfs none {os.path.dirname(above)};"
              f"chown {room.user} {os.path.dirname(above)}")  # fmt: skip
    room.place()
    assert room.seen(above).stat().st_mode & 0o777 == (0o700 if room.user else 0o755)


UNSAFE: Final = {
    "others can write": "mkdir -p {0}; chown {1} {0}; chmod 777 {0}",
    "of another user": "mkdir -p {0}; chown 12345 {0}",
    "a link": "mkdir -p {0} /srv/elsewhere; chown {1} {0} /srv/elsewhere; rmdir {0};"
              " ln -s /srv/elsewhere {0}",
    "others can write above": "mkdir -p {0}; chown -R {1} {0}/..; chmod 777 {0}/..; chmod 700 {0}",
    "a file": "mkdir -p {0}; rmdir {0}; touch {0}",
    "no program may run": "mkdir -p {0}; mount -t tmpfs -o noexec,mode=700,uid={1} none {0}",
    "full": "mkdir -p {0}; mount -t tmpfs -o size=1M,mode=700,uid={1} none {0}",
    "read-only": "mkdir -p {0}; mount -t tmpfs -o ro,mode=700,uid={1} none {0}",
}  # fmt: skip


@pytest.mark.parametrize("kind", UNSAFE)
def test_a_place_that_does_not_do_is_left_alone(room: Room, kind: str) -> None:
    room.root(UNSAFE[kind].format(own(room), room.user))
    for _ in range(2):
        assert os.path.dirname(room.place()) == f"/var/tmp/nettop-{room.user}"
    first = room.seen(own(room))
    assert not first.is_dir() or not list(first.iterdir())
    assert not list(room.seen("/srv").glob("elsewhere/*"))


@pytest.mark.parametrize("how", ["size=1M", "ro", "noexec", "mode=700,uid=12345"])
def test_without_any_place_it_says_so_in_one_sentence(room: Room, how: str) -> None:
    for place in (os.path.dirname(own(room)), *PLACES[1:]):
        room.root(f"mkdir -p {place}; mount -t tmpfs -o mode=1777,{how} none {place}")
    done = room.run("--version")
    if room.user or "uid" not in how:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("nettop: there is no place to unpack to: ")
        assert done.stderr.count("\n") == 1
        assert len(done.stderr.split("; ")) >= 4
    for place in PLACES[1:]:
        assert not list(room.seen(place).rglob(".new-*"))


def test_starts_at_once_use_one_folder(room: Room) -> None:
    started = [subprocess.Popen(room.words("--version"), stdout=subprocess.PIPE) for _ in range(4)]
    told = [one.communicate(timeout=HANG)[0].decode() for one in started]
    assert told == [f"nettop {__version__}\n"] * 4
    assert len(list(room.seen(own(room)).iterdir())) == 1


def test_what_a_killed_start_left_is_removed(room: Room) -> None:
    room.root(f"mkdir -p {own(room)}/.new-abc/bin; chown -R {room.user} {own(room)}/..;"
              f"touch {own(room)}/.new-abc/bin/python; chmod 700 {own(room)}")  # fmt: skip
    place = room.place()
    assert [p.name for p in room.seen(own(room)).iterdir()] == [os.path.basename(place)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_waits_to_unpack_ends_it(room: Room, number: signal.Signals) -> None:
    room.root(f"mkdir -p {own(room)}; chown -R {room.user} {own(room)}/..; chmod 700 {own(room)}")
    import fcntl

    lock = os.open(room.seen(own(room)), os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    inode = os.fstat(lock).st_ino
    start = subprocess.Popen(room.words("--version"), stderr=subprocess.PIPE)
    until(lambda: re.search(rf"-> FLOCK .*:{inode} ", Path("/proc/locks").read_text()))
    start.send_signal(number)
    _, told = start.communicate(timeout=HANG)
    os.close(lock)
    assert (start.returncode, told) == (-number, b"")
    assert not list(room.seen(own(room)).iterdir())


CHANGES: Final = {
    "other bytes": "printf x | dd of={0}/bin/python bs=1 seek=5000 conv=notrunc status=none",
    "another mode": "chmod 755 {0}/bin/nettop",
    "gone": "rm {0}/LICENSES",
    "a new file": "touch {0}/lib/python3.13/site-packages/new.py; chown {1} {0}/lib",
}


@pytest.mark.parametrize("kind", CHANGES)
def test_the_self_check_finds_what_was_changed(room: Room, kind: str) -> None:
    place = room.place()
    room.root(CHANGES[kind].format(place, room.user))
    done = room.run("--self-check")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"nettop: {place}.*: remove (it|{place})\n", done.stderr)


def test_the_self_check_says_the_hash_of_the_file(room: Room) -> None:
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    assert f"sha256 {digest} /srv/nettop\n" in room.run("--self-check").stdout


def test_the_bill_of_materials_is_that_of_the_file() -> None:
    for path in REPO.glob("dist/nettop-*.cdx.json"):
        bill = json.loads(path.read_text())
        digest = hashlib.sha256(path.with_suffix("").with_suffix("").read_bytes()).hexdigest()
        assert bill["metadata"]["component"]["hashes"][0]["content"] == digest
        listed = [one["name"] for one in bill["components"]]
        assert listed == [one.name for one in one_file.inside(locked.read())]


def test_a_damaged_file_says_so(room: Room) -> None:
    middle = FILE.stat().st_size // 2
    room.root(f"printf nettop | dd of=/srv/nettop bs=1 seek={middle} conv=notrunc status=none")
    done = room.run("--version")
    assert (done.returncode, done.stderr) == (2, "nettop: /srv/nettop is damaged: copy it again\n")


def test_the_licences_name_everything_inside(room: Room) -> None:
    told = room.run("--licenses").stdout
    listed = {row.split()[0]: row.split()[1] for row in told.partition("\n\n")[0].splitlines()}
    lock = locked.read()
    inside = {one.name: one.upstream for one in (*lock.of("source"), *lock.of("wheel"))}
    assert inside.items() <= listed.items()
    assert len(re.findall("(?i)permission is hereby granted|redistribution", told)) > 10


def test_no_symbol_is_newer_than_glibc_2_17(room: Room) -> None:
    place = room.seen(room.place())
    binaries = [p for p in place.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
    assert {p.name for p in binaries} >= {"python", "_psutil_linux.abi3.so"}
    for path in binaries:
        assert (2, 2) < one_file.newest_symbol(path.read_bytes()) <= one_file.GLIBC, path


def test_on_a_host_without_glibc_it_names_another_way(room: Room) -> None:
    room.root("mkdir -p /srv/bare/tmp; cp /srv/nettop /srv/bare; chmod 1777 /srv/bare/tmp")
    words = [
        "nsenter",
        "--mount",
        f"--target={room.holder.pid}",
        "/usr/sbin/chroot",
        "/srv/bare",
        "/nettop",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode == 2
    assert "glibc 2.17 or newer is needed" in done.stderr
    assert 'nettop --host "ssh NAME"' in done.stderr
    assert done.stderr.count("\n") == 1


IMPORTED: Final = """if True:
    import importlib, os, nettop
    top = os.path.dirname(nettop.__path__[0])
    for folder, _, names in os.walk(nettop.__path__[0]):
        for name in names:
            if name.endswith(".py") and not name.startswith(("__", "_build")):
                path = os.path.relpath(os.path.join(folder, name), top)
                importlib.import_module(path[:-3].replace("/", "."))
    import nettop.tui.app
"""


def test_every_module_can_be_imported(room: Room) -> None:
    words = room.words()
    words[words.index(room.nettop)] = f"{room.place()}/bin/python"
    done = subprocess.run([*words, "-I", "-c", IMPORTED], capture_output=True, text=True,
                          check=False, timeout=HANG)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_screen_opens_and_ends(room: Room, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, command=room.words("--demo"))
    terminal.read(b"FINDINGS")
    os.write(terminal.tty, b"\x03")
    assert terminal.ended() == 0
    restored(terminal.seen)
    terminal.close()


def test_python_of_the_user_changes_nothing(room: Room) -> None:
    room.root(
        "mkdir /srv/evil; echo 'raise SystemExit(9)' > /srv/evil/nettop.py; chmod 755 /srv/evil"
    )
    words = room.words("--version")
    at = words.index("HOME=/srv/home")
    words[at:at] = ["PYTHONPATH=/srv/evil", "PYTHONHOME=/srv/evil"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG)
    assert (done.returncode, done.stdout) == (0, f"nettop {__version__}\n")


LIBRARIES: Final = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                    "libutil.so.1")  # fmt: skip
COMMANDS: Final = {
    ("advise", "--json", "--replay", "/demo.host.gz"): '"findings"',
    ("show", "overview", "--once", "--replay", "/demo.host.gz"): "CORES",
    ("why", "--replay", "/demo.host.gz"): "iperf3",
    ("metrics", "--replay", "/demo.host.gz"): "nettop_",
    ("rules", "test"): ", 0 failed",
    ("man",): "NETTOP",
    ("completion", "bash"): "nettop",
    ("--help",): "usage: nettop",
}


def test_it_works_where_nothing_is_but_the_c_library(nettop: Path) -> None:
    room = Room(nettop, 0)
    loader = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}
    maps = Path("/proc/self/maps").read_text()
    folder = os.path.dirname(re.findall(r"/\S*/libc[.-]\S*$", maps, re.MULTILINE)[0])
    bare = "/srv/bare"
    room.root(
        f"cd /srv; mkdir -p bare; cd bare; mkdir -p lib64 lib tmp proc sys dev root;"
        f"cp -L {loader[os.uname().machine]} {bare}{loader[os.uname().machine]};"
        + "".join(f"cp -L {folder}/{one} {bare}/lib/;" for one in LIBRARIES)
        + f"mount --rbind /proc {bare}/proc; mount --rbind /sys {bare}/sys;"
        f"mount --rbind /dev {bare}/dev; cp /srv/demo.host.gz {bare};"
        f"cp /srv/nettop {bare}/nettop; chmod 755 {bare} {bare}/root"
    )
    enter = ["nsenter", "--mount", f"--target={room.holder.pid}", "/usr/sbin/chroot", bare]
    try:
        for words, told in COMMANDS.items():
            done = subprocess.run(
                [*enter, "/nettop", *words], env={"HOME": "/root"},
                capture_output=True, text=True, check=False, timeout=HANG,
            )  # fmt: skip
            assert done.returncode in (0, 1), (words, done.stderr)
            assert told in done.stdout, (words, done.stdout, done.stderr)
            assert "Traceback" not in done.stderr, words
    finally:
        room.close()
