"""NASA's RDMA tests over RoCE in software (rdma_rxe), in the lab's machine.

    python tests/lab/boot.py two-nodes --out FOLDER -- python tests/lab/by_hand/soft_roce.py

Needs the Debian packages perftest and ibverbs-providers. Both ends are this one machine, whose CPUs
are emulated: the result shows the steps of the study, not rates of a card. It is written to
FOLDER/nasa-*.json, for docs/records/studies/results (`tests/study_pages.py --pages`).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

NAMES = ("nasa-appendix-a", "nasa-rdma-1")
ADDRESS = "10.44.0.1"
COUNT = 20  # messages of each size, of Test 2; the paper has 1000
EMULATED = "RoCE in software (rdma_rxe), both ends on one machine with emulated CPUs"


def main() -> int:
    """Give the first interface an RDMA device, run the studies over it, and keep the results."""
    links = json.loads(subprocess.check_output(["ip", "-json", "link"], text=True))
    name = next(one["ifname"] for one in links if one["ifname"] != "lo")
    for words in (
        ["modprobe", "rdma_rxe"],
        ["modprobe", "ib_uverbs"],
        ["ip", "link", "set", name, "up"],
        ["ip", "addr", "add", f"{ADDRESS}/24", "dev", name],
        ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", name],
    ):
        subprocess.run(words, check=True)
    for name in NAMES:
        done = subprocess.run(
            [sys.executable, "-m", "nettop", "study", "run", name, "--to", ADDRESS, "--peer",
             "env", *(["--count", f"{COUNT}"] if name == NAMES[0] else []), "--no-ends", "--json"],
            capture_output=True, text=True, check=False,
            env={**os.environ, "XDG_STATE_HOME": "/tmp"},
        )  # fmt: skip
        print(done.stderr)
        found = json.loads(done.stdout)
        found["conditions"]["here"]["emulated"] = EMULATED
        text = json.dumps(found, ensure_ascii=False) + "\n"
        (Path(os.environ["NETTOP_LAB_OUT"]) / f"{name}.json").write_text(text)
        print(name, sum("measured" in row for row in found["rows"]), "of", len(found["rows"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
