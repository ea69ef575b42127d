"""Proofs on real drivers: what helps is better, what cannot help here is no difference.

    python tests/lab/boot.py two-nodes --timeout 1500 -- python tests/lab/by_hand/proofs.py [NAME…]

ring       vmxnet3's ring of 32 → 1024, at a rate that 32 loses at, judged on what is delivered
wan        20 ms of netem delay and a send buffer of 32 KiB → 4 MiB, judged on the rate
coalesce   e1000e's interrupt delay 3 → 50 µs under a paced transfer
irq        e1000e's receive interrupt moved to another core under a paced transfer
pktgen     `nettop test pktgen`, and the study of three flow-control sessions
killed     the ring's proof killed with SIGKILL after the first change: the ring is as before

Prints what nettop prints, and a line of score; ends with 1 when a verdict is another.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

INTEL, VMX = os.environ["LAB_E1000E"], os.environ["LAB_VMXNET3"]
VMX_PEER = os.environ["LAB_VMXNET3_PEER"]
OUT = os.environ["NETTOP_LAB_OUT"]
RING = ["prove", f"ring.rx@{VMX}=1024", "--tool", "capture", "--sizes", "1472"]
RATES = ("60M", "120M", "30M", "240M")
LOST = 5.0  # percent: what makes a rate worth a proof
PATIENCE = 600.0  # seconds for one command in emulation
WMEM = "net.ipv4.tcp_wmem"


def sh(*words: str) -> str:
    """What a command of the system says."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def argv(to: str, *words: str) -> list[str]:
    """The command line of a nettop command to a peer."""
    return [sys.executable, "-m", "nettop", *words, "--to", to, "--peer", "ip netns exec peer"]


def nettop(to: str, *words: str) -> str:
    """What nettop says, printed as it is."""
    begun = time.monotonic()
    environment = {**os.environ, "NETTOP_STATE": f"{OUT}/proofs", "XDG_STATE_HOME": f"{OUT}/xdg"}
    try:
        done = subprocess.run(
            argv(to, *words), capture_output=True, text=True, check=False, env=environment,
            timeout=PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"$ nettop {' '.join(words)}\n  not ended after {PATIENCE:.0f} s", flush=True)
        return ""
    took = time.monotonic() - begun
    print(f"$ nettop {' '.join(words)}\n{done.stdout}{done.stderr}", end="")
    print(f"  exit {done.returncode} after {took:.0f} s", flush=True)
    return done.stdout


def prove(to: str, *words: str) -> str:
    """The verdict of a proof of five pairs."""
    return nettop(to, *words, "--seconds", "2", "--warmup", "1", "--most", "7", "--no-keep")


def lossy() -> str:
    """The first rate at which the small ring loses, else the last one."""
    for rate in RATES:
        words = ["capture", "--sizes", "1472", "--rate", rate, "--seconds", "2", "--warmup", "0"]
        said = nettop(os.environ["LAB_VMXNET3_TO"], "test", *words, "--no-keep")
        lost = re.search(r"loss +([\d.]+) %", said)
        if lost and float(lost[1]) > LOST:
            return rate
    return RATES[-1]


def rx() -> str:
    """vmxnet3's ring, as ethtool sees it."""
    found: list[str] = re.findall(r"^RX:\s*(\d+)", sh("ethtool", "-g", VMX), re.MULTILINE)
    return found[-1]


def ring() -> bool:
    """An overrun ring put right, and the host as it was after it."""
    sh("ethtool", "-G", VMX, "rx", "32")
    found = prove(os.environ["LAB_VMXNET3_TO"], *RING, "--rate", lossy())
    return ": better" in found and rx() == "32"


def killed() -> bool:
    """nettop killed after its first change."""
    sh("ethtool", "-G", VMX, "rx", "32")
    words = argv(os.environ["LAB_VMXNET3_TO"], *RING, "--rate", "60M", "--seconds", "1")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while rx() != "1024" and running.poll() is None:
            time.sleep(0.1)
        running.send_signal(signal.SIGKILL)
    begun = time.monotonic()
    while rx() != "32" and time.monotonic() < begun + 60:
        time.sleep(0.1)
    print(f"killed in the middle: ring {rx()} after {time.monotonic() - begun:.1f} s", flush=True)
    return rx() == "32"


def wan() -> bool:
    """A send buffer that is too small for the path."""
    before = " ".join(sh("sysctl", "-n", WMEM).split())
    sh("ip", "netns", "exec", "peer", "tc", "qdisc", "add", "dev", VMX_PEER, "root", "netem",
       "delay", "20ms")  # fmt: skip
    sh("sysctl", "-w", f"{WMEM}=4096 16384 32768")
    try:
        found = prove(os.environ["LAB_VMXNET3_TO"], "prove", f"sysctl.{WMEM}=4096 16384 4194304")
    finally:
        sh("sysctl", "-w", f"{WMEM}={before}")
        sh("ip", "netns", "exec", "peer", "tc", "qdisc", "del", "dev", VMX_PEER, "root")
    return ": better" in found


def coalesce() -> bool:
    """Fewer interrupts under a load that is carried anyway."""
    found = prove(os.environ["LAB_E1000E_TO"], "prove", f"coalesce.rx-usecs@{INTEL}=50",
                  "--reverse", "--rate", "40M")  # fmt: skip
    return ": no difference" in found


def irq() -> bool:
    """Emulation has no NUMA cost."""
    found = prove(os.environ["LAB_E1000E_TO"], "prove", f"irq.affinity@{INTEL}/rx-0=2",
                  "--reverse", "--rate", "40M")  # fmt: skip
    return ": no difference" in found


def pktgen() -> bool:
    """Both NICs by pktgen; the study says what it cannot show."""
    to = os.environ["LAB_E1000E_TO"]
    one = nettop(to, "test", "pktgen", "--count", "100000")
    study = nettop(to, "study", "run", "nst-pktgen", "--count", "100000", "--format", "markdown")
    return "pps" in one and "pause counters never move" in study


def main() -> int:
    """Those named, or all."""
    every: dict[str, Callable[[], bool]] = {
        each.__name__: each for each in (ring, wan, pktgen, killed, coalesce, irq)
    }
    good = []
    for name in sys.argv[1:] or every:
        try:
            good.append(every[name]())
        except (LookupError, OSError, ValueError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error} {getattr(error, 'stderr', '')}")
            good.append(False)
        print(f"{'ok ' if good[-1] else 'BAD'} {name}\n", flush=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
