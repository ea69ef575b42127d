"""The SSH story: a user logged in over the very NIC that is changed, with and without confirming.

    python tests/lab/boot.py two-nodes --timeout 900 -- python tests/lab/by_hand/ssh_story.py

sshd listens here, on the e1000e; the user comes from the peer's namespace over that link. What the
kernel shows is asked of ethtool. Prints a line a chapter; ends with 1 when one went wrong.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NIC, HERE = os.environ["LAB_E1000E"], os.environ["LAB_E1000E_HERE"]
CONFIRM, LONG = 10, 60  # seconds; a command over the link takes twenty here when all is busy
OUT = os.environ["NETTOP_LAB_OUT"]


def shown(options: str, pattern: str) -> str:
    """One figure of ethtool's; the last match is the one in force."""

    told = subprocess.run(["ethtool", options, NIC], capture_output=True, text=True, check=True)
    found: list[str] = re.findall(pattern, told.stdout, re.MULTILINE)
    return found[-1]


def usecs() -> str:
    """The interrupt delay in force."""
    return shown("-c", r"^rx-usecs:\s*(\d+)")


def ring() -> str:
    """The receive ring in force."""
    return shown("-g", r"^RX:\s*(\d+)")


def serve(folder: Path) -> list[str]:
    """Start sshd; the client's words."""
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    shutil.copy(folder / "user.pub", folder / "keys")
    os.makedirs("/run/sshd", exist_ok=True)
    shadow = folder / "shadow"  # the guest locks root, and sshd lets nobody locked in
    shadow.write_text("root:*:20000:0:99999:7:::\n")
    subprocess.run(["mount", "--bind", str(shadow), "/etc/shadow"], check=True)
    config = folder / "config"
    config.write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/keys\nListenAddress {HERE}\n"
        "Port 2222\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPidFile none\n"
    )
    subprocess.run(["/usr/sbin/sshd", "-f", str(config), "-E", f"{OUT}/sshd.log"], check=True)
    return ["ip", "netns", "exec", "peer", "ssh", "-p", "2222", "-i", str(folder / "user"),
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", f"root@{HERE}"]  # fmt: skip


def nettop(*words: str) -> str:
    """What the user types, as the far shell gets it."""
    own = ["env", f"NETTOP_STATE={OUT}/state", sys.executable, "-m", "nettop", *words]
    return f"cd {shlex.quote(os.getcwd())} && {shlex.join(own)}"


def typed(ssh: list[str], *words: str) -> dict[str, Any]:
    """One nettop command over the link, its JSON."""
    done = subprocess.run([*ssh, nettop(*words)], capture_output=True, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{words}: {done.returncode}: {done.stdout}{done.stderr}") from None
    return found


def tell(chapter: str, *, fine: bool, more: str) -> bool:
    """One line."""
    print(f"{'ok ' if fine else 'BAD'} {chapter}: {more}", flush=True)
    return fine


def after(seconds: float, read: Any, value: str) -> float:
    """Seconds until the kernel shows the value; `seconds` when it never did."""
    begun = time.monotonic()
    while read() != value and time.monotonic() < begun + seconds:
        time.sleep(0.1)
    return time.monotonic() - begun


def chapters(ssh: list[str]) -> list[bool]:
    """All of it, in order."""
    confirm = f"--confirm={CONFIRM}"
    good = []

    first = typed(ssh, "set", f"coalesce.rx-usecs@{NIC}", "50", confirm, "--json")["changes"][0]
    good.append(tell("harmless elsewhere, guarded on the session's own NIC",
                     fine=first["state"] == "pending" and usecs() == "50",
                     more=f"{first['setting']} is {first['state']}, {usecs()}"))  # fmt: skip
    passed = after(CONFIRM + 5, usecs, "3")
    good.append(tell("not confirmed", fine=usecs() == "3", more=f"3 again after {passed:.1f} s"))

    second = typed(ssh, "set", f"coalesce.rx-usecs@{NIC}", "50", f"--confirm={LONG}", "--json")
    number = str(second["changes"][0]["id"])
    kept = typed(ssh, "confirm", number, "--json")["changes"][0]
    time.sleep(LONG + 4)
    good.append(tell("confirmed", fine=usecs() == "50" and kept["state"] == "applied",
                     more=f"{kept['state']}, still {usecs()} after {LONG} s"))  # fmt: skip
    typed(ssh, "undo", "--all", "--json")
    undone = typed(ssh, "confirm", "--json")["changes"][0]
    good.append(tell("undone", fine=usecs() == "3", more=f"{undone['state']}, {usecs()}"))

    third = typed(ssh, "set", f"ring.rx@{NIC}", "1024", confirm, "--json")["changes"][0]
    good.append(tell("a ring change that drops the link answers over it",
                     fine=third["state"] == "pending", more=f"{ring()}"))  # fmt: skip
    passed = after(CONFIRM + 8, ring, "256")
    good.append(tell("not confirmed", fine=ring() == "256", more=f"256 after {passed:.1f} s"))

    words = [*ssh[:5], "-tt", *ssh[5:], nettop("set", f"ring.rx@{NIC}", "512", f"--confirm={LONG}")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as terminal:
        assert terminal.stdin is not None
        assert terminal.stdout is not None
        screen = b""
        while b"Enter" not in screen and (more := os.read(terminal.stdout.fileno(), 4096)):
            screen += more
        terminal.stdin.write(b"\n")
        terminal.stdin.flush()
        code = terminal.wait(60)
    time.sleep(LONG + 4)
    good.append(tell("on a terminal, Enter at the countdown", fine=ring() == "512" and code == 0,
                     more=f"exit code {code}, still {ring()} after {LONG} s"))  # fmt: skip
    typed(ssh, "undo", "--all", "--json")
    typed(ssh, "confirm", "--json")
    after(10, ring, "256")

    words[-1] = nettop("set", f"ring.rx@{NIC}", "512", confirm)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as terminal:
        while ring() != "512" and terminal.poll() is None:
            time.sleep(0.1)
        terminal.kill()
    passed = after(CONFIRM + 5, ring, "256")
    good.append(tell("the user's ssh killed at the countdown", fine=ring() == "256",
                     more=f"256 again after {passed:.1f} s of {CONFIRM} + 5"))  # fmt: skip
    return good


def main() -> int:
    """Play it."""
    with tempfile.TemporaryDirectory() as folder:
        good = chapters(serve(Path(folder)))
    print(f"{sum(good)} of {len(good)} chapters")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
