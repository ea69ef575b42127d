"""The guard as systemd's timer, on a link that really falls.

    python tests/lab/boot.py two-nodes --systemd --timeout 900 --
        python tests/lab/by_hand/systemd.py

(one line). Process 1 of the guest is systemd; the receive ring of the e1000e is changed and not
confirmed, with nettop killed by SIGKILL, and confirmed. Prints a line a chapter; ends with 1 when
one went wrong.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NIC = os.environ["LAB_E1000E"]
CONFIRM, SLACK = 10, 5


def out(*words: str) -> str:
    """What a command prints."""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def ring() -> str:
    """The receive ring in force, as ethtool sees it."""
    found: list[str] = re.findall(r"^RX:\s*(\d+)", out("ethtool", "-g", NIC), re.MULTILINE)
    return found[-1] if found else "?"


def units() -> str:
    """The guard's units that systemd has."""
    told = out("systemctl", "list-units", "--all", "--plain", "--no-legend", "nettop-*")
    return " ".join(row.split()[0] for row in told.splitlines()) or "no units"


def words(*more: str) -> list[str]:
    """A change that lasts ten seconds."""
    change = ["set", f"ring.rx@{NIC}", "512", "--confirm", str(CONFIRM), "--json"]
    return [sys.executable, "-m", "nettop", *(more or change)]


def changes(*more: str) -> list[dict[str, Any]]:
    """What nettop says."""
    done = subprocess.run(words(*more), capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"{more}: {done.returncode}: {done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
    return found


def after(value: str, seconds: float) -> float:
    """Seconds until the ring is this."""
    begun = time.monotonic()
    while ring() != value and time.monotonic() < begun + seconds:
        time.sleep(0.05)
    return time.monotonic() - begun


def tell(chapter: str, *, fine: bool, more: str) -> bool:
    """One line."""
    print(f"{'ok ' if fine else 'BAD'} {chapter}: {more}", flush=True)
    return fine


def main() -> int:
    """All of it."""
    good = []
    first = Path("/proc/1/comm").read_text().strip()
    good.append(tell("process 1", fine=first == "systemd",
                     more=f"{first}, {out('systemctl', 'is-system-running')}"))  # fmt: skip
    mark, begun = Path("/run/nettop-fired"), time.monotonic()
    out("systemd-run", "--on-active=2", "--timer-property=AccuracySec=100ms", "touch", str(mark))
    while not mark.exists() and time.monotonic() < begun + 20:
        time.sleep(0.05)
    good.append(tell("systemd-run --on-active=2", fine=mark.exists(),
                     more=f"fired after {time.monotonic() - begun:.1f} s"))  # fmt: skip

    (made,) = changes()
    told = units()
    good.append(tell("the guard is its timer", more=f"{made['state']}; {told}",
                     fine=made["state"] == "pending" and ".timer" in told))  # fmt: skip
    back = after("256", 40)
    state = changes("journal", "--json")[-1]["state"]
    good.append(tell("not confirmed", fine=back <= CONFIRM + SLACK and ring() == "256",
                     more=f"256 after {back:.1f} s, {state}; {units()}"))  # fmt: skip

    running = subprocess.Popen(words(), stdout=subprocess.DEVNULL, start_new_session=True)
    after("512", 30)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    back = after("256", 40)
    good.append(tell("killed at once", fine=back <= CONFIRM + SLACK and ring() == "256",
                     more=f"256 after {back:.1f} s of {CONFIRM} + {SLACK}"))  # fmt: skip

    (made,) = changes()
    (kept,) = changes("confirm", str(made["id"]), "--json")
    time.sleep(CONFIRM + SLACK)
    good.append(tell("confirmed", fine=ring() == "512" and kept["state"] == "applied",
                     more=f"{kept['state']}, still {ring()}; {units()}"))  # fmt: skip
    changes("undo", "--all", "--json")
    print(f"{sum(good)} of {len(good)} chapters")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
