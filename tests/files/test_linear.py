"""What reads hostile text takes four times as long for four times the text, not sixteen times.

The cap is on CPU time and generous: each reader takes a few seconds for all pieces together, and
one that takes the square of 64 KiB takes many minutes.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nettop.advice.rules.file import build
from nettop.advice.rules.written import RuleError
from nettop.collect import _drivers as drivers
from nettop.collect import interrupts, sysctl_files
from nettop.files import bounds
from nettop.host.archive import RecordingError, parse
from nettop.host.pseudonyms import Names
from nettop.host.scrub import scrub
from nettop.terms import irqname

SIZE = 1 << 16
CAP = 60.0  # seconds of CPU


def irq(tail: str) -> None:
    interrupts.parse(f"           CPU0\n  1:          5   {tail}\n")


def rule(text: str) -> None:
    try:
        build(Path("x/mine.toml"), text[: bounds.BOUNDS["rule"].most])
    except RuleError:
        return


def archive(text: str) -> None:
    try:
        parse(text)
    except RecordingError:
        return


def clean(text: str) -> None:
    scrub(f"c\n-- /etc/sysctl.conf --\n{text}\n", Names())


def stats(text: str) -> None:
    names = ["rx_queue_0_packets"] * (len(text) // 16)
    drivers.plan(drivers.driver("virtio_net"), names)


READERS: dict[str, Callable[[str], object]] = {
    "interrupts": irq,
    "irqname": irqname.queue_of,
    "rule": rule,
    "rule key": lambda text: rule(f"severity = 3\n{text}\nover = 3\nwhen = 3\n"),
    "rule prose": lambda text: rule('\nwhy = """' + text + "\nwhy = ["),
    "archive": archive,
    "scrub": clean,
    "sysctl": lambda text: sysctl_files.parse(text, "x"),
    "statistics": stats,
}
PIECES = [" ", "\n", "1", "-", "a-1 ", "1 ", " 1", '"', '"""', "\\", "-rx", "[", "a ", "-- ", "\t"]


@pytest.mark.parametrize("reader", READERS)
def test_a_long_run_of_anything_is_read_in_proportion(reader: str) -> None:
    begun = time.process_time()
    for piece in PIECES:
        READERS[reader](piece * (SIZE // len(piece)))
    assert time.process_time() - begun < CAP
