"""The files that a process maps: /proc/PID/maps, proc(5)."""

from __future__ import annotations

from ..host.source import Source
from . import _sysfs


def largest(source: Source, pid: int) -> tuple[str, str]:
    """The largest file of data that a process maps, with its device MAJOR:MINOR.

    A file of which a part is mapped as code is none.
    """
    sizes: dict[tuple[str, str], int] = {}
    code: set[tuple[str, str]] = set()
    for line in (_sysfs.word(source, f"/proc/{pid}/maps") or "").splitlines():
        words = line.split(maxsplit=5)
        if len(words) < 6 or not words[5].startswith("/"):
            continue
        start, end = (_sysfs.whole(f"0x{word}") or 0 for word in words[0].partition("-")[::2])
        file = words[5], words[3]
        sizes[file] = sizes.get(file, 0) + end - start
        if "x" in words[1]:
            code.add(file)
    data = [file for file in sizes if file not in code]
    if not data:
        return "", ""
    path, device = max(data, key=lambda file: sizes[file])
    numbers = [_sysfs.whole(f"0x{part}") or 0 for part in device.split(":")]
    return path, ":".join(map(str, numbers))
