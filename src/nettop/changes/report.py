"""What became of changes, for a person or a program; and the countdown of `confirm or revert`."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Sequence

from ..text import safe
from . import Result, guard, risk
from .journal import Journal

_MARKS = {"applied": "✓", "rounded": "≈", "pending": "…", "undone": "↶", "reverted": "↶"}


def code(results: Sequence[Result]) -> int:
    """The exit code: 4 not done, 5 reverted, 0 done."""
    states = {result.state for result in results}
    if states & {"refused", "conflict"}:
        return 4
    return 5 if "reverted" in states else 0


def show(results: Sequence[Result]) -> None:
    """Print each change with what the host shows now, or would show."""
    for result in results:
        if result.state == "planned":
            _plan(result)
            continue
        name = f"{result.id}  " if result.id else ""
        mark = _MARKS.get(result.state, "✗" if result.state in ("refused", "conflict") else "·")
        if result.state in ("undone", "reverted"):
            values = f"{result.after} (was {result.wanted})"
        else:
            values = f"{result.before} → {result.after if result.after is not None else '?'}"
            if result.state in ("refused", "conflict"):
                values = f"{result.before} → {result.wanted}"
        print(safe(f"{mark} {name}{result.setting}: {values}  {result.state}"))
        if result.state == "pending" and result.deadline is not None:
            left = max(0, round(result.deadline - time.time()))
            print(f"    it reverts in {left} s unless it is kept: nettop confirm {result.id}")
        if result.because:
            print(safe(f"    {result.because}"))


def _plan(result: Result) -> None:
    """What would be done, and the command that does the same."""
    told = risk(result.setting)
    print(safe(f"{result.setting}: {result.before} → {result.wanted}   (risk: {told})"))
    print(safe(f"    {result.shell}"))
    if result.because:
        print(safe(f"    {result.because}"))


def await_enter(journal: Journal, results: Sequence[Result]) -> tuple[Result, ...]:
    """Count down on the terminal until Enter keeps pending changes, or the guard ends them.

    Ctrl-C takes them back at once. Without a terminal they stay pending.
    """
    waiting = [r for r in results if r.state == "pending"]
    if not waiting or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return tuple(results)
    numbers = tuple(r.id for r in waiting if r.id is not None)
    due = min((e.due for e in journal.entries() if e.id in numbers and e.due), default=None)
    try:
        if due is not None and _enter(due):
            guard.confirm(journal, numbers)
    except KeyboardInterrupt:
        group = next((e.group for e in journal.entries() if e.id in numbers), 0)
        guard.revert(journal, group)
    return follow(journal, results)


def _enter(due: float) -> bool:
    from .journal import since_boot

    while (left := due - since_boot()) > 0:
        print(
            f"\r\x1b[K  Enter keeps it; reverts in {left:.0f} s ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        if select.select([sys.stdin], [], [], min(1.0, left))[0]:
            print(file=sys.stderr)
            return os.read(sys.stdin.fileno(), 4096) != b""
    print("\r\x1b[K  Not confirmed: reverting", file=sys.stderr)
    return False


def follow(
    journal: Journal, results: Sequence[Result], seconds: float = 20.0
) -> tuple[Result, ...]:
    """The results as the journal has them now; waits for the guard to finish its work."""
    from dataclasses import replace

    numbers = {r.id for r in results}
    gone = ("undone", "reverted")
    end = time.monotonic() + seconds
    while True:
        now = {e.id: e for e in journal.entries() if e.id in numbers}
        late = any(e.state == "pending" for e in now.values())
        if not late or time.monotonic() > end:
            break
        time.sleep(0.1)
    return tuple(
        replace(
            r, state=now[r.id].state, deadline=None,
            after=r.before if now[r.id].state in gone else r.after,
            because=now[r.id].because if now[r.id].state in gone else r.because,
        )
        if r.id in now else r
        for r in results
    )  # fmt: skip
