"""Root relies on nothing that another user can change; nothing is written through a link."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from nettop import config
from nettop.advice.rules.load import load
from nettop.changes.journal import Journal
from nettop.files import draft, trust
from nettop.host.archive import Tape
from nettop.settings import Host
from nettop.tui import app
from nettop.views.view import View

NOBODY = 65534
root_only = pytest.mark.needs("root")


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of another user, kept in the environment; root's own is beside it."""
    home, own = tmp_path / "user", tmp_path / "root"
    (home / ".config/nettop/rules").mkdir(parents=True)
    (home / ".local/state/nettop").mkdir(parents=True)
    own.mkdir(mode=0o700)
    (home / ".config/nettop/config.toml").write_text('theme = "mono"\n')
    (home / ".config/nettop/muted").write_text("a@b\n")
    view = {"nic": "eth7", "form": {"peer": "sh -c 'id > /tmp/owned'"}}
    (home / ".local/state/nettop/view.json").write_text(json.dumps(view))
    shutil.copytree(home, own, dirs_exist_ok=True)
    (own / ".config/nettop/config.toml").write_text('theme = "light"\n')
    (own / ".config/nettop/muted").write_text("")
    (own / ".local/state/nettop/view.json").unlink()
    if os.geteuid() == 0:
        for folder, _, names in os.walk(home):
            for name in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(name, NOBODY, NOBODY)
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "NETTOP_STATE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_dir=str(own)))
    monkeypatch.setattr(config, "SYSTEM", tmp_path / "none")
    return home


@root_only
@pytest.mark.parametrize("how", ["home", "xdg", "link"])
def test_root_obeys_its_own_files_only(
    user: Path, how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if how == "xdg":
        monkeypatch.setenv("XDG_CONFIG_HOME", str(user / ".config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(user / ".local/state"))
    if how == "link":  # root's own link leads to the user's folder
        (tmp_path / "link").symlink_to(user)
        monkeypatch.setenv("HOME", str(tmp_path / "link"))
    found = config.load()
    assert found.values == {"theme": "light"}
    assert not found.muted
    assert not [folder for folder in config.rule_folders() if folder.is_relative_to(user)]
    assert app.saved_view({}).form == View().form
    app.save_view(View(nic="eth8"))
    assert "eth8" in (tmp_path / "root/.local/state/nettop/view.json").read_text()
    assert "flows" not in (user / ".local/state/nettop/view.json").read_text()


@root_only
def test_a_users_file_in_roots_folder_is_refused_by_name(user: Path, tmp_path: Path) -> None:
    rule = tmp_path / "root/.config/nettop/rules/x/y.toml"
    rule.parent.mkdir()
    rule.symlink_to(user / "y.toml")
    (user / "y.toml").write_text("")
    os.chown(user / "y.toml", NOBODY, NOBODY)
    faults: list[str] = []
    load(config.rule_folders(), tell=faults.append)
    assert "y.toml: refused, because users" in faults[0]
    os.chown(tmp_path / "root/.config/nettop/config.toml", NOBODY, NOBODY)
    loaded = config.load()
    assert not loaded.values
    assert [fault for fault in loaded.faults if "config.toml: refused, because users" in fault]


@root_only
def test_a_users_journal_is_not_roots(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(user))
    with pytest.raises(PermissionError, match="others than root"):
        Journal()


def test_a_user_is_served_as_ever(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert config.load().values == {"theme": "mono"}
    assert config.load().muted == {"a@b"}
    assert app.saved_view({}).nic == "eth7"
    assert config.state_folder() == user / ".local/state/nettop"


@pytest.fixture
def hijacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of another user, first in PATH, with programs that leave a mark."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("tc", "ip", "sudo", "systemd-run", "ethtool", "iperf3", "python3", "env"):
        (folder / name).write_text(f"#!/bin/sh\necho hijacked; echo {name} >> {tmp_path}/mark\n")
        (folder / name).chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder / name, NOBODY, NOBODY)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path / "mark"


@root_only
def test_root_runs_no_program_of_another_users(
    hijacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TC_LIB_DIR", str(tmp_path))
    assert "hijacked" not in Host.at().run(("tc", "-V"))
    assert "TC_LIB_DIR" not in trust.environment()
    words = [sys.executable, "-m", "nettop", "get", "link.mtu@lo", "--netns", "no-such-space"]
    subprocess.run(words, capture_output=True, check=False)
    assert not hijacked.exists()
    for name in ("ip", "tc"):
        assert os.path.dirname(trust.program(name)) in (*trust.SYSTEM, *trust.LOCAL)


@pytest.mark.usefixtures("hijacked")
def test_sudo_is_never_looked_for_in_path() -> None:
    if shutil.which("sudo", path="/usr/bin") is None:
        pytest.skip("sudo is not installed")
    assert trust.sudo() == "/usr/bin/sudo"


@root_only
def test_a_folder_counts_when_nobody_else_can_change_it(tmp_path: Path) -> None:
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    assert trust.trusted(inner / "not-yet/x")
    for mode, well in ((0o757, False), (0o1777, True), (0o775, True), (0o755, True)):
        inner.parent.chmod(mode)
        assert trust.trusted(inner) is well, oct(mode)
    os.chown(inner.parent, 0, NOBODY)
    inner.parent.chmod(0o775)
    assert not trust.trusted(inner)
    os.chown(inner.parent, NOBODY, 0)
    assert not trust.trusted(inner)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "around").symlink_to("a/../a/b")
    assert trust.trusted(tmp_path / "loop")  # nothing can be read there
    assert not trust.trusted(tmp_path / "around")


def test_what_is_written_replaces_a_link_and_never_follows_one(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    folder = tmp_path / "state"
    folder.mkdir()
    for name in ("view.json", "view.json.new", f"view.json.{os.getpid()}.new"):
        (folder / name).symlink_to(victim)
    draft.write(folder / "view.json", "new", 0o600)
    assert victim.read_text() == "kept"
    assert (folder / "view.json").read_text() == "new"
    assert not (folder / "view.json").is_symlink()
    assert (folder / "view.json").stat().st_mode & 0o777 == 0o600
    (folder / "view.json").chmod(0o640)
    draft.write(folder / "view.json", "newer", 0o600)
    assert (folder / "view.json").stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileExistsError):
        draft.write(folder / "view.json", "no", over=False)
    assert (folder / "view.json").read_text() == "newer"


def test_where_a_file_needs_a_name_it_is_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS and some others have no O_TMPFILE."""
    real = os.open

    def lacking(path: str, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(95, "Operation not supported")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", lacking)
    one = draft.Draft(tmp_path / "x")
    (part,) = tmp_path.iterdir()
    assert part.name.startswith(".x.")
    one.file.write(b"1")
    one.drop()
    assert list(tmp_path.iterdir()) == []
    draft.write(tmp_path / "x", "1")
    draft.write(tmp_path / "y", "1", over=False)
    with pytest.raises(FileExistsError):
        draft.write(tmp_path / "y", "2", over=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


def test_a_recording_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "x.host").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        Tape(str(tmp_path / "x.host"))
    assert victim.read_text() == "kept"
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    tape = Tape(str(tmp_path / "nowhere"))
    tape.keep()
    assert not (tmp_path / "absent").exists()


@pytest.fixture
def account(tmp_path: Path) -> Iterator[str]:
    """A user who may become root with an environment of his own; gone afterwards."""
    name = f"nettop-test{os.getpid()}"
    allowed = Path("/etc/sudoers.d") / name
    if shutil.which("sudo") is None or shutil.which("useradd") is None:
        pytest.skip("sudo or useradd is not installed")
    subprocess.run(["useradd", "-M", "-d", str(tmp_path / "home"), name], check=True)
    try:
        draft.write(allowed, f"{name} ALL=(root) NOPASSWD:SETENV: ALL\n", 0o440)
        yield name
    finally:
        allowed.unlink(missing_ok=True)
        subprocess.run(["userdel", name], check=True, capture_output=True)


@root_only
def test_sudo_that_keeps_the_environment_obeys_nothing_of_the_users(
    account: str, tmp_path: Path
) -> None:
    home, found = tmp_path / "home", pwd.getpwnam(account)
    folder = home / ".config/nettop"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("interval = 'never'\n")
    (folder / "muted").write_text("rx-ring-overrun@user\n")
    for path in (home, *home.rglob("*")):
        os.chown(path, found.pw_uid, found.pw_gid)
    for path in tmp_path.parents[:2]:
        path.chmod(0o755)  # pytest's own folders are closed to others
    become = ["setpriv", f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups"]
    said = subprocess.run(
        [*become, "sudo", "-E", "-n", sys.executable, "-m", "nettop", "mute", "--list", "--json"],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert "rx-ring-overrun@user" not in json.loads(said.stdout)["muted"]
    said = subprocess.run(
        [*become, "sudo", "-E", "-n", sys.executable, "-m", "nettop", "journal"],
        env={"HOME": str(home), "NETTOP_STATE": str(home), "PATH": os.environ["PATH"]},
        cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 3
    assert "others than root can change this folder" in said.stderr
