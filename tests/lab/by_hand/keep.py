"""What --keep writes, on a real driver: the module is unloaded and loaded, and all is as kept.

    python tests/lab/boot.py two-nodes --timeout 900 -- python tests/lab/by_hand/keep.py

Rings, interrupt delay, MTU, an offload, an interrupt's CPUs, RPS and a sysctl of the e1000e; udev
reads the .link file when the device appears again, sysctl the drop-in, and the unit's own lines are
run (a real systemd does that in tests/netns/test_changes_systemd.py). The kernel is asked by
ethtool, ip and cat. Prints every file written and a line a chapter; ends with 1 when one went
wrong. The peer's end is gone afterwards.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NIC = os.environ["LAB_E1000E"]
FOLDERS = ("/etc/sysctl.d", "/etc/systemd/network", "/etc/systemd/system")
RMEM = "net.ipv4.tcp_rmem"
WANTED = {
    f"ring.rx@{NIC}": "512",
    f"coalesce.rx-usecs@{NIC}": "50",
    f"link.mtu@{NIC}": "1400",
    f"feature.rx-gro@{NIC}": "off",
    f"irq.affinity@{NIC}/rx-0": "5",
    f"rps.cpus@{NIC}/rx-0": "4-7",
    f"sysctl.{RMEM}": "4096 131072 33333333",
}


def out(*words: str) -> str:
    """What a command prints; empty when it fails."""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def one(pattern: str, text: str) -> str:
    """The last match of a pattern with one group."""
    found: list[str] = re.findall(pattern, text, re.MULTILINE)
    return found[-1] if found else "?"


def seen() -> dict[str, str]:
    """The values as the system's own tools show them."""
    lines = Path("/proc/interrupts").read_text().splitlines()
    irq = next((row.split(":")[0].strip() for row in lines if row.endswith(f"{NIC}-rx-0")), "0")
    queue = Path(f"/sys/class/net/{NIC}/queues/rx-0/rps_cpus")
    return {
        f"ring.rx@{NIC}": one(r"^RX:\s*(\d+)", out("ethtool", "-g", NIC)),
        f"coalesce.rx-usecs@{NIC}": one(r"^rx-usecs:\s*(\d+)", out("ethtool", "-c", NIC)),
        f"link.mtu@{NIC}": one(r"mtu (\d+)", out("ip", "link", "show", NIC)),
        f"feature.rx-gro@{NIC}": one(r"generic-receive-offload: (\w+)", out("ethtool", "-k", NIC)),
        f"irq.affinity@{NIC}/rx-0": out("cat", f"/proc/irq/{irq}/smp_affinity_list").strip(),
        f"rps.cpus@{NIC}/rx-0": {"f0": "4-7", "00": "none"}.get(queue.read_text().strip(), "?"),
        f"sysctl.{RMEM}": " ".join(out("sysctl", "-n", RMEM).split()),
    }


def nettop(*words: str) -> list[dict[str, Any]]:
    """A nettop command, its changes."""
    words = (sys.executable, "-m", "nettop", *words, "--json")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
    except ValueError:
        raise SystemExit(f"{words}: {done.returncode}: {done.stdout}{done.stderr}") from None
    return found


def kept(setting: str, value: str) -> list[str]:
    """Set and keep it, confirmed where it must be; the states."""
    made = nettop("set", setting, value, "--keep", "--confirm", "60")
    if made[-1]["state"] == "pending":
        nettop("confirm")
        made = nettop("set", setting, value, "--keep")
    return [str(change["state"]) for change in made]


def files() -> dict[str, str]:
    """Every file that is in the folders now."""
    found = [p for folder in FOLDERS for p in Path(folder).rglob("*nettop*") if p.is_file()]
    return {str(path): path.read_text() for path in found}


def tell(chapter: str, *, fine: bool, more: str = "") -> bool:
    """One line."""
    print(f"{'ok ' if fine else 'BAD'} {chapter}: {more}", flush=True)
    return fine


def appear_again() -> None:
    """The driver goes and comes, and the interface comes up, as at a boot."""
    out("sysctl", "-qw", f"{RMEM}=4096 131072 6291456")
    out("modprobe", "-r", "e1000e")
    out("modprobe", "e1000e")
    out("udevadm", "settle", "--timeout=60")
    out("ip", "link", "set", NIC, "up")
    for _ in range(100):
        if out("cat", f"/sys/class/net/{NIC}/carrier").strip() == "1":
            return
        time.sleep(0.2)


def run_units(written: dict[str, str]) -> None:
    """What a boot does with the files that udev does not read."""
    out("sysctl", "--system")
    for row in written["/etc/systemd/system/nettop-keep.service"].splitlines():
        if row.startswith("ExecStart=-"):
            words = re.findall(r'"((?:[^"\\]|\\.)*)"', row)
            plain = [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]
            out(*[word.replace("%%", "%") for word in plain])


def main() -> int:
    """All of it."""
    for folder in FOLDERS:
        out("mount", "-t", "tmpfs", "none", folder)
    os.makedirs("/run/systemd/system", exist_ok=True)
    good, before = [], seen()
    states = {setting: kept(setting, value) for setting, value in WANTED.items()}
    good.append(tell("kept", fine=all(s[-1] == "applied" for s in states.values()),
                     more=str(states)))  # fmt: skip
    written = files()
    for path, text in written.items():
        print(f"---- {path}\n{text}", end="", flush=True)
    good.append(tell("the kernel shows them", fine=seen() == WANTED, more=str(seen())))
    again = {state for setting, value in WANTED.items() for state in kept(setting, value)}
    good.append(tell("twice changes nothing", fine=again == {"unchanged"} and files() == written,
                     more=str(again)))  # fmt: skip
    appear_again()
    run_units(written)
    now = seen()
    good.append(tell("the device made anew shows them", fine=now == WANTED, more=str(now)))
    used = out("udevadm", "info", "-q", "property", f"/sys/class/net/{NIC}")
    print(one(r"(ID_NET_LINK_FILE=.*)", used))
    undone = nettop("undo", "--all")
    gone = {change["state"] for change in undone if str(change["setting"]).startswith("kept.")}
    good.append(tell("undone", fine=gone == {"undone"} and files() == {}, more=str(files())))
    appear_again()
    good.append(tell("as before after the next", fine=seen() == before, more=str(seen())))
    print(f"{sum(good)} of {len(good)} chapters")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
