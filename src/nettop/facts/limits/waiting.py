"""The words for what a thread waits for in one sample of the collector `waits`."""

from __future__ import annotations

from typing import Any, Final

SERVED: Final = ("fuse", "nfs", "cifs", "smb", "9p", "virtiofs", "ceph", "afs")  # without a device


def how(row: Any) -> str:
    """How it uses the device; empty where that is not known, or where a program serves the file."""
    if row.throttled:
        return "throttled"
    if row.filesystem.startswith(SERVED):
        return ""
    if row.kind == "sync" or (row.kind == "output" and row.synced):
        return "synced"
    return "direct" if row.direct else "cached" if row.object.startswith("/") else ""


def place(row: Any) -> str:
    """`in read() of /data/big (ext4, past the page cache)`."""
    if row.call is None:
        return "for a device (state D); the call may not be read"
    limited = f", which a cgroup throttles: {row.throttled}" if row.throttled else ""
    if not row.object.startswith("/"):
        what = "a mapped file" if row.object or not row.call else "a mapped file or a folder"
        place = f"in {row.call}() for {what}" if row.call else f"for {what}"
        largest = f" (the largest of these files: {row.mapped})" if row.mapped else ""
        return f"{place}{largest}{limited}"
    told = (
        row.filesystem,
        "past the page cache" if row.direct else "",
        "open for synchronous writes" if row.synced and row.kind != "input" else "",
    )
    kind = ", ".join(filter(None, told))
    return f"in {row.call}() of {row.object}" + (f" ({kind})" if kind else "") + limited


def stream(row: Any) -> str:
    """`for a pipe`, `for a Unix socket`, or the file of a program that serves a file system."""
    if row.object.startswith("/"):
        return place(row)
    return "for a Unix socket" if row.object.startswith("socket:") else "for a pipe"
