"""The limit of processes or threads that holds a program up, and what raises it.

A program that cannot start another one has reached one. Which (kernel/fork.c, copy_process();
kernel/cgroup/pids.c): pids.max of its cgroup or of one above, RLIMIT_NPROC of its user,
kernel.threads-max and kernel.pid_max end alike with EAGAIN. What the cgroups count decides; a limit
above twice the threads of the whole host is not the one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..collect.program_states import Row

NEAR: Final = 0.5  # of a limit: with fewer threads on the whole host it is not reached


class Limit(NamedTuple):
    """A limit in words, and what shows and raises it."""

    limit: str
    raise_it: str


_GROUP: Final = Limit(
    "pids.max of {row.full} is {row.tasks}",
    "`cat {row.full}/pids.current {row.full}/pids.max` shows both, and `echo 4096 > "
    "{row.full}/pids.max` raises it (systemd: TasksMax=, docker: --pids-limit)",
)
_UNSEEN: Final = Limit(
    "pids.max of cgroup {row.unseen}",
    "`cat /proc/{row.pid}/cgroup` on the host names the cgroup: see pids.max of it and of those "
    "above (systemd: TasksMax=, docker: --pids-limit)",
)
_USER: Final = Limit(
    "RLIMIT_NPROC of its user, {row.tasks_of_user},",
    "`prlimit --nproc --pid {row.pid}` shows that of the user: raise LimitNPROC= of systemd, or "
    "nproc in /etc/security/limits.conf",
)
_NONE: Final = Limit(
    "a limit that is not visible here",
    "`cat /proc/{row.pid}/cgroup /proc/{row.pid}/limits` shows where it may be (pids.max, Max "
    "processes)",
)


def reached(row: Row, refused: float) -> Limit:
    """The limit that is reached; of several that may be, each.

    `refused`: processes a second that its cgroup or one above refused.
    """
    if row.full and (row.room == 0 or refused):
        return Limit(*(text.format(row=row) for text in _GROUP))
    found = [_UNSEEN] if row.unseen else []
    if not refused:
        if row.tasks_of_user is not None and _near(row, row.tasks_of_user):
            found.append(_USER)
        for name, most in (("pid_max", row.pid_max), ("threads-max", row.threads_max)):
            if _near(row, most):
                found.append(
                    Limit(f"kernel.{name}", f"`sysctl kernel.{name}` shows that of the host")
                )
    limits, cures = zip(*(found or [_NONE]), strict=True)
    return Limit(
        " or ".join(limits).format(row=row) + " is reached", ". ".join(cures).format(row=row)
    )


def _near(row: Row, most: int | None) -> bool:
    """Whether the host has so many threads that the limit may be reached."""
    return most is None or row.all_tasks is None or row.all_tasks >= most * NEAR
