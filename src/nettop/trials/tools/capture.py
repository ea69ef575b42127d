"""capture: the packets that this host captures and loses, by frame size and offered rate.

The other host floods datagrams; this host captures them in a TPACKET_V3 ring. Loss is the share of
sent packets, as in the papers, corrected for framing if the link was full. `--cpu-here` selects the
core of the capture; results differ on and off the core of the interrupt. `--window` is the ring
size (64 MiB). With `--pid`, the losses of a running capture are measured instead: those of its
sockets and of the interface; those of its ring need root and Linux 5.10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, NotRequired, TypedDict

from ...terms import formulas
from ...terms.dataclass import dataclass
from ..far.sample import interfaces, read
from ..far.schema import HelperOptions, LinkState, Message
from ..far.schema import UdpStep as Request
from ..result import Loss, Measured
from ..run import Trial, TrialError
from ._client_server import failed, local_address
from ._losses import losses


class Captured(TypedDict, total=False):
    """What a capture counted."""

    packets: int  # missing: only losses are known
    dropped: int  # by the socket, ring or interface
    early: int  # of these by the interface, before any socket
    told: str  # how the losses of a running capture are known


Counts = Callable[[], Captured]
Summary = Callable[[str], Captured]


@contextmanager
def capturing(
    trial: Trial,
    capture: CaptureOptions,
    argv: Sequence[str],
    ready: str,
    parse: Summary,
    linger: float = 0.0,
) -> Iterator[Counts]:
    """Start it, wait for the text `ready`; yields a function that stops it and returns the counts.

    It waits `linger` seconds before it stops the program. TrialError if the program ends early.
    """
    words = [*argv, f"udp and dst port {capture.port}"]
    with trial.start(trial.here, words, cpus=capture.cpus) as near:
        near.wait_for("pid")
        for message in near.messages(10):
            if ready in message.get("out", message.get("err", "")):
                break
            if "exit" in message:
                raise TrialError(f"{argv[0]} ended at once; it needs root")

        def counts() -> Captured:
            if linger:
                trial.cancel.wait(linger)
            near.stop()
            return parse("\n".join(trial.output(near, 20)[1:]))

        yield counts


def summary(output: str, program: str, pattern: re.Pattern[str], needed: str) -> dict[str, int]:
    """The counts by name; `pattern` matches number and name. TrialError without `needed`."""
    counts = {name: int(count) for count, name in pattern.findall(output)}
    if needed not in counts:
        raise failed(program, output)
    return counts


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """The traffic to capture and the cores of the capturing process."""

    interface: str
    port: int
    v6: bool
    cpus: tuple[int, ...]
    ring: int = 0  # ring size in bytes; 0: the program's default


@contextmanager
def watched(trial: Trial, capture: CaptureOptions) -> Iterator[Counts]:
    """Yields a function that returns what a capture of the user lost since then.

    These are the drops of its packet sockets and those of the interface: a full backlog drops
    packets before they reach a socket.
    """
    with losses(trial.options.pid or 0) as (lost, told):
        before = dropped(capture.interface)

        def counts() -> Captured:
            early = max(0, dropped(capture.interface) - before)
            return {"dropped": early + lost(), "early": early, "told": told}

        yield counts


def dropped(interface: str) -> int:
    """Packets that the interface dropped on receipt, missed ones included (/proc/net/dev)."""
    return interfaces(read("/proc/net/dev")).get(interface, [0] * 4)[3]


TOOL: Final = "capture"
PACKAGE: Final = ""
HELP: Final = "packets captured and lost, by frame size and offered rate"
TAKES: Final = "interface sizes length rate window pid"
PAYLOADS: Final = (18, 530, 1472)  # frames of 64, 576 and 1518 bytes
PORT: Final = 7009
FULL: Final = 0.98  # share of the link rate; below it, missing packets were never sent

Captor = Callable[[Trial, CaptureOptions], AbstractContextManager[Counts]]


class Row(TypedDict):
    """One frame size: packets, rates in packets/s and bit/s, losses in percent."""

    size: int  # payload bytes
    frame: int  # with headers and FCS
    offered_pps: float
    sent: int
    captured: int
    dropped: int
    loss: float
    capture_bits: float
    generator_busy: float
    dropped_early: NotRequired[int]  # by the interface, before any socket
    framed_loss: NotRequired[float]  # if the link was full


@contextmanager
def ring(trial: Trial, options: CaptureOptions) -> Iterator[Counts]:
    """Capture with the built-in ring; yields a function that stops it and returns the counts."""
    job: HelperOptions = {
        "interface": options.interface, "port": options.port, "v6": options.v6,
        "cpus": options.cpus, "ring": options.ring,
    }  # fmt: skip
    with trial.here.start("capture", job) as near:
        near.wait_for("capturing")

        def counts() -> Captured:
            near.stop()
            for message in trial.follow(near, 20):
                if "packets" in message:
                    return {"packets": message["packets"], "dropped": message["dropped"]}
            raise TrialError("the capture ended early")

        yield counts


def measure(trial: Trial) -> Measured:
    """Generate on the other host and capture here, or observe the running capture of `--pid`."""
    if trial.options.pid is not None:
        return sweep(trial, watched)
    return sweep(trial, ring)


def sweep(trial: Trial, captor: Captor) -> Measured:
    """Measure each size in turn with this way to capture; TrialError if nothing was sent."""
    o = trial.options
    trial.far()
    own = local_address(o.to)
    interface = o.interface or carrier(own)
    sizes = o.sizes or ((o.length,) if o.length else PAYLOADS)
    nic = trial.samples.about["here"]["links"].get(interface, {})
    each = max(0.3, o.seconds / len(sizes))
    rows, details = [], dict[str, object]()
    with ExitStack() as stack:
        deaf = trial.here.start("udp_sink", {"port": o.port or 0, "at": own, "deaf": True})
        port = stack.enter_context(deaf).wait_for("port")["port"]
        for size in sizes:
            rate = o.rate / (8 * (size + 46)) if o.rate else 0.0
            options = CaptureOptions(interface, port, ":" in own, o.cpu_here, o.window or 0)
            with captor(trial, options) as counts:
                offered = send(trial, own, port, {"size": size, "seconds": each, "rate": rate})
                found = counts()
                rows.append(row(size, offered, found, nic))
                details |= {"losses": found["told"]} if "told" in found else {}
    sent = sum(r["sent"] for r in rows)
    captured = sum(r["captured"] for r in rows)
    if not sent:
        raise TrialError("the generator sent nothing")
    last = rows[-1]
    return Measured(
        bits_per_second=last["capture_bits"],
        sent_bits_per_second=min(8 * r["frame"] * r["offered_pps"] for r in rows),
        loss=Loss(sent, min(sent, captured)),
        details={"interface": interface, **details, "points": rows},
    )


def send(trial: Trial, own: str, port: int, request: Request) -> Message:
    """Let the other host send to this address and port; its report. TrialError without one."""
    job: HelperOptions = {"to": own, "port": port, "v6": ":" in own, "points": [request],
                          "cpus": trial.options.cpu_there}  # fmt: skip
    with trial.far().start("udp_source", job) as far:
        for message in trial.follow(far, request["seconds"] + 20):
            if "sent" in message:
                return message
    raise TrialError("the generator ended early")


def row(size: int, sent: Message, got: Captured, link: LinkState) -> Row:
    """The row of one size: loss by the formula of the papers, and corrected for framing."""
    frame = size + 46  # with FCS: 14 + 20 + 8 before the payload, 4 after it
    offered, dropped = sent["sent"], got["dropped"]
    captured = got.get("packets", max(0, offered - dropped))  # a watched capture has losses only
    seconds = sent["lasted"] or 1e-9
    rate = formulas.capture_rate(captured, frame, seconds)
    values: Row = {
        "size": size,
        "frame": frame,
        "offered_pps": offered / seconds,
        "sent": offered,
        "captured": captured,
        "dropped": dropped,
        "loss": max(0.0, formulas.loss_percent(offered, captured)) if offered else 0.0,
        "capture_bits": rate,
        "generator_busy": sent.get("busy", 0.0),
    }
    if "early" in got:
        values["dropped_early"] = got["early"]
    speed = link.get("speed")
    if speed and link.get("subsystem") and link.get("driver") != "virtio_net":
        offer = formulas.capture_rate(offered, frame, seconds)
        if offer > FULL * formulas.framing_ceiling(speed * 1e6, frame):
            values["framed_loss"] = max(0.0, formulas.framed_loss_percent(rate, speed * 1e6, frame))
    return values


def link(trial: Trial) -> LinkState:
    """The properties of the interface of this host that carries the test; empty if unknown."""
    try:
        name = trial.options.interface or carrier(local_address(trial.options.to))
    except TrialError:  # the test runs without them
        return {}
    return trial.samples.about["here"]["links"].get(name, {})


def carrier(address: str) -> str:
    """The interface with this address; TrialError if there is none."""
    import psutil

    plain, _, scope = address.partition("%")  # a link-local address may name its interface
    try:
        interfaces = psutil.net_if_addrs()
    except OSError as error:
        raise TrialError(f"cannot list the interfaces of this host: {error.strerror}") from None
    for name, entries in interfaces.items():
        if scope in ("", name) and any(e.address.partition("%")[0] == plain for e in entries):
            return name
    raise TrialError(f"no interface has the address {address}: give --interface")
