"""Why the kernel refuses to be looked into: rights that are lacking, lockdown, a filter.

The rights are capabilities (capabilities(7)) of the first user namespace: kernel/bpf/syscall.c,
bpf_prog_load(); kernel/events/core.c, perf_event_open(); for the addresses of functions
kernel/ksyms_common.c, kallsyms_show_value(). Before Linux 5.8 CAP_SYS_ADMIN has those of CAP_BPF
and CAP_PERFMON, and it has them still. In confidentiality mode lockdown forbids BPF programs to
read the memory of the kernel (security/lockdown/lockdown.c).
"""

from contextlib import suppress
from typing import Final

_ALL: Final = "CAP_SYS_ADMIN"
_BITS: Final = {
    "CAP_NET_ADMIN": 12, _ALL: 21, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39,
}  # fmt: skip
_NEW: Final = ("CAP_PERFMON", "CAP_BPF")  # of Linux 5.8
_STATUS, _USERS = "/proc/thread-self/status", "/proc/self/uid_map"
_LAST: Final = "/proc/sys/kernel/cap_last_cap"
_POINTERS: Final = "/proc/sys/kernel/kptr_restrict"
_LOCKDOWN: Final = "/sys/kernel/security/lockdown"
_EVERY: Final = ["0", "0", "4294967295"]  # the users of the first user namespace
_HIDES: Final = "the kernel hides the addresses of its functions"


def refused(what: str, *names: str, otherwise: str = "") -> str:
    """Why `what`, which needs these capabilities, is refused; `otherwise`: what allows it too."""
    lacks = lacking(*names)
    if not lacks:
        return f"{what} is forbidden by {_forbids()}"
    if _inside():
        return f"{what} needs root outside of this user namespace"
    return f"{what} needs root, or {' and '.join(lacks)}, which this process lacks{otherwise}"


def hidden() -> str:
    """Why no function has an address."""
    if _read(_POINTERS).strip() == "2":
        return f"{_HIDES} (kernel.kptr_restrict is 2)"
    return f"{_HIDES}; {refused('to see them', 'CAP_SYSLOG')}"


def locked() -> str:
    """The words for a lockdown under which no program may read the kernel's memory; else empty."""
    return "kernel lockdown (confidentiality)" if "[confidentiality]" in _read(_LOCKDOWN) else ""


def lacking(*names: str) -> tuple[str, ...]:
    """Those of the capabilities that this thread does not have in the first user namespace."""
    held = 0 if _inside() else int(_status("CapEff") or "0", 16)
    last = int(_read(_LAST).strip() or _BITS["CAP_BPF"])
    known = dict.fromkeys(name if _BITS[name] <= last else _ALL for name in names)
    whole = _NEW if held >> _BITS[_ALL] & 1 else ()
    return tuple(name for name in known if name not in whole and not held >> _BITS[name] & 1)


def _forbids() -> str:
    filtered = _status("Seccomp") not in ("", "0")
    seccomp = "a filter of system calls (seccomp), such as that of a container" if filtered else ""
    return locked() or seccomp or "a security module or the container"


def _inside() -> bool:
    """Whether this is another user namespace than the first: its rights do not count."""
    return (users := _read(_USERS)) != "" and users.split() != _EVERY


def _status(name: str) -> str:
    found = (line.partition(":") for line in _read(_STATUS).splitlines())
    return next((value.strip() for key, _, value in found if key == name), "")


def _read(path: str) -> str:
    """The text; empty where there is none."""
    with suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
        return file.read()
    return ""
