"""Staged limits that need netem, fq, cake, a policer or a kind of interface that a guest has.

    python tests/lab/by_hand/limits.py --out FOLDER [--timeout 3000] [--looks 3] [WORD…]

Boots the guest, and plays in it those whose name contains a word, or all, two at a time, as
tests/live/limits/page.py does; a case takes about a minute. The rows are in FOLDER/limits.txt, and

    python tests/lab/by_hand/limits.py --page FOLDER/limits.txt…

writes docs/records/limits-guest.md of them. Nothing here depends on CPUs: those of a guest are
emulated. Exit code 1 when a look is wrong.
"""

import argparse
import compileall
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from live.limits import page as limits_page
from live.limits.case import FAR, PATH, Case
from live.limits.commands import over

MEMORY = Path("/dev/shm/limits")  # of the guest
PACKED = "packed.tar"
START = (
    "mkdir {memory} && tar -C {memory} -xf {packed} && cd {memory} && PATH={memory}/bin:$PATH "
    "LD_LIBRARY_PATH={memory}/lib PYTHONPATH={memory}/src "
    "exec {memory}/bin/{version} tests/lab/by_hand/limits.py {words}"
)
COMMANDS = ("ip", "tc", "nsenter", "sysctl", "sh")
SETTLED = 8.0  # s: Python starts slowly in a guest
TOGETHER = 2
MODULES = (
    "sch_netem", "sch_fq", "sch_cake", "sch_tbf", "sch_htb", "sch_prio", "sch_ingress",
    "act_police", "cls_matchall", "tcp_diag", "udp_diag", "mptcp_diag", "af_packet_diag",
    "tcp_bbr", "sch_fq_codel", "veth", "bonding", "8021q", "ipip", "ip_gre", "vxlan",
    "sch_hfsc", "sch_drr", "sch_ets", "cls_u32", "act_mirred", "ifb",
)  # fmt: skip
PAGE = Path(__file__).parents[3] / "docs" / "records" / "limits-guest.md"
ABOUT = (
    "As [limits.md](limits.md), for limits that need a queue, policer or kind of interface that "
    "an ordinary kernel has as a module: played with Debian's kernel in an emulated guest "
    "(`tests/lab/by_hand/limits.py`), one or two at a time. Rates are those of an emulated CPU."
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


def here(words: str) -> tuple[str, ...]:
    """A queue of the interface that sends."""
    return (f"here: qdisc add dev eth0 root {words}",)


DELAY = "netem delay 20ms limit 10000"
SHAPED = here("tbf rate 20mbit burst 32k latency 50ms")
BOND = tuple(
    f"{end}: ip link add over type bond mode active-backup miimon 100 && "
    "ip link set eth0 down && ip addr flush dev eth0 && ip link set eth0 master over && "
    f"ip addr add 10.94.0.{own}/24 dev over && ip link set over up"
    for end, own in (("here", 1), ("there", 2))
)  # fmt: skip
IPIP = over("type ipip local 10.94.0.{own} remote 10.94.0.{other}", "10.98.0")
GRE = over("type gre local 10.94.0.{own} remote 10.94.0.{other}", "10.98.0")
VLAN = over("link eth0 type vlan id 7", "10.98.0")
VXLAN = over("type vxlan id 7 dstport 4789 local 10.94.0.{own} remote 10.94.0.{other}", "10.98.0")
TUNNEL = "10.98.0.2"
GRETAP = over("type gretap local 10.94.0.{own} remote 10.94.0.{other}", "10.98.0")
POLICED_HERE = (  # a policer of the interface that sends
    "here: qdisc add dev eth0 clsact",
    (
        "here: filter add dev eth0 egress protocol all matchall action police "
        "rate 10mbit burst 32k conform-exceed drop"
    ),
)


def arriving(words: str) -> tuple[str, ...]:
    """What arrives is shaped by an ifb."""
    return (
        (
            "there: ip link add ifb7 type ifb && ip link set ifb7 up && "
            "tc qdisc add dev eth0 handle ffff: ingress && "
            "tc filter add dev eth0 parent ffff: protocol all matchall "
            f"action mirred egress redirect dev ifb7 && tc qdisc add dev ifb7 root {words}"
        ),
    )


CASES = (
    Case("fq-maxrate", "qdisc pacing", "peer", tc=here("fq maxrate 20mbit"), lift=OPEN),
    Case("fq-pace", "pacing", "peer", writer="pace=2500000", tc=here("fq"), lift="writer"),
    Case("cake-20mbit", "qdisc", tc=here("cake bandwidth 20mbit"), lift=OPEN),
    Case("cake-5mbit", "qdisc", tc=here("cake bandwidth 5mbit"), lift=OPEN),
    Case("netem-rate", "qdisc", tc=here("netem rate 10mbit"), lift=OPEN),
    Case("tbf-fq-codel", "qdisc", tc=(
        "here: qdisc add dev eth0 root handle 1: tbf rate 20mbit burst 32k latency 50ms",
        "here: qdisc add dev eth0 parent 1:1 fq_codel"), lift=OPEN),
    Case("htb-fq-codel", "qdisc", tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:10 htb rate 20mbit",
        "here: qdisc add dev eth0 parent 1:10 fq_codel"), lift=OPEN),
    Case("prio-tbf", "qdisc", tc=(
        "here: qdisc add dev eth0 root handle 1: prio",
        *(f"here: qdisc add dev eth0 parent 1:{band} tbf rate 20mbit burst 32k latency 50ms"
          for band in (1, 2, 3))), lift=OPEN),
    Case("bond-tbf", "qdisc", run=BOND, tc=SHAPED),
    Case("vlan-tbf", "qdisc", to=TUNNEL, run=VLAN, tc=SHAPED),
    Case("ipip-tbf", "qdisc", to=TUNNEL, run=IPIP, tc=SHAPED),
    Case("gre-tbf", "qdisc", to=TUNNEL, run=GRE, tc=SHAPED),
    Case("vxlan-tbf", "qdisc", to=TUNNEL, run=VXLAN, tc=SHAPED),
    Case("vlan-fq-maxrate", "qdisc pacing", to=TUNNEL, run=VLAN, tc=here("fq maxrate 20mbit")),
    Case("delay-sndbuf", "sndbuf", to=FAR, tc=beyond(DELAY), writer="sndbuf=32768"),
    Case("delay-rcvbuf", "rwnd", "rcvbuf", to=FAR, tc=beyond(DELAY), reader="rcvbuf=32768"),
    Case("delay-pace", "pacing", "peer", to=FAR, tc=beyond(DELAY), writer="pace=1250000"),
    Case("delay-sleep", "application", "peer", to=FAR, tc=beyond(DELAY),
         writer="sleep=0.02 size=10000"),
    Case("delay-clamp", "rwnd", "rcvbuf", to=FAR, tc=beyond(DELAY), reader="set=6:10:20000"),
    Case("delay-no-scaling", "rwnd", "rcvbuf", to=FAR, tc=beyond(DELAY),
         sysctls={"there:net.ipv4.tcp_window_scaling": "0"}),
    Case("delay-reader", "peer rwnd", "application rcvbuf", to=FAR, tc=beyond(DELAY),
         reader="sleep=0.02 size=10000"),
    Case("loss-1", PATH, to=FAR, tc=beyond(f"{DELAY} loss 1%")),
    Case("loss-5", PATH, to=FAR, tc=beyond(f"{DELAY} loss 5%")),
    Case("loss-bbr", PATH, to=FAR, tc=beyond("netem delay 20ms loss 1% rate 20mbit limit 100"),
         writer="congestion=bbr"),
    Case("reorder", PATH, to=FAR, tc=beyond("netem delay 20ms reorder 75% 50% limit 10000")),
    Case("police-5mbit", PATH, tc=policed("5mbit")),
    Case("police-20mbit", PATH, tc=policed("20mbit")),
    Case("police-fq", PATH, tc=(*here("fq"), *policed("10mbit"))),
    Case("cake-beyond", PATH, "peer", to=FAR, tc=beyond("cake bandwidth 20mbit")),
    Case("fq-codel-beyond", PATH, "peer", to=FAR, tc=(
        "middle: qdisc add dev right root handle 1: tbf rate 20mbit burst 32k latency 50ms",
        "middle: qdisc add dev right parent 1:1 fq_codel")),
    Case("hfsc-12mbit", "qdisc", "peer", tc=(
        "here: qdisc add dev eth0 root handle 1: hfsc default 10",
        "here: class add dev eth0 parent 1: classid 1:10 hfsc sc rate 12mbit ul rate 12mbit")),
    Case("htb-drr", "qdisc", "peer", tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:10 htb rate 16mbit",
        "here: qdisc add dev eth0 parent 1:10 handle 2: drr",
        "here: class add dev eth0 parent 2: classid 2:1 drr",
        "here: filter add dev eth0 parent 2: protocol all matchall classid 2:1")),
    Case("tbf-ets", "qdisc", "peer", tc=(
        "here: qdisc add dev eth0 root handle 1: tbf rate 14mbit burst 32k latency 50ms",
        "here: qdisc add dev eth0 parent 1:1 handle 2: ets bands 3 strict 1")),
    Case("ets-tbf", "qdisc", "peer", tc=(
        "here: qdisc add dev eth0 root handle 1: ets bands 2 strict 2",
        *(f"here: qdisc add dev eth0 parent 1:{band} tbf rate 11mbit burst 32k latency 50ms"
          for band in (1, 2)))),
    Case("cake-arriving", PATH, "qdisc", run=arriving("cake bandwidth 12mbit ingress")),
    Case("bbr-fq-maxrate", "qdisc pacing", "peer", writer="congestion=bbr",
         tc=here("fq maxrate 8mbit")),
    Case("loss-little", PATH, "peer", to=FAR, tc=beyond("netem delay 15ms loss 0.3% limit 10000")),
    Case("delay-duplicate", "rwnd", "rcvbuf", to=FAR, reader="rcvbuf=30000",
         tc=beyond("netem delay 10ms duplicate 5% limit 10000")),
    Case("reorder-gap", PATH, "peer", to=FAR,
         tc=beyond("netem delay 10ms reorder 25% gap 5 limit 10000")),
    Case("gretap-sndbuf", "sndbuf", "peer", to=TUNNEL, run=GRETAP, writer="sndbuf=20000",
         tc=here("netem delay 8ms limit 10000")),
    Case("police-here", "qdisc", "peer", tc=POLICED_HERE),
    Case("delay-80ms-wmem", "sndbuf", "peer", to=FAR, tc=beyond("netem delay 80ms limit 10000"),
         sysctls={"here:net.ipv4.tcp_wmem": "4096 16384 60000"}),
)  # fmt: skip


def _boot(out: Path, timeout: int, words: list[str]) -> int:
    """Start the guest, and this program in it. Python, nettop and commands go as one file.

    The guest reads each file of the host through one thread of the emulator, and keeps none: a
    program that starts holds up the others, and so the limits that are looked at.
    """
    root, base = Path(__file__).parents[3], Path(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    out.mkdir(parents=True, exist_ok=True)
    compileall.compile_dir(root / "src", quiet=1)
    compileall.compile_dir(root / "tests" / "support", quiet=1)
    with tarfile.open(out / PACKED, "w") as packed:
        packed.add(base / "lib" / version, f"lib/{version}", filter=_needed)
        for name in ("src", "tests/support", "tests/lab/by_hand", "tests/live/limits"):
            packed.add(root / name, name, filter=_needed)
        for command in (sys.executable, *COMMANDS):
            file = Path(shutil.which(command) or command).resolve()
            packed.add(file, f"bin/{file.name}")
            done = subprocess.run(["ldd", file], capture_output=True, text=True, check=False)
            for library in re.findall(r"=> (\S+)", done.stdout):
                packed.add(Path(library).resolve(), f"lib/{Path(library).name}")
    return subprocess.run(
        [sys.executable, root / "tests/lab/boot.py", "no-nic", "--out", out,
         "--timeout", f"{timeout}", "--", "sh", "-c", START.format(
             packed=out / PACKED, memory=MEMORY, version=version, words=shlex.join(words))],
        check=False,
    ).returncode  # fmt: skip


def _needed(file: tarfile.TarInfo) -> tarfile.TarInfo | None:
    unused = {"test", "site-packages", "idlelib", "tkinter", "lib2to3", "ensurepip"}
    parts = set(Path(file.name).parts)
    return None if parts & unused or ".opt-" in file.name or "/config-" in file.name else file


def main() -> int:
    """Play and print, or start that in the guest; exit code 1 when a look was wrong."""
    parser = argparse.ArgumentParser(description="Play staged limits in the guest of the lab.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="names that contain one of these")
    parser.add_argument("--looks", type=int, default=3)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="boot the guest; rows go there")
    parser.add_argument("--timeout", type=int, default=3000, help="seconds for the whole guest")
    parser.add_argument("--page", action="store_true", help="write the page of these files")
    args = parser.parse_args()
    if args.page:
        _write([Path(word) for word in args.words])
        return 0
    if args.out is not None:
        return _boot(args.out.resolve(), args.timeout, [f"--looks={args.looks}", *args.words])
    for module in MODULES:
        subprocess.run(["modprobe", module], check=False)
    # a kernel that lacks what is asked for runs modprobe each time, from files of the host
    Path("/proc/sys/kernel/modprobe").write_text("\n")
    limits_page.SETTLED = SETTLED
    chosen = [c for c in CASES if not args.words or any(word in c.name for word in args.words)]
    rows = Path(os.environ.get("NETTOP_LAB_OUT", ".")) / "limits.txt"
    wrong = 0
    with ThreadPoolExecutor(TOGETHER) as pool, rows.open("w") as file:
        plays = {pool.submit(limits_page.play, case, args.looks): case for case in chosen}
        for one in as_completed(plays):  # rows are kept if the guest is ended before the last
            case = plays[one]
            try:
                played = one.result()
            except (OSError, AssertionError, EOFError, subprocess.SubprocessError) as error:
                print(f"??? {case.name}: {error!r}", flush=True)
                wrong += 1
                continue
            wrong += sum(limits_page.tell(end) for end in played)
            file.writelines(f"{end.row()}\n" for end in played)
            file.flush()
    return int(bool(wrong))


def _write(files: list[Path]) -> None:
    """The page of the rows; of a limit in several files the last row counts."""
    rows = {}
    for file in files:
        for line in file.read_text().splitlines():
            limit, end = (cell.strip() for cell in line.split("|")[1:3])
            rows[limit, end] = line
    order = {case.name: place for place, case in enumerate(CASES)}
    known = sorted((key for key in rows if key[0] in order),
                   key=lambda key: (order[key[0]], key[1] == "reader"))  # fmt: skip
    PAGE.write_text(
        limits_page.page(
            [rows[key] for key in known], len(CASES), "Staged limits in a guest", ABOUT
        )
    )


if __name__ == "__main__":
    sys.exit(main())
