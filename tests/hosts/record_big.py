"""Make the generated recorded hosts of this folder: `python tests/hosts/record_big.py [NAME…]`.

Each is a directory written by `make_big`, stepped a second at a time and read through nettop's own
recording; the same program gives the same bytes. None of them is anybody's machine: they have the
shapes of real ones (names of interrupts, chips, missing files, holes in CPU numbers).
"""

import argparse
import os
import tempfile
from pathlib import Path

from make_big import Big, step, write  # type: ignore[import-not-found]

from nettop import collect
from nettop.host.archive import Tape
from nettop.host.recording import Record
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

HERE = Path(__file__).parent
MOMENTS = 5
BEGAN = 1_700_000_000.0
WITHOUT = {"meself"}  # the recorder itself is no part of the host

HOSTS = {
    "big-128": (
        Big(cpus=128, nodes=4, queues=32, lines=300, driver="i40e"),
        "128 CPUs on four nodes, i40e of 32 queues, receiving. Generated.",
    ),
    "big-256": (
        Big(cpus=256, nodes=8, nics=2, queues=32, lines=400, driver="mlx5_core"),
        "256 CPUs on eight nodes, two mlx5 ports named by PCI address, receiving. Generated.",
    ),
    "big-1152": (
        Big(cpus=1152, nodes=8, queues=64, lines=120, offline=3, release="6.6.30"),
        "1,152 CPUs of which every third is offline, ice of 64 queues. Generated.",
    ),
    "big-ena": (
        Big(
            cpus=96, nodes=1, queues=32, lines=60, driver="ena", arch="x86-6.5",
            release="6.8.0-1009-aws", vendor="Amazon EC2", product="c6i.24xlarge",
        ),
        "A cloud guest of 96 CPUs with ena: no link speed. Generated.",
    ),
    "big-hv_netvsc": (
        Big(
            cpus=64, nodes=2, queues=16, lines=20, driver="hv_netvsc", arch="x86-6.5",
            release="6.8.0-1007-azure", vendor="Microsoft Corporation",
            product="Virtual Machine",
        ),
        "A cloud guest of 64 CPUs with hv_netvsc, whose queues have no interrupt lines. Generated.",
    ),
    "big-virtio": (
        Big(cpus=64, nodes=1, queues=32, lines=80, driver="virtio_net", vendor="QEMU",
            product="Standard PC (Q35 + ICH9, 2009)"),
        "A guest of 64 CPUs with virtio-net of 32 queue pairs. Generated.",
    ),
    "big-s390": (
        Big(cpus=32, nodes=1, queues=8, lines=12, driver="mlx5_s390", arch="s390", smt=False,
            release="6.4.0-150600.23-default"),
        "32 CPUs whose interrupt table is that of s390, with RoCE ports. Generated.",
    ),
    "big-arm": (
        Big(cpus=64, nodes=1, queues=8, lines=40, driver="ena", arch="arm", smt=False,
            release="6.1.84-99.169", vendor="Amazon EC2", product="c7g.16xlarge"),
        "64 ARM CPUs behind a GICv3, ena of 8 queues. Generated.",
    ),
}  # fmt: skip


class Clocked(Live):
    """A directory whose clock goes by whole seconds."""

    def __init__(self, root: str, big: Big) -> None:
        """`big` is what `root` shows."""
        super().__init__(root, host="big")
        self.big, self.second = big, 0

    def now(self) -> float:
        """Seconds since the first moment."""
        return float(self.second)

    def wall(self) -> float:
        """A fixed day, so that the same host is the same bytes."""
        return BEGAN + self.second

    def wait(self, seconds: float) -> bool:
        """Let whole seconds of traffic pass."""
        self.second += round(seconds)
        step(self.root, self.big, self.second)
        return True


def record(name: str, out: Path) -> int:
    """Write one host; its size in bytes."""
    big, comment = HOSTS[name]
    with tempfile.TemporaryDirectory() as folder:
        write(folder, big)
        record = Record(Clocked(folder, big), comment=comment)
        sampler = Sampler(record)
        for _ in range(MOMENTS):
            sampler.take({*collect.always()} - WITHOUT)
            record.wait(1.0)
    path = str(out / f"{name}.host.gz")
    tape = Tape(path)
    try:
        tape.write(record.archive())
        tape.keep()
    finally:
        tape.drop()
    return os.path.getsize(path)


def main() -> None:
    """Make the hosts named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    for name in args.names or HOSTS:
        print(f"{name}: {record(name, args.out) / 1024:.0f} KiB", flush=True)


if __name__ == "__main__":
    main()
