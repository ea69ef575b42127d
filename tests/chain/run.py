"""`make chain`: the whole of what nettop does on many hosts, played once with the real programs.

    python tests/chain/run.py [--out DIR]

Ansible installs the black box and the metrics on three hosts with a systemd and an SSH server each,
Prometheus scrapes them, a fault is planted, the alert fires, the incident is opened, the fix is
proved on a canary and rolled out; the host that it cuts off comes back and stops the rollout; the
alert ends; the fix is taken back. Prints one line for each step.
Exit code 1: a step failed, or, with CI in the environment, this machine cannot play it. DIR has the
report and the pictures.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from chain.controller import Controller
from chain.pictures import draw
from chain.sites import install, lacking, run, sites
from chain.story import STEPS, Chain
from chain.watching import prometheus

REPO = Path(__file__).parents[2]


def play(out: Path, folder: Path) -> None:
    """Play all steps; AssertionError where one fails."""
    begun = time.monotonic()
    folder.chmod(0o755)  # the SSH servers read a key there as another user
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), seconds=300)
    (wheel,) = folder.glob("nettop-*.whl")
    install(folder / "nettop", wheel)
    nettop = str(Path(sys.executable).parent / "nettop")
    with sites(folder) as hosts, prometheus(folder / "prometheus", nettop) as watching:
        chain = Chain(hosts, Controller(folder, nettop), watching, begun)
        chain.tell(f"nettop is installed on {len(hosts)} hosts; each has a systemd and sshd")
        started = time.time()
        try:
            for step in STEPS:
                step(chain)
            draw(chain, out, started)
        finally:
            (out / "report.txt").write_text("\n".join(chain.told) + "\n")


def main() -> int:
    """Play it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("lab-out/chain"))
    args = parser.parse_args()
    if why := lacking():
        print(f"chain: not played: {why}")
        return 1 if os.environ.get("CI") else 0
    args.out.mkdir(parents=True, exist_ok=True)
    os.chdir(REPO)
    try:
        with tempfile.TemporaryDirectory(prefix="nt-chain-") as folder:
            play(args.out.resolve(), Path(folder))
    except AssertionError:
        traceback.print_exc()
        return 1
    print(f"chain: played in full; {args.out}/report.txt, pages and pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
