"""The priority of a process: `nice.value@PID`, -20 (first) to 19 (last), setpriority(2)."""

import os

from ..host.source import Source
from . import Address, Host, Limits, process
from ._text import number

RISK = "none"
NAMES = ("value",)
TARGETS = process.TARGETS
EXAMPLE = process.EXAMPLE
VALUE = number
LIMITS = Limits(default="0", min=-20, max=19)
COMMAND = "renice -n {value} -p {target}"
SHOWS = "ps -o ni= -p {target}"
identity = process.identity


def read(source: Source, address: Address) -> str:
    """The nice value of its main thread (field 19 of stat)."""
    try:
        stat = source.text(process.folder(address) + "/stat")
    except FileNotFoundError:
        raise FileNotFoundError(2, f"there is no process {address.target}") from None
    return stat[stat.rfind(")") + 1 :].split()[16]


def write(host: Host, address: Address, value: str) -> None:
    """Set the nice value of every thread."""
    for tid in process.threads(host.source, address.nic):
        try:
            os.setpriority(os.PRIO_PROCESS, int(tid), int(value))
        except ProcessLookupError:
            if tid == address.nic:
                raise
