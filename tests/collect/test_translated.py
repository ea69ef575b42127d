"""/proc/net/nf_conntrack, written as the kernel writes it."""

from pathlib import Path

import pytest

from nettop.collect import translated
from nettop.host.source import Live

ENTRIES = """\
ipv4     2 tcp      6 117 SYN_SENT src=10.9.0.3 dst=198.51.100.1 sport=41000 dport=80 \
[UNREPLIED] src=10.9.0.2 dst=10.9.0.3 sport=8080 dport=41000 mark=0 zone=0 use=2
ipv4     2 udp      17 29 src=10.1.0.2 dst=10.96.0.10 sport=40001 dport=8125 packets=7 bytes=70 \
src=10.9.0.2 dst=10.1.0.2 sport=8125 dport=40001 packets=1 bytes=9 [ASSURED] mark=0 use=2
ipv6     10 tcp      6 431999 ESTABLISHED src=fd00:0000:0000:0000:0000:0000:0000:0002 \
dst=fd00:0000:0000:0000:0000:0000:0000:0001 sport=5 dport=22 src=fd00::1 dst=fd00::2 sport=22 \
dport=5 [ASSURED] mark=0 use=2
ipv4     2 icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 src=10.0.0.2 dst=10.0.0.1 \
type=0 code=0 id=1 mark=0 use=2
"""


def host(folder: Path, count: str, text: str) -> Live:
    (folder / "proc/net").mkdir(parents=True)
    (folder / "proc/sys/net/netfilter").mkdir(parents=True)
    (folder / "proc/sys/net/netfilter/nf_conntrack_count").write_text(count)
    (folder / "proc/net/nf_conntrack").write_text(text)
    return Live(str(folder))


def test_entries_with_another_destination_are_read(tmp_path: Path) -> None:
    assert translated.read(host(tmp_path, "4\n", ENTRIES)) == [
        translated.Row("tcp", "10.9.0.3", 41000, "198.51.100.1", 80, "10.9.0.2", 8080, "10.9.0.3",
                       answered=False),
        translated.Row("udp", "10.1.0.2", 40001, "10.96.0.10", 8125, "10.9.0.2", 8125, "10.1.0.2",
                       answered=True),
        translated.Row("tcp", "fd00::2", 5, "fd00::1", 22, "fd00::1", 22, "fd00::2", answered=True),
    ]  # fmt: skip


@pytest.mark.parametrize("count", ["4097\n", "x\n"])
def test_a_large_table_is_not_read(tmp_path: Path, count: str) -> None:
    with pytest.raises(ValueError, match="are not read"):
        translated.read(host(tmp_path, count, ENTRIES))


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not appear"):
        translated.read(host(tmp_path, "4\n", ENTRIES.replace("10.96.0.10", "10.96.0.999")))


def test_without_the_module_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        translated.read(Live(str(tmp_path)))


def test_what_is_asked_without_an_answer_is_read_though_it_is_not_translated() -> None:
    line = ("ipv4 2 tcp 6 117 {} src=10.1.0.7 dst=192.0.2.9 sport=41000 dport=443 {}src=192.0.2.9 "
            "dst=10.1.0.7 sport=443 dport=41000 mark=0 zone=0 use=2\n")  # fmt: skip
    row, opened = translated.parse(
        line.format("SYN_SENT", "[UNREPLIED] ") + 2 * line.format("ESTABLISHED", "")
    )
    assert (row.moved, row.answered, row.returns_to) == (False, False, "10.1.0.7")
    assert (opened.moved, opened.answered) == (False, True)
