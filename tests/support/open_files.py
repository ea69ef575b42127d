"""The open files of a process, as /proc shows them: what it has begun to do."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def open_files(pid: int) -> Iterator[tuple[str, int]]:
    """What each open file of the process is (`socket:[812]`, a path), and its size in bytes."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield os.readlink(link), link.stat().st_size
