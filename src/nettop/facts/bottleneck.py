"""Who limits a flow, and the figures that say so.

The order is that of certainty: what the provider or the link refuses, then what the kernel's own
clocks of the flow say (tcp_info: rwnd_limited, sndbuf_limited, busy; net/ipv4/tcp.c,
tcp_get_info()), then full cores, then the network by its losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .kinds.core import Core
from .kinds.flow import Flow
from .kinds.nic import Nic

FULL_LINK: Final = 0.95  # of what TCP can carry at this MTU
FULL_BUS: Final = 0.80  # of the slot after coding; packet headers and descriptors take the rest
FULL_IDLE: Final = 5.0  # percent idle below which a core is full
LIMITED: Final = 0.10  # part of its busy time that makes a limit
LOSSY: Final = 1e-4  # segments lost of all sent
IDLE_SENDER: Final = 0.5  # busy less than half of the time: the application has nothing to send
COUNTED: Final = 1.0  # events a second: fewer are an accident, and would be written as 0/s
PAUSE_BITS: Final = 65_535 * 512  # that a link could carry while one pause frame holds it, at most


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who, and why; `who` is None when this end cannot tell."""

    who: str | None
    why: str


LITTLE: Final = Verdict("none", "moves too little to be limited")


def judge(flow: Flow, nic: Nic | None, irq_core: Core | None, app_core: Core | None) -> Verdict:
    """Who limits a bulk flow now: sender receiver network link cpu bus application provider."""
    sends = flow.direction == "send"
    outside = _outside(nic, sends=sends)
    if outside is not None:
        return outside
    if sends:
        return _sending(flow, nic, irq_core, app_core)
    return _receiving(flow, irq_core, app_core)


def _outside(nic: Nic | None, *, sends: bool) -> Verdict | None:
    """What no tuning of this host changes: the provider's allowance, the link, the slot."""
    if nic is None:
        return None
    rates = nic.per_s
    shaped = {
        "packets": rates.allowance_pps,
        "tracked connections": rates.allowance_conntrack,
        "bandwidth out" if sends else "bandwidth in":
            rates.allowance_bw_out if sends else rates.allowance_bw_in,
    }  # fmt: skip
    for what, rate in shaped.items():
        if rate is not None and rate >= COUNTED:
            return Verdict("provider", f"{rate:.0f} packets/s over the allowance of {what}")
    load = nic.tx_load if sends else nic.rx_load
    if load is not None and load >= FULL_LINK:
        return Verdict("link", f"{nic.name} carries {load:.0%} of what TCP can at MTU {nic.mtu}")
    moved = rates.tx_bytes if sends else rates.rx_bytes
    usable = nic.pcie.usable
    if moved is not None and usable and moved * 8 >= FULL_BUS * usable:
        return Verdict("bus", f"{moved * 8 / usable:.0%} of what {nic.name}'s slot carries")
    return None


def _sending(flow: Flow, nic: Nic | None, irq_core: Core | None, app_core: Core | None) -> Verdict:
    paused = nic.per_s.pause_rx if nic is not None else None
    if nic is not None and paused and _pauses(paused, nic.speed) and not full(app_core):
        return Verdict("receiver", f"the link partner sends {paused:.0f} pause frames/s")
    if flow.rwnd_limited is not None and flow.rwnd_limited > LIMITED:
        return Verdict("receiver", f"its window held the flow {flow.rwnd_limited:.0%} of the time")
    if flow.sndbuf_limited is not None and flow.sndbuf_limited > LIMITED:
        return Verdict("sender", f"its send buffer held it {flow.sndbuf_limited:.0%} of the time")
    if flow.sndbuf_full:
        return Verdict("sender", f"what is on the way fills its send buffer of {flow.sndbuf} bytes")
    cores = _cores(irq_core, app_core)
    if cores is not None:
        return cores
    if flow.app_limited or (flow.busy is not None and flow.busy < IDLE_SENDER):
        share = "" if flow.busy is None else f"; data in flight {flow.busy:.0%} of the time"
        return Verdict("application", f"nothing waits to be sent{share}")
    lost = flow.loss_ratio
    if lost is not None and lost > LOSSY:
        return Verdict("network", f"{lost:.2%} of its segments were lost")
    if flow.cwnd is not None and flow.unacked is not None and flow.unacked >= flow.cwnd * 0.9:
        return Verdict("network", f"the congestion window of {flow.cwnd} segments is full")
    return Verdict(None, "no limit shows at this end")


def _pauses(frames: float, speed: float | None) -> bool:
    """Whether frames/s may hold the link for a part of the time that a flow notices."""
    return frames >= (LIMITED * speed / PAUSE_BITS if speed else COUNTED)


def _receiving(flow: Flow, irq_core: Core | None, app_core: Core | None) -> Verdict:
    cores = _cores(irq_core, app_core)
    if cores is not None:
        return cores
    if flow.recv_q and flow.rcvbuf and flow.recv_q > flow.rcvbuf / 4:
        return Verdict("application", f"{flow.recv_q} bytes wait to be read")
    return Verdict(None, "this end keeps up: the sender's side tells more")


def _cores(irq_core: Core | None, app_core: Core | None) -> Verdict | None:
    if full(irq_core) and irq_core is not None and _kernel(irq_core) > (irq_core.user or 0):
        return Verdict(
            "cpu", f"core {irq_core.cpu}, which takes its interrupts, is {_busy(irq_core)} busy"
        )
    if full(app_core) and app_core is not None:
        why = f"core {app_core.cpu}, where its process runs, is {_busy(app_core)} busy"
        if (app_core.user or 0) > _kernel(app_core):
            return Verdict("application", f"{why}, mostly with programs")
        return Verdict("cpu", why)
    return None


def full(core: Core | None) -> bool:
    """Whether a core has nothing left to give."""
    return core is not None and core.idle is not None and core.idle < FULL_IDLE


def _kernel(core: Core) -> float:
    return (core.system or 0) + (core.softirq or 0) + (core.irq or 0)


def _busy(core: Core) -> str:
    return f"{100 - (core.idle or 0):.0f} %"
