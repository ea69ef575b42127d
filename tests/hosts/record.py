"""Make the recorded hosts of this folder: `python tests/hosts/record.py NAME… [--out DIR]`.

Run on a machine that can play the part: as root for namespaces (`netns-*`), inside the lab
(`python tests/lab/boot.py two-nodes --out OUT -- PYTHON tests/hosts/record.py vm-e1000e --out OUT`)
for real drivers. Traffic stays between namespaces this script makes, or on the lab's own links.
"""

import argparse
import base64
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent


def sh(words: str) -> None:
    """One command; its failure ends the recording."""
    subprocess.run(words.split(), check=True)


@contextlib.contextmanager
def running(words: str, settle: float = 0.0) -> Iterator[None]:
    """A command that runs meanwhile."""
    process = subprocess.Popen(words.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(settle)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def listening(port: int = 5201, seconds: float = 60) -> None:
    """Wait until a program listens on the port."""
    words = ["ss", "-Hltn", f"sport = :{port}"]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if subprocess.run(words, capture_output=True, check=True).stdout:
            return
        time.sleep(0.3)
    raise SystemExit(f"nobody listens on port {port}")


def moving(nic: str, bytes_per_s: float = 1e6, seconds: float = 60) -> None:
    """Wait until the interface receives that much, a second long."""
    counter = Path(f"/sys/class/net/{nic}/statistics/rx_bytes")
    end, was = time.monotonic() + seconds, int(counter.read_text())
    while time.monotonic() < end:
        time.sleep(1)
        now = int(counter.read_text())
        if now - was > bytes_per_s:
            return
        was = now
    raise SystemExit(f"{nic} receives too little: the traffic did not start")


def plain(text: str, release: str, version: str) -> str:
    """The archive, its binary answers (a driver's version) included, with the version only."""
    old, new = release.encode(), version.encode().ljust(len(release), b"\0")

    def cut(entry: re.Match[str]) -> str:
        data = base64.b64decode(entry[2])
        if old not in data:
            return entry[0]
        coded = base64.b64encode(data.replace(old, new)).decode()
        lines = "".join(coded[i : i + 96] + "\n" for i in range(0, len(coded), 96))
        return f"{entry[1]}{lines}"

    return re.sub(
        r"(^-- (?:ioctl|netlink)/.* --\n)([A-Za-z0-9+/=\n]+)", cut, text, flags=re.MULTILINE
    )


# as many datagrams to a socket that nobody reads as to a port that nobody has
LOSS = """
import socket, time
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
full.bind(("127.0.0.1", 7301))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
while True:
    for port in (7301, 9) * 10:
        try:
            door.sendto(b"x" * 500, ("127.0.0.1", port))
        except ConnectionRefusedError:  # of the one before
            door.sendto(b"x" * 500, ("127.0.0.1", port))
    time.sleep(0.02)
"""


def record(
    name: str, comment: str, out: Path, seconds: float = 4, inside: str = "", more: str = ""
) -> None:
    """Record this host, or a namespace of it."""
    nettop = [sys.executable, "-m", "nettop", "record", str(out / f"{name}.host")]
    # addresses of our own making may stay: a flow's queue is computed from them
    keep = ["--keep-addresses"] if inside or "NETTOP_LAB" in os.environ else []
    where = ["ip", "netns", "exec", *inside.split()] if inside else []
    subprocess.run(
        [*where, *nettop, "--seconds", str(seconds), "--comment", comment, *keep, *more.split()],
        check=True,
    )
    # whose kernel build it was is nobody's business; its version is
    path = out / f"{name}.host"
    release = os.uname().release
    version = re.match(r"[\d.]+", release)[0]  # type: ignore[index]
    text = plain(path.read_text().replace(release, version), release, version)
    # what a kernel worker does at the moment is in its name, and changes while one frame is read
    path.write_text(re.sub(r"(kworker/[\w:]+)[-+][\w-]+", r"\1", text))


def here_idle(out: Path) -> None:
    """A small guest with one virtio NIC, idle."""
    record("guest-idle", "A two-core guest with one virtio NIC, idle. Linux 6.18.", out)


@contextlib.contextmanager
def two_hosts() -> Iterator[None]:
    """Two namespaces joined by a veth of four queues."""
    a, b = "nt-rec-a", "nt-rec-b"
    sh(f"ip netns add {a}")
    sh(f"ip netns add {b}")
    try:
        sh(
            f"ip link add va netns {a} numrxqueues 4 numtxqueues 4 type veth "
            f"peer name vb netns {b} numrxqueues 4 numtxqueues 4"
        )
        for space, link, number in ((a, "va", 1), (b, "vb", 2)):
            sh(f"ip -n {space} addr add 10.99.7.{number}/24 dev {link}")
            sh(f"ip -n {space} link set {link} up")
            sh(f"ip -n {space} link set lo up")
        yield
    finally:
        sh(f"ip netns del {a}")
        sh(f"ip netns del {b}")


def netns_send(out: Path) -> None:
    """The sender of two namespaces."""
    with (
        two_hosts(),
        running("ip netns exec nt-rec-b iperf3 -s", 0.5),
        running("ip netns exec nt-rec-a iperf3 -c 10.99.7.2 -t 30", 1.5),
    ):
        comment = "A namespace that sends over veth to another one. Linux 6.18."
        record("netns-send", comment, out, inside="nt-rec-a")


def guest_transfer(out: Path) -> None:
    """The small guest while two of its namespaces talk: softirq load without NIC traffic."""
    with (
        two_hosts(),
        running("ip netns exec nt-rec-b iperf3 -s", 0.5),
        running("ip netns exec nt-rec-a iperf3 -c 10.99.7.2 -t 30 -P 2", 1.5),
    ):
        comment = "A two-core guest whose namespaces talk to each other. Linux 6.18."
        record("guest-transfer", comment, out)


def guest_udp_loss(out: Path) -> None:
    """The small guest with datagrams for a full socket and a closed port."""
    script = out / "loss.py"
    script.write_text(LOSS)
    try:
        with running(f"{sys.executable} {script}", 1.0):
            comment = "A two-core guest that loses datagrams at two places. Linux 6.18."
            record("guest-udp-loss", comment, out, more="--drop-reasons")
    finally:
        script.unlink()


def vm_receives(
    driver: str, name: str, comment: str, *, rings: int | None = None
) -> Callable[[Path], None]:
    """The lab, receiving over one of its pairs."""

    def make(out: Path) -> None:
        nic = os.environ[f"LAB_{driver.upper()}"]
        here = os.environ[f"LAB_{driver.upper()}_HERE"]
        if rings:
            subprocess.run(["ethtool", "-G", nic, "rx", str(rings)], check=False)
            time.sleep(2)
        flood = f"ip netns exec peer iperf3 -c {here} -t 300 -b 60M"
        if rings:
            flood = f"ip netns exec peer iperf3 -u -b 0 -l 1400 -c {here} -t 300 -P 2"
        with running("taskset -c 4-7 iperf3 -s"):  # the node of the e1000e
            listening()
            with running(flood), carrying(nic):
                record(name, comment, out, seconds=6)

    return make


def vm_sends_slowly(out: Path) -> None:
    """The lab, sending over a long path from a send buffer that is too small for it."""
    far, to = os.environ["LAB_VMXNET3_PEER"], os.environ["LAB_VMXNET3_TO"]
    sh(f"ip netns exec peer tc qdisc add dev {far} root netem delay 20ms")
    subprocess.run(["sysctl", "-qw", "net.ipv4.tcp_wmem=4096 16384 65536"], check=True)
    with running("ip netns exec peer iperf3 -s", 5), running(f"iperf3 -c {to} -t 300", 5):
        comment = "vmxnet3 sends over 20 ms with a send buffer of 64 KiB. Linux 6.1."
        record("vm-send-buffer", comment, out, seconds=5)


@contextlib.contextmanager
def carrying(nic: str, bytes_per_s: float = 1e6) -> Iterator[None]:
    """Traffic before, and until the recording is done."""
    moving(nic, bytes_per_s)
    yield
    moving(nic, bytes_per_s, seconds=5)


def vm_rss(name: str, comment: str, *, written: bool) -> Callable[[Path], None]:
    """The lab's virtio-net with readable receive hashing, many flows."""

    def make(out: Path) -> None:
        nic, peer = os.environ["LAB_VIRTIO_NET"], os.environ["LAB_TAP_TO"]
        if written:
            sh(f"ethtool -X {nic} equal 4")
        with (
            running(f"iperf3 -c {peer} -R -t 300 -P 8 {'-b 10M' if written else ''}"),
            carrying(nic),
        ):
            record(name, comment, out, seconds=6)

    return make


HOSTS: dict[str, Callable[[Path], None]] = {
    "guest-idle": here_idle,
    "guest-transfer": guest_transfer,
    "guest-udp-loss": guest_udp_loss,
    "netns-send": netns_send,
    "vm-e1000e": vm_receives(
        "e1000e", "vm-e1000e", "Two nodes, e1000e receiving on node 1. Linux 6.1 in emulation."
    ),
    "vm-vmxnet3": vm_receives(
        "vmxnet3", "vm-vmxnet3", "Two nodes, vmxnet3 with eight queues receiving. Linux 6.1."
    ),
    "vm-vmxnet3-drops": vm_receives(
        "vmxnet3",
        "vm-vmxnet3-drops",
        "vmxnet3 whose receive ring of 32 overflows (pkts rx OOB). Linux 6.1.",
        rings=32,
    ),
    "vm-send-buffer": vm_sends_slowly,
    "vm-virtio-unsent": vm_rss(
        "vm-virtio-unsent",
        "virtio-net with four queues that was never given the RSS table it shows. Linux 6.1.",
        written=False,
    ),
    "vm-virtio-rss": vm_rss(
        "vm-virtio-rss",
        "virtio-net with four queues, its RSS table written once, eight flows. Linux 6.1.",
        written=True,
    ),
}


def in_a_namespace() -> None:
    """Start again in a process namespace: the recording then shows only what belongs to it."""
    if "NETTOP_LAB" not in os.environ and os.getpid() != 1:
        unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable]
        os.execvp("unshare", [*unshare, *sys.argv])


def main() -> int:
    """Make the hosts named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(HOSTS))
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    in_a_namespace()
    for name in args.names:
        HOSTS[name](args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
