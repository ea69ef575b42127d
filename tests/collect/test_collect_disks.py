"""What the devices do for which programs wait: their lines, and no reading without one."""

from pathlib import Path

import pytest
from waiting_programs import call, memory_of, process

from nettop.collect import disks, waits
from nettop.collect._descriptors import Known
from nettop.collect._table import recall
from nettop.host.source import Live

TEXT = """\
   8       0 sda 100 4 2000 50 40 3 800 120 2 900 1700 0 0 0 0 7 9
   8       1 sda1 1 0 8 1 0 0 0 0 0 1 1
 254       0 vda 1 2
odd
"""


def test_a_line_is_a_device_or_a_partition_with_its_times_in_seconds() -> None:
    first, second = disks.parse(TEXT)
    assert (first.device, first.name) == ("8:0", "sda")
    assert (first.reads, first.read, first.reading) == (100, 1_024_000, 0.05)
    assert (first.writes, first.written, first.writing) == (40, 409_600, 0.12)
    assert (first.busy, first.queued) == (0.9, 1.7)
    assert second.device == "8:1"


def test_only_devices_for_which_a_program_waits_are_read(tmp_path: Path) -> None:
    process(tmp_path, 7, "nc", call(0, 3), state="D", files=[(3, "/data/big", "0100000")])
    memory, source = memory_of(tmp_path, 7), Live(str(tmp_path))
    assert disks.update(source, memory) == []  # there is no such file: it is not opened
    (row,) = waits.update(source, memory)
    assert recall(memory, Known).devices == {row.device}
    other = TEXT.replace("8       0", row.device.replace(":", " "))
    (tmp_path / "proc/diskstats").write_text(TEXT + other)
    assert [one.device for one in disks.update(source, memory)] == [row.device]
    with pytest.raises(OSError, match="proc"):
        disks.update(Live(str(tmp_path / "none")), {})
