"""The one file is installed over SSH, changes, proves and reverts there, and leaves nothing.

One server has nothing but a C library, busybox and sshd; the other has Python, but no nettop.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from changes_netns import expire, python, run
from hang import HANG, until
from ssh_login import SSHD, Login, logged_in

FILE = Path(__file__).parents[2] / f"dist/nettop-{os.uname().machine}"
pytestmark = [
    pytest.mark.package,
    pytest.mark.skipif(not FILE.exists(), reason="dist has no file: make binary"),
    pytest.mark.needs("root"),
    pytest.mark.needs("sshd", "ssh", "ssh-keygen"),
    pytest.mark.needs("busybox"),
]
HERE, THERE = f"nt-ins-a-{os.getpid()}", f"nt-ins-b-{os.getpid()}"
LIBRARIES: Final = "libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1".split()
MINE: Final = (
    "etc",
    "opt",
    "var",
    "root",
    "run",
    "tmp",
    "dev/shm",
)  # where something could be left
# $1: the folder of the login, $1/bare: the root of the server
ENTER: Final = """
sed -i "/^SetEnv/d" "$1/config"
for one in dev proc sys; do mount --rbind /$one "$1/bare/$one"; done
mount -t tmpfs none "$1/bare/dev/shm"; mkdir -p "$1/bare/$1"; mount --bind "$1" "$1/bare/$1"
exec chroot "$1/bare" /usr/sbin/sshd -D -f "$1/config" -E "$1/log"
"""
# the whole system, without what a nettop here has left
WHOLE: Final = """
sed -i "s/^SetEnv.*/SetEnv PATH=\\/usr\\/sbin:\\/usr\\/bin:\\/sbin:\\/bin/" "$1/config"
for one in opt var/cache var/lib var/tmp root run dev/shm tmp; do
    mkdir -p "$1/bare/$one"; [ $one = tmp ] || mount --bind "$1/bare/$one" /$one
done
mkdir -p /run/sshd && mount --bind "$1/shadow" /etc/shadow
exec /usr/sbin/sshd -D -f "$1/config" -E "$1/log"
"""
# the actions of the screen: each line of input is a verb, its target and its value
KEYS: Final = """
import dataclasses, json, sys
from hang import HANG
from nettop.advice.rules.rule import Finding, Wanted
from nettop.host.distant import behind
from nettop.trials import experiment
from nettop.tui.actions import Actions
from nettop.views.ask import Ask
from nettop.views.scene import Scene
from nettop.views.view import View

host, binary, to, steps = sys.argv[1:]
SETTING = "feature.tx-tcp-segmentation@va"
figures = iter([0, 0] + [1, 2] * 5)
experiment.sample = lambda result, metric: experiment.Sample(1e6 * (1 + next(figures)))
experiment.STEADY = 1.0
one = Finding("offloads-off@va", "offloads-off", "va", "warning", "TSO is off", "", 3.0,
              *[()] * 5, "")
one = dataclasses.replace(one, wanted=(Wanted(SETTING, "on"),))
source = behind(host)
scene, heard = Scene(findings=(one,)), []  # a note may go before the step is over
def post(update):
    global scene
    before, scene = scene.notes, update(scene)
    heard.extend(note.text for note in scene.notes if note not in before)
actions = Actions(source, post, lambda: None, binary=binary)
actions.away.used = True
view = View(form={"to": to, "seconds": "0.2"})
for step in json.loads(steps):
    heard.clear()
    actions.do(Ask(*step), view, scene)
    actions.wait(HANG)
    question = scene.question
    if step == ["agree"]:
        scene = dataclasses.replace(scene, question=None)
    print(json.dumps({
        "step": step, "asked": question.verb if question else "",
        "notes": [*heard], "pending": len(scene.pending),
        "states": [entry.state for entry in scene.journal]}), flush=True)
source.close()
"""


def bare(folder: Path) -> None:
    """A root file system with a C library, busybox and sshd."""
    root = folder / "bare"
    for one in ("bin", "etc", "usr/sbin", "usr/bin", "usr/lib", "proc", "sys", "dev", "root",
                "run/sshd", "tmp", "var/empty"):  # fmt: skip
        (root / one).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "root").chmod(0o700)
    (root / "etc/passwd").write_text(
        "root:x:0:0::/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\n"
    )
    (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (root / "etc/shadow").write_text("root:*:20000:0:99999:7:::\n")
    linked = re.findall(r"(/\S+) \(0x", run("ldd", SSHD))
    libc = os.path.dirname(next(one for one in linked if "/libc.so" in one))
    for path in {*linked, *(f"{libc}/{one}" for one in LIBRARIES)}:
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    shutil.copy(SSHD, root / "usr/sbin/sshd")
    shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
    for name in run("busybox", "--list").split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")


@pytest.fixture(params=["bare", "whole"])
def login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Login]:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    if request.param == "bare":
        bare(tmp_path)
    serve = ENTER if request.param == "bare" else WHOLE
    with logged_in(tmp_path, HERE, THERE, serve) as user:
        run("ip", "netns", "exec", HERE, "ethtool", "-K", "va", "tso", "off")
        for place, name in ((HERE, "va"), (THERE, "vb")):  # no load: the figures are planted
            shaped = f"qdisc add dev {name} root tbf rate 20mbit burst 20kb latency 50ms"
            run("tc", "-n", place, *shaped.split())
        yield user


PLAIN: Final = (sys.executable, "-P", "-m", "nettop")
ALONE: Final = 'mount -t tmpfs none /var/cache; exec "$@"'
ONE: Final = ("unshare", "--mount", "sh", "-c", ALONE, "sh", str(FILE))


def nettop(login: Login, *words: str, start: Sequence[str] = PLAIN) -> tuple[int, str]:
    """A command for the other host: its exit code and what it printed."""
    words = (*start, *words, "--host", shlex.join(login.client))
    done = subprocess.run(
        ["ip", "netns", "exec", THERE, *words], capture_output=True, text=True, check=False,
        timeout=HANG, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def pressed(login: Login, *steps: list[str]) -> list[dict[str, Any]]:
    """What the screen had after each key."""
    words = (shlex.join(login.client), str(FILE), "10.79.0.2", json.dumps(steps))
    return [json.loads(row) for row in python(THERE, KEYS, *words).splitlines()]


def files(login: Login) -> set[str]:
    """All that is there: path, mode and size."""
    places = [one for one in (login.folder / "bare" / name for name in MINE) if one.exists()]
    return {
        f"{path} {path.lstat().st_mode:o} {0 if path.is_dir() else path.lstat().st_size}"
        for place in places
        for path in (place, *place.rglob("*"))
        if str(login.folder / "bare") + str(login.folder) not in str(path)
    }


def length() -> str:
    return run("ip", "netns", "exec", HERE, "cat", "/sys/class/net/va/tx_queue_len").strip()


SACK: Final = "sysctl.net.ipv4.tcp_sack"
SETTING: Final = "link.txqueuelen@va"
AGREE: Final = ["agree"]


def test_it_is_installed_works_as_on_a_host_that_has_it_and_leaves_nothing(login: Login) -> None:
    whole = not (login.folder / "bare/bin").exists()
    before, state = files(login), login.folder / "bare/var/lib/nettop"
    code, told = nettop(login, "show", "overview", "--once")
    assert (code == 0) == whole, told
    assert whole or "--install puts it there" in told
    code, told = nettop(login, "--install")
    assert (code, "make binary builds one" in told) == (2, True), told  # this nettop is not one
    if whole:
        asked, sent = pressed(login, ["set", SETTING, "2000"], AGREE)
        assert asked["asked"] == "install", asked
        assert any("installed in /opt/nettop/nettop" in note for note in sent["notes"]), sent
    else:  # nothing there could read it for the screen
        code, told = nettop(login, "--install", start=ONE)
        assert (code, "installed in /opt/nettop/nettop" in told) == (0, True), told
    assert nettop(login, "show", "overview", "--once")[0] == 0

    *_, made, kept = pressed(login, ["set", SETTING, "2000"], AGREE, ["confirm"])
    assert (made["pending"], kept["pending"], length()) == (1, 0, "2000"), (made, kept)
    *_, undone, confirmed = pressed(login, ["undo"], AGREE, ["confirm"])
    states = set(confirmed["states"])
    assert (undone["pending"], states, length()) == (1, {"undone"}, "1000"), undone

    pressed(login, ["set", SETTING, "2000"], AGREE)
    assert length() == "2000"
    code, told = nettop(login, "--forget")
    assert (code, "a change at" in told) == (4, True), told
    run("ip", "-n", THERE, "link", "set", "vb", "down")  # the link is cut: nobody can confirm
    expire(state)
    until(lambda: length() == "1000", "the guard there did not revert")
    run("ip", "-n", THERE, "link", "set", "vb", "up")

    (said,) = pressed(login, ["persist", SACK])  # by the nettop there; not in a namespace
    assert "read for the host, not for a network namespace" in said["notes"][-1], said

    asked, proved = pressed(login, ["prove", "offloads-off@va"], AGREE)
    assert (asked["asked"], proved["notes"][-1]) == ("prove", "offloads-off@va: better; kept")
    *_, last = pressed(login, ["undo"], AGREE, ["confirm"])
    assert set(last["states"]) <= {"undone", "reverted"}, last

    code, told = nettop(login, "--forget")
    assert (code, "removed, with all that it made there" in told) == (0, True), told
    assert files(login) == before
