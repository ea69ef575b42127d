"""Nothing of a trial stays behind: whatever it started and did not end is ended, with its children.

Each end already closes what it started; this is for a tool that forked away from its group, or an
end that could not answer. psutil walks the tree and waits, whatever the kernel's version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

GRACE = 2.0  # seconds a process has to end by itself after SIGTERM


@contextmanager
def ended() -> Iterator[None]:
    """Descendants of nettop that were not there before are gone after the block."""
    import psutil

    me = psutil.Process()
    before = set(me.children(recursive=True))
    try:
        yield
    finally:
        left = [one for one in me.children(recursive=True) if one not in before]
        for one in left:
            try:
                one.terminate()
            except psutil.NoSuchProcess:
                continue
        for one in psutil.wait_procs(left, timeout=GRACE)[1]:
            try:
                one.kill()
            except psutil.NoSuchProcess:
                continue
