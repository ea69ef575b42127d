"""The fact of failed calls, as of the lines in which the kernel's counts are told."""

from typing import Any

from nettop.collect import failed_calls
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.kinds.call import Call
from nettop.frame.rates import Entry, Frame


def called(line: str, **more: object) -> Call | None:
    """The fact of these lines of `bpf.calls`."""
    rows = failed_calls.parse("3.000\n" + line)
    tables: dict[str, Any] = {"failed_calls": rows, **more}
    entries = {
        name: tuple(row if isinstance(row, Entry) else Entry(row) for row in rows)
        for name, rows in tables.items()
    }
    facts: Facts = Joiner().build(Frame(0.0, 0.0, entries))
    return next((one for one in facts.more["call"] if isinstance(one, Call)), None)
