"""Both ends of a transfer between two SSH servers, watched from a third host in tmux.

    python tests/lab/by_hand/third_host.py FOLDER [COLUMNSxROWS …] [--stop]

Needs root, sshd and tmux; nothing outside its own namespaces changes. The far end sends without
offloads: it is found (--host, --peer), fixed by key there, undone, proved to its verdict with runs
of the length that is typed in the form of the tests, and what is kept is undone. The screens are
saved in FOLDER. With `--stop` the proof is stopped while it runs, and must leave nothing. When this
program ends, also by a signal, a process of its own removes the namespaces and what runs in them.
"""

import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from changes_netns import run
from live.limits.programs import READ, WRITE
from ssh_login import SERVE

A, B, C = (f"ends-{name}" for name in "abc")
CONFIG = (
    "HostKey {0}/host\nAuthorizedKeysFile {0}/user.pub\nPidFile none\nPort 22\nUsePAM no\n"
    "StrictModes no\nPermitRootLogin yes\nSetEnv PATH={0}/bin:/usr/sbin:/usr/bin:/sbin:/bin "
    "NETTOP_STATE={0}/state\n"
)
TMUX = ["tmux", "-L", "ends-third"]
OFF = {"tso": "tcp", "gso": "generic"}
RUN = "2"  # seconds of one run of the proof
PROOF = 480  # seconds: 12 runs at the least, 42 at the most, and the logins of each
SWEEP = """cat
tmux -L ends-third kill-server
for space; do ip netns pids $space | xargs -r kill; done
sleep 1
for space; do ip netns pids $space | xargs -r kill -9; ip netns del $space; done
"""


def inside(space: str, *words: str) -> list[str]:
    return ["ip", "netns", "exec", space, *words]


def build(folder: Path, stack: ExitStack) -> dict[str, str]:
    """The namespaces, routed by C, and an SSH server in A and B; returns the prefixes."""
    sweeper = subprocess.Popen(
        ["sh", "-c", SWEEP, "sh", A, B, C], stdin=subprocess.PIPE, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    stack.callback(sweeper.communicate)  # it begins at the end of its input
    for space in (A, B, C):
        run("ip", "netns", "add", space)
    prefixes = {}
    run(*inside(C, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    for at, space in enumerate((A, B), 1):
        own, near = f"10.81.{at}.2", f"10.81.{at}.1"
        run(*f"ip link add eth0 netns {space} type veth peer name to{at} netns {C}".split())
        for place, name, address in ((space, "eth0", own), (C, f"to{at}", near)):
            run("ip", "-n", place, "address", "add", f"{address}/24", "dev", name)
            run("ip", "-n", place, "link", "set", name, "up")
        run("ip", "-n", space, "link", "set", "lo", "up")
        run("ip", "-n", space, "route", "add", "default", "via", near)
        home = folder / space
        (home / "bin").mkdir(parents=True)
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name))
        (home / "shadow").write_text("root:*:20000:0:99999:7:::\n")
        (home / "config").write_text(CONFIG.format(home))
        program = home / "bin/nettop"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m nettop "$@"\n')
        program.chmod(0o755)
        words = inside(space, "unshare", "-m", "sh", "-c", SERVE, "sh", str(home))
        stack.callback(subprocess.Popen(words).kill)
        prefixes[space] = (
            f"ssh -i {home}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            f"-o LogLevel=ERROR -o BatchMode=yes root@{own}"
        )
    time.sleep(1)
    return prefixes


def screen(folder: Path, name: str) -> str:
    text = run(*TMUX, "capture-pane", "-p", "-t", "third")
    (folder / f"{name}.txt").write_text(text)
    return text


def until(folder: Path, name: str, pattern: str, seconds: float = 60) -> str:
    """What the pattern matches on the screen, once it does; the screen is saved under that name."""
    begun = time.monotonic()
    while (found := re.search(pattern, screen(folder, name))) is None:
        if time.monotonic() - begun > seconds:
            break
        time.sleep(0.5)
    took = f"after {time.monotonic() - begun:.0f} s"
    print(f"{'BAD' if found is None else 'ok '} {name}: {pattern!r} {took}", flush=True)
    return "" if found is None else found[0]


def keys(*words: str) -> None:
    for word in words:
        run(*TMUX, "send-keys", "-t", "third", word)
        time.sleep(0.7)


def chosen(words: str) -> None:
    """The cursor on the row with these words."""
    for _ in range(12):
        text = run(*TMUX, "capture-pane", "-p", "-t", "third")
        if any("▸" in row and words in row for row in text.splitlines()):
            return
        keys("Down")


def offloads() -> int:
    """How many of the features that the story switches off are on at the far end."""
    rows = run(*inside(B, "ethtool", "-k", "eth0")).splitlines()
    return sum(row in (f"{name}-segmentation-offload: on" for name in OFF.values()) for row in rows)


def undone(folder: Path, name: str) -> None:
    """What was done for the finding under the cursor undone at the far end, and confirmed."""
    keys("u")
    until(folder, f"{name}-undo", "Undo", 30)
    keys("Enter", "Enter")
    until(folder, f"{name}-undone", "on → off: pending", 30)
    keys("c")
    until(folder, f"{name}-confirmed", "applied|confirmed", 30)
    keys("8")
    until(folder, f"{name}-journal", "undone", 30)
    print(offloads(), "on: undone", flush=True)


def play(folder: Path, size: str, prefixes: dict[str, str], state: Path) -> None:
    columns, _, rows = size.partition("x")
    told = f"XDG_STATE_HOME={state} XDG_CONFIG_HOME={state}"
    line = shlex.join(
        [sys.executable, "-m", "nettop", "--host", prefixes[A], "--peer", prefixes[B]]
    )
    start = ["new-session", "-d", "-s", "third", "-x", columns, "-y", rows]
    run(*inside(C, *TMUX, *start, f"env {told} {line}"))
    try:
        until(folder, f"{size}-1-both", " ⇄ ")
        until(folder, f"{size}-1-both", "10.81.2.2: ", 40)
        keys("5")
        until(folder, f"{size}-2-finding", "at root@10.81.2.2")
        chosen("TCP segmentation")
        keys("a")
        until(folder, f"{size}-3-apply", "apply there")
        keys("Enter", "Enter")
        until(folder, f"{size}-4-applied", "pending", 30)
        keys("c")
        until(folder, f"{size}-5-confirmed", "on: applied", 30)
        print(offloads(), "on: confirmed", flush=True)
        undone(folder, f"{size}-6")
        keys("6")
        chosen(" seconds ")
        keys("Enter", "BSpace", "BSpace", RUN, "Enter", "5")
        until(folder, f"{size}-7-again", "at root@10.81.2.2", 60)
        chosen("TCP segmentation")
        keys("p")
        until(folder, f"{size}-8-prove", "Set and reverted in turn", 40)
        keys("Enter", "Enter", "6")
        until(folder, f"{size}-9-running", "RUNNING", 40)
        if "--stop" in sys.argv:  # the change there is reverted
            time.sleep(20)
            keys("C-x")
            until(folder, f"{size}-10-stopped", "stopped", 60)
            print(offloads(), "are on")
        elif "kept" in until(folder, f"{size}-10-proved", r"root@10\S*: \w+.*; (kept|rev)", PROOF):
            print(offloads(), "on: kept", flush=True)
            keys("5")
            chosen("TCP segmentation")
            undone(folder, f"{size}-11")
    finally:
        subprocess.run([*TMUX, "kill-server"], check=False)


def main() -> None:
    """Build, send, play each size."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    out = Path(sys.argv[1]).absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        prefixes = build(folder, stack)
        for feature in OFF:
            run(*inside(B, "ethtool", "-K", "eth0", feature, "off"))
        reader = subprocess.Popen(inside(A, sys.executable, "-c", READ, "7300"))
        stack.callback(reader.kill)
        time.sleep(1)
        writer = inside(B, sys.executable, "-c", WRITE, "10.81.1.2", "7300", "pace=6250000")
        stack.callback(subprocess.Popen(writer).kill)
        for size in [one for one in sys.argv[2:] if one != "--stop"] or ["80x24", "120x40"]:
            play(out, size, prefixes, folder / "own")


if __name__ == "__main__":
    main()
