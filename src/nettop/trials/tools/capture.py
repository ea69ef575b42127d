"""capture: the packets that this host captures and loses, by frame size and offered rate.

The other host floods datagrams; this host captures them in a TPACKET_V3 ring. Loss is the share of
sent packets, as in the papers, corrected for framing if the link was full. `--cpu-here` selects the
core of the capture; results differ on and off the interrupt's core. `--window` is the ring size
(64 MiB). With `--pid`, the losses of a running capture are measured instead: those of its socket
and of the interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final

from ...terms import formulas
from ..result import Loss, Measured
from ..run import Trial, TrialError
from ._addresses import local_address
from ._capture_options import CaptureOptions

TOOL: Final = "capture"
PACKAGE: Final = ""
HELP: Final = "packets captured and lost, by frame size and offered rate"
PAYLOADS: Final = (18, 530, 1472)  # frames of 64, 576 and 1518 bytes
PORT: Final = 7009
FULL: Final = 0.98  # share of the link rate; below it, missing packets were never sent


Captor = Callable[[Trial, CaptureOptions], AbstractContextManager[Callable[[], Mapping[str, Any]]]]


@contextmanager
def ring(trial: Trial, options: CaptureOptions) -> Iterator[Callable[[], Mapping[str, Any]]]:
    """Capture with the built-in ring; yields a function that stops it and returns counts."""
    asked = {
        "interface": options.interface, "port": options.port, "v6": options.v6,
        "cpus": options.cpus, "ring": options.ring,
    }  # fmt: skip
    with trial.here.start("capture", asked) as near:
        near.wait_for("capturing")

        def counts() -> Mapping[str, Any]:
            near.stop()
            for message in trial.follow(near, 20):
                if "packets" in message:
                    return message
            raise TrialError("the capture ended early")

        yield counts


def measure(trial: Trial) -> Measured:
    """Capture here, generate there, for each size; or observe the running capture."""
    if trial.options.pid is not None:
        from ._watched import watched

        return sweep(trial, watched)
    return sweep(trial, ring)


def sweep(trial: Trial, captor: Captor) -> Measured:
    """Each size in turn, captured by `captor`."""
    o = trial.options
    trial.far()
    own = local_address(o.to)
    interface = o.interface or carrier(own)
    sizes = o.sizes or ((o.length,) if o.length else PAYLOADS)
    link = trial.samples.about["here"]["links"].get(interface, {})
    each = max(0.3, o.seconds / len(sizes))
    rows = []
    with ExitStack() as stack:
        deaf = trial.here.start("udp_sink", {"port": o.port or 0, "at": own, "deaf": True})
        port = int(stack.enter_context(deaf).wait_for("port"))
        for size in sizes:
            rate = o.rate / (8 * (size + 46)) if o.rate else 0.0
            options = CaptureOptions(interface, port, ":" in own, o.cpu_here, o.window or 0)
            point = {"size": size, "seconds": each, "rate": rate}
            with captor(trial, options) as counts:
                offered = blast(trial, own, port, point)
                rows.append(row(size, offered, counts(), link))
    sent = sum(r["sent"] for r in rows)
    captured = sum(r["captured"] for r in rows)
    if not sent:
        raise TrialError("the generator sent nothing")
    last = rows[-1]
    return Measured(
        bits_per_second=last["capture_bits"],
        loss=Loss(sent, min(sent, captured)),
        details={"interface": interface, "points": rows},
    )


def blast(trial: Trial, own: str, port: int, point: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let the other host send one point; returns what it really sent."""
    request = {"to": own, "port": port, "v6": ":" in own, "points": [dict(point)],
            "cpus": trial.options.cpu_there}  # fmt: skip
    with trial.far().start("udp_source", request) as far:
        for message in trial.follow(far, float(point["seconds"]) + 20):
            if "sent" in message:
                return message
    raise TrialError("the generator ended early")


def row(
    size: int, sent: Mapping[str, Any], got: Mapping[str, Any], link: Mapping[str, Any]
) -> dict[str, Any]:
    """Offered, captured, dropped; loss by the papers' formula and corrected for framing."""
    frame = size + 46  # with FCS: 14 + 20 + 8 around the payload, 4 behind
    offered, dropped = int(sent["sent"]), int(got["dropped"])
    captured = int(got.get("packets", max(0, offered - dropped)))  # a watched one only tells losses
    seconds = float(sent["lasted"]) or 1e-9
    rate = formulas.capture_rate(captured, frame, seconds)
    found = {
        "size": size,
        "frame": frame,
        "offered_pps": offered / seconds,
        "sent": offered,
        "captured": captured,
        "dropped": dropped,
        "loss": max(0.0, formulas.loss_percent(offered, captured)) if offered else 0.0,
        "capture_bits": rate,
        "generator_busy": float(sent.get("busy", 0.0)),
    }
    if "early" in got:
        found["dropped_early"] = int(got["early"])  # by the interface, before any socket
    speed = link.get("speed")
    if speed and link.get("subsystem") and link.get("driver") != "virtio_net":
        offer = formulas.capture_rate(offered, frame, seconds)
        if offer > FULL * formulas.framing_ceiling(speed * 1e6, frame):
            found["framed_loss"] = max(0.0, formulas.framed_loss_percent(rate, speed * 1e6, frame))
    return found


def link(trial: Trial) -> Mapping[str, Any]:
    """What is known of the interface here that carries the test; nothing where none is told."""
    try:
        name = trial.options.interface or carrier(local_address(trial.options.to))
    except TrialError:  # the test runs all the same
        return {}
    found: Mapping[str, Any] = trial.samples.about["here"]["links"].get(name, {})
    return found


def carrier(address: str) -> str:
    """The interface that has this address, its first or another; TrialError when none does."""
    import psutil

    plain, _, scope = address.partition("%")  # a link-local one may name its interface
    try:
        interfaces = psutil.net_if_addrs()
    except OSError as error:
        raise TrialError(f"cannot list the interfaces of this host: {error.strerror}") from None
    for name, entries in interfaces.items():
        if scope in ("", name) and any(e.address.partition("%")[0] == plain for e in entries):
            return name
    raise TrialError(f"no interface has the address {address}: give --interface")
