"""The file of --install at another host: where it lies, what is refused, and that nothing is left.

The other host is a mount namespace; its file is a small script that says a version.
"""

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hang import HANG, until

from nettop.host import once
from nettop.host.once import File, Installed
from nettop.host.source import HostLostError

pytestmark = pytest.mark.netns
SHELLS: Final = [one for one in ("dash", "busybox") if shutil.which(one)]
PLACES: Final = ("/opt", "/var/cache", "/var/lib", "/var/tmp", "/run/user", "/srv")
# as nettop does at its first start: it unpacks into its cache
NETTOP: Final = """#!/bin/sh
cache=/var/cache/nettop
[ "$(id -u)" = 0 ] || cache=$HOME/.cache/nettop
cache=$cache/0123456789abcdef0123456789abcdef
mkdir -p $cache && echo code > $cache/python && echo nettop 0.1.0
"""
USER: Final = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    *("env", "-u", "XDG_CACHE_HOME", "HOME=/srv/home"),
)


class There:
    """A host whose `sh` is one of SHELLS."""

    def __init__(self, folder: Path, shell: str) -> None:
        words = ["unshare", "--mount", "cat"]
        self.holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        mine = f"/proc/{self.holder.pid}/ns/mnt"
        until(lambda: os.readlink(mine) != os.readlink("/proc/self/ns/mnt"))
        self.enter = ("nsenter", "--mount", f"--target={self.holder.pid}", "--wd=/")
        self.root(
            *(f"mkdir -p {one}; mount -t tmpfs -o mode=755 none {one}" for one in PLACES),
            "mkdir -p /srv/bin /srv/root /srv/home/.cache",
            f"ln -s {shutil.which(shell)} /srv/bin/sh",
            "chown -R 65534 /srv/home",
        )
        home = ("-u", "XDG_STATE_HOME", "-u", "XDG_CONFIG_HOME", "HOME=/srv/root")
        self.prefix = (*self.enter, "env", *home, "PATH=/srv/bin:/usr/bin:/bin")
        self.user: tuple[str, ...] = (*self.prefix, *USER)
        self.file = sent(folder, NETTOP)

    def root(self, *lines: str) -> None:
        """Prepare something."""
        subprocess.run([*self.enter, "sh", "-ec", "\n".join(lines)], check=True, timeout=HANG)

    def seen(self, path: str) -> Path:
        """A path there as the test sees it."""
        return Path(f"/proc/{self.holder.pid}/root{path}")

    def files(self) -> set[str]:
        """All that is there: path, mode and owner."""
        return {
            f"{path} {path.lstat().st_mode:o} {path.lstat().st_uid}"
            for place in PLACES
            for path in (self.seen(place), *self.seen(place).rglob("*"))
        }

    def close(self) -> None:
        """End it, and its mounts with it."""
        self.holder.communicate(timeout=HANG)


def sent(folder: Path, text: str) -> File:
    """A file to send."""
    path = folder / "nettop"
    path.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return File(str(path), os.uname().machine, len(text), digest)


@pytest.fixture(params=SHELLS)
def there(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[There]:
    found = There(tmp_path, request.param)
    yield found
    found.close()


def refused(there: There, one: File, *, user: bool = False) -> str:
    """Why it is not installed; nothing is left of the attempt."""
    words, before = there.user if user else there.prefix, there.files()
    with pytest.raises(HostLostError) as caught:
        once.install(words, one)
    assert there.files() == before
    return str(caught.value)


def test_root_runs_it_from_a_folder_of_roots_and_it_leaves_nothing(there: There) -> None:
    before = there.files()
    assert once.install(there.prefix, there.file) == ("/opt/nettop/nettop",)
    for path, mode in (("/opt/nettop", 0o700), ("/opt/nettop/nettop", 0o700)):
        found = there.seen(path).stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid) == (mode, 0)
    assert there.seen("/opt/nettop/nettop").read_text() == NETTOP
    known = once.look(there.prefix)
    assert known == Installed("direct", root=True, user=False)
    there.root("mkdir /var/lib/nettop; echo {} > /var/lib/nettop/journal")
    assert once.forget(there.prefix, known, keep=False) == ""
    assert there.files() == before
    assert once.look(there.prefix) == Installed("direct", root=False, user=False)


def test_what_it_stored_for_root_goes_and_what_the_owner_put_there_stays(there: There) -> None:
    before = there.files()
    once.install(there.prefix, there.file)
    state, config = "/srv/root/.local/state/nettop", "/srv/root/.config/nettop"
    there.root(
        f"mkdir -p {state}/results {state}/unfinished {config}",
        f"touch {state}/results/one.json {state}/view.json {state}/processor {config}/muted",
    )
    once.forget(there.prefix, once.look(there.prefix), keep=False)
    assert there.files() == before
    there.root(f"mkdir -p {state}/results; touch {state}/results/own.json")  # of an earlier file
    before = there.files()
    once.install(there.prefix, there.file)
    there.root(f"mkdir -p {config}/rules; touch {config}/rules/own.toml {state}/view.json")
    once.forget(there.prefix, once.look(there.prefix), keep=False)
    assert {path.partition("/srv")[2].partition(" ")[0] for path in there.files() - before} == {
        "/root/.config", "/root/.config/nettop", "/root/.config/nettop/rules",
        "/root/.config/nettop/rules/own.toml",
    }  # fmt: skip


def test_after_the_last_change_was_undone_nothing_is_left(there: There) -> None:
    before = there.files()
    once.install(there.prefix, there.file)
    there.root("mkdir /var/lib/nettop; echo {} > /var/lib/nettop/journal")
    stays = once.forget(there.prefix, once.look(there.prefix), keep=True)
    assert (stays, there.seen("/var/lib/nettop/journal").exists()) == ("/var/lib/nettop", True)
    assert not there.seen("/opt/nettop").exists()
    once.install(there.prefix, there.file)  # to undo it
    assert once.forget(there.prefix, once.look(there.prefix), keep=False) == ""
    assert there.files() == before


def test_a_user_has_it_in_his_cache(there: There) -> None:
    before = there.files()
    assert once.install(there.user, there.file) == ("/srv/home/.cache/nettop/nettop",)
    found = there.seen("/srv/home/.cache/nettop")
    assert (stat.S_IMODE(found.stat().st_mode), found.stat().st_uid) == (0o700, 65534)
    known = once.look(there.user)
    assert known == Installed("direct", root=False, user=True)
    once.forget(there.user, known, keep=False)
    assert there.files() == before


@pytest.mark.needs("sudo")
@pytest.mark.parametrize("python", [True, False])
def test_who_may_become_root_has_roots_and_his_own_only_without_python(
    there: There, python: bool
) -> None:
    there.root(
        "echo 'nobody ALL=(ALL) NOPASSWD: ALL' > /srv/sudoers; chmod 440 /srv/sudoers",
        "mount --bind /srv/sudoers /etc/sudoers",
        "" if python else "mount --bind /dev/null $(readlink -f /usr/bin/python3)",
    )
    before = there.files()
    paths = once.install(there.user, there.file)
    assert paths == ("/opt/nettop/nettop", "/srv/home/.cache/nettop/nettop")[: 1 if python else 2]
    known = once.look(there.user)
    assert known == Installed("sudo", root=True, user=not python)
    once.forget(there.user, known, keep=False)
    assert there.files() == before


def test_what_was_there_before_stays(there: There) -> None:
    there.root("mkdir -p /var/cache/nettop/older /var/lib/nettop /var/tmp/nettop-0",
               "touch /var/lib/nettop/journal")  # fmt: skip
    before = there.files()
    once.install(there.prefix, there.file)
    once.install(there.prefix, sent(Path(there.file.path).parent, NETTOP + "# newer\n"))
    assert there.seen("/opt/nettop/nettop").read_text().endswith("newer\n")
    kept = once.forget(there.prefix, once.look(there.prefix), keep=False)
    assert (kept, there.files()) == ("/var/lib/nettop", before)


def test_what_others_put_beside_it_stays(there: There) -> None:
    once.install(there.prefix, there.file)
    there.root("touch /opt/nettop/mine /var/cache/nettop/mine")
    once.forget(there.prefix, once.look(there.prefix), keep=False)
    for folder in ("/opt/nettop", "/var/cache/nettop"):
        assert [one.name for one in there.seen(folder).iterdir()] == ["mine"]


def test_a_journal_with_changes_in_force_stays(there: There) -> None:
    once.install(there.prefix, there.file)
    there.root("mkdir /var/lib/nettop; echo {} > /var/lib/nettop/journal")
    known = once.look(there.prefix)
    assert once.forget(there.prefix, known, keep=True) == "/var/lib/nettop"
    assert there.seen("/var/lib/nettop/journal").read_text() == "{}\n"
    assert not there.seen("/opt/nettop").exists()


def test_a_journal_that_was_there_before_gets_no_file_of_an_installation(there: There) -> None:
    """Also with a change in force; one of an earlier nettop is removed."""
    there.root("mkdir -p /var/lib/nettop", "echo {} > /var/lib/nettop/journal")
    before = there.files()
    for keep in (True, False):
        once.install(there.prefix, there.file)
        known = once.look(there.prefix)
        assert once.forget(there.prefix, known, keep=keep) == "/var/lib/nettop"
        assert there.files() == before
    there.root("echo 'all /var/lib/nettop' > /var/lib/nettop/before")
    once.install(there.prefix, there.file)
    once.forget(there.prefix, once.look(there.prefix), keep=False)
    assert there.files() == before


def test_the_same_file_is_not_sent_twice(there: There) -> None:
    once.install(there.prefix, there.file)
    first = there.seen("/opt/nettop/nettop").stat()
    once.install(there.prefix, there.file)
    again = there.seen("/opt/nettop/nettop").stat()  # it was read: its time of access is later
    assert (again.st_ino, again.st_mtime_ns) == (first.st_ino, first.st_mtime_ns)


UNFIT: Final = {
    "no program may run in {}": "mount -o remount,noexec {top}",
    "Read-only file system": "mount -o remount,ro {top}",
    "No space left on device": "mount -o remount,size=4k {top}; yes > {top}/x || :",
    "other users can change {}": "chmod 777 {top}",
}  # fmt: skip


@pytest.mark.parametrize("why", UNFIT)
@pytest.mark.parametrize("user", [False, True])
def test_a_folder_that_does_not_do_is_refused(there: There, why: str, user: bool) -> None:
    top = "/srv" if user else "/opt"
    place = "/srv/home/.cache/nettop" if user else "/opt/nettop"
    there.root(UNFIT[why].format(top=top))
    assert why.format(place) in refused(there, there.file, user=user)


def test_a_link_of_another_user_is_refused(there: There) -> None:
    there.root("mkdir /srv/home/mine; chown 65534 /srv/home/mine; ln -s /srv/home/mine /opt/nettop")
    assert "other users can change /opt/nettop" in refused(there, there.file)


def test_what_does_not_start_there_is_not_left(there: There) -> None:
    musl = (
        "#!/bin/sh\necho 'nettop: glibc 2.17 or newer is needed; look at this host' >&2; exit 2\n"
    )
    told = refused(there, sent(Path(there.file.path).parent, musl))
    assert told.endswith("the file does not run there: glibc 2.17 or newer is needed")
    none = sent(Path(there.file.path).parent, "#!/bin/sh\necho coreutils 9\n")
    assert "does not run there: coreutils 9" in refused(there, none)


def test_a_file_that_fails_leaves_the_older_one(there: There) -> None:
    once.install(there.prefix, there.file)
    refused(there, sent(Path(there.file.path).parent, "#!/bin/sh\nexit 2\n"))
    assert there.seen("/opt/nettop/nettop").read_text() == NETTOP


def test_other_bytes_than_were_hashed_are_not_left(there: There) -> None:
    assert "not what was sent" in refused(there, replace(there.file, sha256="0" * 64))


def test_a_prefix_without_standard_input_is_named(there: There) -> None:
    there.user = (*there.user, "sh", "-c", 'exec "$@" </dev/null', "sh")
    assert "ssh no -n" in refused(there, there.file, user=True)


def test_another_machine_is_refused_before_anything_is_written(there: There) -> None:
    told = refused(there, replace(there.file, machine="aarch64"))
    assert f"is {os.uname().machine}, and {there.file.path} is for aarch64" in told
    assert "--binary" in told


def test_a_host_that_has_a_nettop_keeps_that_one(there: There) -> None:
    there.root("cp /srv/bin/sh /srv/bin/nettop; chmod 755 /srv/bin/nettop")
    assert "nettop is installed there: /srv/bin/nettop" in refused(there, there.file)


def test_a_file_that_was_there_before_is_not_replaced(there: There) -> None:
    there.root("mkdir /opt/nettop; echo mine > /opt/nettop/nettop")
    assert "but not by --install" in refused(there, there.file)
