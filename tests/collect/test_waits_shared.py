"""What threads wait for that other programs share: memory, an eventfd, the lock of a file."""

from pathlib import Path

import pytest
from waiting_programs import call, process, rows

from nettop.collect import _descriptors

MAPS = """\
7f00-7f90 r--s 00000000 08:01 12 /data/a large file
7fb0-ffff rw-p 00000000 00:00 0 [heap]
"""


@pytest.mark.parametrize(("arguments", "word", "found"), [
    ((202, 0x7F08, 0, 2), 0x7F08, ("/data/a large file", (8,))),
    ((202, 0x7F08, 128, 2), 0x7F08, ("", ())),  # of this program alone
    ((202, 0x7FB8, 0, 2), 0x7FB8, ("", ())),  # in no shared file
    ((26, 0x7F08), 0, ("/data/a large file", ())),  # msync()
])  # fmt: skip
def test_the_file_at_an_address_of_shared_memory_and_who_maps_it(
    tmp_path: Path, arguments: tuple[int, ...], word: int, found: tuple[str, tuple[int, ...]]
) -> None:
    for pid, maps in ((7, MAPS), (8, MAPS.replace("7f00-7f90", "1f00-1f90")), (9, "")):
        process(tmp_path, pid, "feeder", call(*arguments))
        (tmp_path / f"proc/{pid}/maps").write_text(maps)
    one = rows(tmp_path, 7)[7]
    assert (one.word, (one.object, one.holders)) == (word, found)
    assert one.device == ("8:1" if found[0] else "")


def test_who_shares_memory_of_system_v_may_raise_the_semaphore(tmp_path: Path) -> None:
    memory = "7f00-7f90 rw-s 00000000 00:01 32 /SYSV00000077 (deleted)\n"
    for pid, maps, space in ((7, memory, 1), (8, memory, 1), (9, memory, 2), (10, MAPS, 1)):
        process(tmp_path, pid, "prefork", call(65, 4, 0x7FF, 1))
        (tmp_path / f"proc/{pid}/maps").write_text(maps)
        (tmp_path / f"proc/{pid}/ns").mkdir()
        (tmp_path / f"proc/{pid}/ns/ipc").symlink_to(f"ipc:[{space}]")
    found = rows(tmp_path, 7, 10)
    assert (found[7].type, found[7].object, found[7].holders) == ("semaphore", "4", (8,))
    assert found[10].holders == ()


def test_an_eventfd_leads_to_the_program_that_has_it_as_well(tmp_path: Path) -> None:
    for pid, number in ((7, 5), (8, 5), (9, 6)):
        event = [(3, _descriptors.EVENT, "02")]
        process(tmp_path, pid, "streamer", call(0, 3), files=event)
        (tmp_path / f"proc/{pid}/fdinfo/3").write_text(f"flags:\t02\neventfd-id: {number}\n")
    found = rows(tmp_path, 7, 9)
    assert (found[7].kind, found[7].type, found[7].feeds) == ("signal", "eventfd", (8,))
    assert (found[9].kind, found[9].object) == ("lock", "6")  # its threads use it


@pytest.mark.parametrize(("lock", "holders"), [
    ("POSIX  ADVISORY  WRITE 8 fe:00:9 0 EOF", (8,)),
    ("POSIX  ADVISORY  READ 8 fe:00:9 0 EOF", ()),
    ("POSIX  ADVISORY  WRITE 7 fe:00:9 0 EOF", ()),  # its own
    ("POSIX  ADVISORY  WRITE 8 08:00:9 0 EOF", ()),  # of another device
])  # fmt: skip
def test_who_sleeps_while_others_have_locked_a_file_that_it_has_open(
    tmp_path: Path, lock: str, holders: tuple[int, ...]
) -> None:
    process(tmp_path, 7, "rows", call(230), files=[(4, "/data/rows.db", "02")])
    with (tmp_path / "proc/7/fdinfo/4").open("a") as file:
        file.write("ino:\t9\n")
    process(tmp_path, 8, "purge", call(230))
    (tmp_path / "proc/locks").write_text(f"1: {lock}\n")
    one = rows(tmp_path, 7)[7]
    assert (one.kind, one.holders) == ("timer", holders)
    assert one.object == ("/data/rows.db" if holders else "")
