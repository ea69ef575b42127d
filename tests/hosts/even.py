"""Makes a recording of a slow, emulated host even: a moment a second, rates that fit together.

    python tests/hosts/even.py DEMO.host.gz EVEN.host.gz [--seconds 20] [--cured CURED.host.gz]

An emulated host needs seconds to answer all requests of a moment, so its tables are of different
times: a process seems to take more than its core. Here each counter grows at its mean rate of the
whole recording, all with the same small changes but for times. The times of a core are the sums of
the processes on it; a process stays on one core. Gauges are those of the nearest moment.

What is not of its one problem stays as it was: fragments, datagrams that sockets drop. `--cured`
writes the entries that differ once the receive ring has 4096 descriptors: no packet is lost, and
the interface and its queues receive those that were.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import re
import struct
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from nettop.facts.kinds.nic import Counters
from nettop.host.archive import RecordedMoment, load, parse, written
from nettop.host.recording import Replay
from nettop.views.observer import Observation, Observer

SWAY = (1.0, 0.94, 1.05, 0.98, 1.04, 0.95, 1.03)  # of the mean rate, second by second
NUMBER = re.compile(rb"(\d+)")
HEX = re.compile(rb"([0-9a-f]{8})")  # of /proc/net/softnet_stat
COLUMNS = ("/proc/interrupts", "/proc/softirqs", "/proc/net/dev")  # numbers have fixed columns
STAT = re.compile(r"/proc/(\d+)/stat")
TICKS = 100  # a second
SLOW = 1000  # segments in all: fewer are not those that carry data
NEAR = 0.03  # two counters that grow as fast count the same
SMALL, LARGE = (struct.pack("<HHI", 8, 6, size) for size in (32, 4096))  # ETHTOOL_A_RINGS_RX
QUIET = frozenset(
    b"ReasmReqds ReasmOKs ReasmFails FragOKs FragCreates InErrors RcvbufErrors".split()
)
CPU, UTIME, STIME = 38, 13, 14  # fields of /proc/PID/stat, from 0


def even(archive: bytes, seconds: int) -> bytes:
    """The archive of `seconds` moments after the first one."""
    comment, moments = parse(archive)
    passed = moments[-1].at - moments[0].at
    grown = [sum(SWAY[n % len(SWAY)] for n in range(at)) / passed for at in range(seconds + 1)]
    steady = [at / passed for at in range(seconds + 1)]  # of times: a second has no more
    series: dict[str, list[bytes | None]] = defaultdict(list)
    for moment in moments:
        for name in {*series, *moment.changed}:
            known = series[name]
            known += [None] * (moments.index(moment) - len(known))
            known.append(moment.changed.get(name, known[-1] if known else None))
    out = [RecordedMoment(float(at), moments[0].wall + at, {}) for at in range(seconds + 1)]
    for name, bodies in series.items():
        times = STAT.fullmatch(name) or name == "/proc/stat" or name.endswith("/schedstat")
        for at, body in enumerate(_bodies(name, bodies, steady if times else grown)):
            if at == 0 or body != _bodies_before(out, name, at):
                out[at].changed[name] = body
    _cores(out)
    return f"{comment}\n".encode() + b"".join(map(written, out))


def _bodies_before(out: Sequence[RecordedMoment], name: str, at: int) -> bytes | None:
    """The body of an entry before that moment."""
    return next((one.changed[name] for one in reversed(out[:at]) if name in one.changed), None)


def _bodies(
    name: str, bodies: Sequence[bytes | None], grown: Sequence[float]
) -> list[bytes | None]:
    """The bodies of one entry at each new moment."""
    nearest = [bodies[round(at * (len(bodies) - 1) / (len(grown) - 1))] for at in range(len(grown))]
    known = [one for one in bodies if one is not None and not one.startswith(b"!")]
    if len(set(bodies)) < 2 or len(known) < len(bodies):
        return nearest
    if name.startswith(("netlink/", "ioctl/")):
        return [_packed(known, base64.b64decode(one or b""), share)
                for one, share in zip(nearest, grown, strict=True)]  # fmt: skip
    if STAT.fullmatch(name):
        return [_process(known, share) for share in grown]
    return [_quiet(name, _text(name, known, one or b"", share), known[0])
            for one, share in zip(nearest, grown, strict=True)]  # fmt: skip


def _rising(values: Sequence[int]) -> bool:
    return values[0] < values[-1] and all(a <= b for a, b in pairwise(values))


def _at(values: Sequence[int], share: float) -> int:
    """The value of a counter after that share of the recording's growth."""
    return values[0] + int((values[-1] - values[0]) * share)


def _packed(known: Sequence[bytes], here: bytes, share: float) -> bytes:
    """Counters of a binary answer, as 32-bit words; other words are those of the moment."""
    raw = [base64.b64decode(one) for one in known]
    if len({len(one) for one in raw}) > 1:
        return base64.b64encode(here) + b"\n"
    size = len(here) // 4
    words = list(zip(*(struct.unpack_from(f"<{size}I", one) for one in raw), strict=True))
    now = struct.unpack_from(f"<{size}I", here)
    new = [_at(one, share) if _rising(one) else old for one, old in zip(words, now, strict=True)]
    return base64.b64encode(struct.pack(f"<{size}I", *new) + here[4 * size :]) + b"\n"


def _text(name: str, known: Sequence[bytes], here: bytes, share: float) -> bytes:
    """Counters of a text; other words are those of the moment, or of the last one for columns."""
    hexadecimal = name == "/proc/net/softnet_stat"
    number, base = (HEX, 16) if hexadecimal else (NUMBER, 10)
    split = [number.split(one) for one in known]
    if len({len(one) for one in split}) > 1:
        return here
    new = number.split(known[-1] if name in COLUMNS else here)
    for place in range(1, len(new), 2):
        values = [int(one[place], base) for one in split]
        if _rising(values):
            text = (b"%08x" if hexadecimal else b"%d") % _at(values, share)
            new[place] = text.rjust(len(new[place])) if name in COLUMNS else text
    return b"".join(new)


def _quiet(name: str, body: bytes, first: bytes) -> bytes:
    """The text without what a demo of one problem does not show: fragments, drops of sockets."""
    if name == "/proc/net/snmp":
        lines, old = body.split(b"\n"), first.split(b"\n")
        for at, (titles, begin) in enumerate(pairwise(old)):
            if at % 2 == 0 and begin:
                words = lines[at + 1].split()
                names, before = titles.split(), begin.split()
                for place, title in enumerate(names):
                    if title in QUIET:
                        words[place] = before[place]
                if b"InDelivers" in names:  # without fragments all that arrives is delivered
                    come, gone = names.index(b"InReceives"), names.index(b"InDelivers")
                    grown = int(words[gone]) - int(before[gone])
                    words[come] = b"%d" % (int(before[come]) + grown)
                lines[at + 1] = b" ".join(words)
        return b"\n".join(lines)
    if name.startswith("/proc/net/udp"):  # the last column has the drops
        return re.sub(rb"\d+ *$", b"0", body, flags=re.MULTILINE)
    return body


def _process(known: Sequence[bytes], share: float) -> bytes:
    """The line of a process, which stays on the core that it was on most."""
    lines = [one.decode().split() for one in known]
    new = list(lines[-1])
    for field in range(3, len(new)):
        values = [int(one[field]) for one in lines]
        new[field] = str(_at(values, share) if _rising(values) else values[-1])
    new[CPU] = Counts(one[CPU] for one in lines).most_common(1)[0][0]
    return " ".join(new).encode() + b"\n"


def _cores(out: Sequence[RecordedMoment]) -> None:
    """Set the times in /proc/stat to the sums of the processes; soft interrupts stay."""
    processes: dict[str, list[str]] = {}
    first: dict[str, list[str]] = {}
    head = out[0].changed["/proc/stat"] or b""
    begin = {line.split()[0]: [int(word) for word in line.split()[1:]]
             for line in head.decode().splitlines() if line.startswith("cpu")}  # fmt: skip
    for at, moment in enumerate(out):
        for name, body in moment.changed.items():
            if STAT.fullmatch(name) and body is not None and not body.startswith(b"!"):
                processes[name] = body.decode().split()
                first.setdefault(name, processes[name])
        text = (moment.changed.get("/proc/stat") or head).decode()
        new, total = [], [0] * 10
        for line in text.splitlines():
            cpu, *words = line.split()
            if not cpu.startswith("cpu") or cpu == "cpu":
                new.append(line)
                continue
            now = [int(word) for word in words]
            own = [(one, first[name]) for name, one in processes.items()
                   if f"cpu{one[CPU]}" == cpu and "ksoftirqd" not in one[1]]  # fmt: skip
            for place, field in ((0, UTIME), (2, STIME)):
                used = sum(int(one[field]) - int(old[field]) for one, old in own)
                now[place] = begin[cpu][place] + used
            now[4] = begin[cpu][4]
            busy = sum(now[i] - begin[cpu][i] for i in (0, 1, 2, 5, 6))
            if busy > at * TICKS:  # the processes and the soft interrupts together have no room
                now[6] -= min(now[6] - begin[cpu][6], busy - at * TICKS)
                busy = at * TICKS
            now[3] = begin[cpu][3] + at * TICKS - busy
            total = [a + b for a, b in zip(total, now, strict=True)]
            new.append(" ".join([cpu, *map(str, now)]))
        new[0] = " ".join(["cpu ", *map(str, total)])
        moment.changed["/proc/stat"] = "\n".join([*new, ""]).encode()


def cured(archive: bytes) -> bytes:
    """The entries of an even recording that a larger ring changes, moment by moment."""
    comment, moments = parse(archive)
    source = Replay(archive)
    observer = Observer(source)
    begin = _busiest(observer.step())
    while source.wait(0):
        end = _busiest(observer.step())
    lost = (end.ring_drops or 0) - (begin.ring_drops or 0)
    received = [(getattr(end, name) or 0) - (getattr(begin, name) or 0)
                for name in ("rx_packets", "rx_bytes")]  # fmt: skip
    more = lost / received[0]

    def grows(values: Sequence[int], now: int) -> int:
        """A counter without losses; what was received also has what was lost."""
        if not _rising(values):
            return now
        grown = values[-1] - values[0]
        if abs(grown - lost) < NEAR * lost:
            return values[0]
        like = any(abs(grown - one) < NEAR * one for one in received)
        return now + round((now - values[0]) * more) if like else now

    out = [RecordedMoment(one.at, one.wall, {}) for one in moments]
    for name in ("ioctl/statistics/enp0s12", "netlink/route/links", "netlink/route/counters"):
        raw = [base64.b64decode(one.changed.get(name) or b"") for one in moments]
        size = len(raw[0]) // 4
        words = list(zip(*(struct.unpack_from(f"<{size}I", one) for one in raw), strict=True))
        for at, moment in enumerate(out):
            new = [grows(values, values[at]) for values in words]
            body = struct.pack(f"<{size}I", *new) + raw[at][4 * size :]
            moment.changed[name] = base64.b64encode(body) + b"\n"
    gaps = "netlink/sock_diag/tcp6"  # its counters of gaps grow slowly
    raw = [base64.b64decode(one.changed.get(gaps) or b"") for one in moments]
    size = len(raw[0]) // 4
    words = list(zip(*(struct.unpack_from(f"<{size}I", one) for one in raw), strict=True))
    for at, moment in enumerate(out):
        new = [one[0] if _rising(one) and one[-1] - one[0] < SLOW else one[at] for one in words]
        body = struct.pack(f"<{size}I", *new) + raw[at][4 * size :]
        moment.changed[gaps] = base64.b64encode(body) + b"\n"
    ring = "netlink/ethtool/rings"
    body = base64.b64decode(moments[0].changed[ring] or b"")
    out[0].changed[ring] = base64.b64encode(body.replace(SMALL, LARGE)) + b"\n"
    return f"{comment} Its ring is larger.\n".encode() + b"".join(map(written, out))


def _busiest(seen: Observation) -> Counters:
    return max((nic.total for nic in seen.facts.nics), key=lambda one: one.rx_packets or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--cured", type=Path)
    args = parser.parse_args()
    made = even(load(args.source), args.seconds) if args.seconds else load(args.source)
    args.out.write_bytes(gzip.compress(made, mtime=0))
    if args.cured is not None:
        args.cured.write_bytes(gzip.compress(cured(made), mtime=0))


if __name__ == "__main__":
    main()
