"""A generated host as a recording, in the format of `nettop record`."""

import base64
from collections.abc import Iterator

from generated.files import moving, still
from generated.model import Host
from generated.wire import answers

_BEGAN = 1_700_000_000.0


def archive(host: Host) -> str:
    """Every moment; an entry that did not change since the one before is not written again."""
    out = [f"{host.seed}: {host.kind}. Generated.\n"]
    known: dict[str, str] = {}
    for moment, at in enumerate(host.moments):
        out.append(f"-- @{at:.3f} wall {_BEGAN + at:.3f} --\n")
        for name, body in entries(host, moment):
            if known.get(name) != body:
                known[name] = body
                ended = body if not body or body.endswith("\n") else f"{body}\n"
                out.append(f"-- {name} --\n{ended}")
    return "".join(out)


def entries(host: Host, moment: int) -> Iterator[tuple[str, str]]:
    if not moment:
        yield from still(host)
        if host.processes:
            fixed = ("self", "net", "sys", "irq")
            pids = [str(one.pid) for one in host.processes]
            yield "/proc/", "".join(f"{name}\n" for name in sorted((*fixed, *pids)))
    yield from moving(host, moment)
    for name, raw in answers(host, moment):
        yield name, base64.b64encode(raw).decode() + "\n"
