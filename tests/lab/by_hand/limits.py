"""Staged limits that need netem, fq, cake or a policer, which a guest's kernel has.

    python tests/lab/boot.py no-numa --timeout 3000 -- \
        python tests/lab/by_hand/limits.py [--looks 3] [WORD…]

Plays those whose name contains a word, or all, one after the other, as tests/limits_ward.py does.
A case takes one to three minutes.
Nothing here depends on CPUs: those of a guest are emulated. Exit code 1 when a look is wrong.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

import limits_ward
from staged_limits import FAR, PATH, Case

SETTLED = 20.0  # s: Python starts slowly in a guest
MODULES = (
    "sch_netem",
    "sch_fq",
    "sch_cake",
    "sch_tbf",
    "sch_ingress",
    "act_police",
    "cls_matchall",
)
OPEN = "here: qdisc del dev eth0 root"


def beyond(words: str) -> tuple[str, ...]:
    """A queue of the router between both ends, which neither end sees."""
    return (f"middle: qdisc add dev right root {words}",)


def policed(rate: str) -> tuple[str, ...]:
    """A policer where packets arrive."""
    return (
        "there: qdisc add dev eth0 handle ffff: ingress",
        (
            "there: filter add dev eth0 parent ffff: protocol all matchall action police "
            f"rate {rate} burst 64k conform-exceed drop"
        ),
    )


DELAY = "netem delay 20ms limit 10000"
CASES = (
    Case("fq-maxrate", "qdisc pacing", "peer", lift=OPEN,
         tc=("here: qdisc add dev eth0 root fq maxrate 20mbit",)),
    Case("fq-pace", "pacing", "peer", writer="pace=2500000", lift="writer",
         tc=("here: qdisc add dev eth0 root fq",)),
    Case("cake-20mbit", "qdisc", lift=OPEN,
         tc=("here: qdisc add dev eth0 root cake bandwidth 20mbit",)),
    Case("cake-5mbit", "qdisc", lift=OPEN,
         tc=("here: qdisc add dev eth0 root cake bandwidth 5mbit",)),
    Case("netem-rate", "qdisc", lift=OPEN,
         tc=("here: qdisc add dev eth0 root netem rate 10mbit",)),
    Case("delay-sndbuf", "sndbuf", to=FAR, tc=beyond(DELAY), writer="sndbuf=32768"),
    Case("delay-rcvbuf", "rwnd", "rcvbuf", to=FAR, tc=beyond(DELAY), reader="rcvbuf=32768"),
    Case("delay-pace", "pacing", "peer", to=FAR, tc=beyond(DELAY), writer="pace=1250000"),
    Case("delay-sleep", "application", "peer", to=FAR, tc=beyond(DELAY),
         writer="sleep=0.02 size=10000"),
    Case("loss-1", PATH, to=FAR, tc=beyond(f"{DELAY} loss 1%")),
    Case("loss-5", PATH, to=FAR, tc=beyond(f"{DELAY} loss 5%")),
    Case("loss-bbr", PATH, to=FAR, tc=beyond("netem delay 20ms loss 1% rate 20mbit limit 100"),
         writer="congestion=bbr"),
    Case("reorder", PATH, to=FAR, tc=beyond("netem delay 20ms reorder 75% 50% limit 10000")),
    Case("police-5mbit", PATH, tc=policed("5mbit")),
    Case("police-20mbit", PATH, tc=policed("20mbit")),
    Case("cake-beyond", PATH, "peer", to=FAR, tc=beyond("cake bandwidth 20mbit")),
)  # fmt: skip


def main() -> int:
    """Play and print; exit code 1 when a look was wrong."""
    parser = argparse.ArgumentParser(description="Play staged limits in the guest of the lab.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="names that contain one of these")
    parser.add_argument("--looks", type=int, default=3)
    args = parser.parse_args()
    for module in (*MODULES, "tcp_bbr"):
        subprocess.run(["modprobe", module], check=False)
    limits_ward.SETTLED = SETTLED
    wrong = 0
    for case in CASES:
        if args.words and not any(word in case.name for word in args.words):
            continue
        try:
            wrong += sum(limits_ward.tell(one) for one in limits_ward.play(case, args.looks))
        except (OSError, AssertionError, subprocess.SubprocessError) as error:
            print(f"??? {case.name}: {error}", flush=True)
            wrong += 1
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
