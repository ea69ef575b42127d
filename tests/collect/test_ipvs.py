"""/proc/net/ip_vs_stats, written as the kernel writes it."""

from pathlib import Path

import pytest

from nettop.collect import ipvs
from nettop.host.source import Live

STATS = """\
   Total Incoming Outgoing         Incoming         Outgoing
   Conns  Packets  Packets            Bytes            Bytes
      1F  1A2B3C4       20        123456789                0

 Conns/s   Pkts/s   Pkts/s          Bytes/s          Bytes/s
       0        0        0                0                0
"""


def host(folder: Path, text: str) -> Live:
    (folder / "proc/net").mkdir(parents=True)
    (folder / "proc/net/ip_vs_stats").write_text(text)
    return Live(str(folder))


def test_its_counts_are_hexadecimal(tmp_path: Path) -> None:
    assert ipvs.read(host(tmp_path, STATS)) == [ipvs.Row(0x1F, 0x1A2B3C4, 0x20)]


@pytest.mark.parametrize("text", ["", "a\nb\n", "a\nb\n  1 2\n", "a\nb\n 1 2 x\n"])
def test_another_format_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"no line of counts|invalid literal|not a count"):
        ipvs.read(host(tmp_path, text))


def test_without_the_module_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ipvs.read(Live(str(tmp_path)))
