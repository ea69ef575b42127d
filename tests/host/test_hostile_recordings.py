"""Recordings that are too large or no files: one sentence, exit code 3, and no growth."""

import gzip
import os
import random
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from limited import Limited, sentence

from nettop.collect import netdev
from nettop.files import bounds
from nettop.host.archive import RecordingError, load, parse
from nettop.host.recording import Replay
from nettop.sampling.sampler import Sampler

HOST = Path(__file__).parents[1] / "hosts/guest-idle.host"
MIB = 1 << 20


def bomb(path: Path, pieces: Iterator[bytes]) -> Path:
    """A gzip file of pieces that are never in memory together."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(packer.compress(piece))
        file.write(packer.flush())
    return path


def archives(kind: str) -> Iterator[bytes]:
    """A recording that exceeds one bound, in pieces."""
    yield b"hostile\n"
    if kind == "bytes":
        yield b"-- /proc/stat --\n"
        for _ in range(300):
            yield b"cpu 1 2 3 4 5 6 7 8 9 10\n" * (MIB // 25)
    elif kind == "line":
        yield b"-- /proc/stat --\n"
        for _ in range(64):
            yield b"9" * MIB
    elif kind == "moments":
        for number in range(200_000):
            yield b"-- @%d.0 --\n-- /proc/uptime --\n%d\n" % (number, number)
    elif kind == "entries":
        for first in range(0, 2_100_000, 10_000):
            yield b"".join(b"-- /%x --\n" % n for n in range(first, first + 10_000))
    elif kind == "name":
        yield b"-- /" + b"a/" * 100_000 + b" --\n1\n"
    elif kind == "entry":
        yield b"-- /proc/stat --\n"
        for _ in range(80):
            yield b"cpu 1 2 3 4 5 6 7 8 9 10\n" * (MIB // 25)
    elif kind == "time":
        yield b"-- @" + b"9" * 400 + b".0 --\n-- /proc/stat --\n"


@pytest.mark.parametrize(
    ("kind", "say"),
    [
        ("bytes", "more than 256 MiB, the bound of a recording, unpacked"),
        ("line", "more than 1 MiB, the bound of a line"),
        ("moments", "more than 100,000 moments, the bound of a recording"),
        (
            "entries",
            "more than 2,000,000 entries, the bound of all moments of a recording together",
        ),
        ("name", "more than 4 KiB, the bound of the name of an entry of a recording"),
        ("entry", "more than 64 MiB, the bound of one entry of a recording"),
        ("time", "not a moment: `-- @9999"),
    ],
)
def test_what_exceeds_a_bound_is_one_sentence(
    kind: str, say: str, tmp_path: Path, limited: Limited
) -> None:
    path = bomb(tmp_path / "bomb.host.gz", archives(kind))
    done = limited("advise", "--replay", str(path), memory=int(1.25 * (1 << 30)))
    assert say in sentence(done)


@pytest.mark.parametrize("name", ["moments", "entries"])
def test_moments_and_entries_are_counted_before_the_first_is_built(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bounds.BOUNDS, name, bounds.Bound(3, name, "a recording", ""))
    mark = {"moments": "-- @1.0 --\n", "entries": "-- /a --\n1\n"}[name]
    with pytest.raises(RecordingError, match="not a moment"):
        parse("c\n-- @x --\n")
    with pytest.raises(RecordingError, match=f"more than 3 {name}"):
        parse("c\n-- @x --\n" + mark * 4)


@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "folder", "loop", "sparse", "kernel"])
def test_what_is_no_file_is_refused_without_waiting(
    kind: str, tmp_path: Path, limited: Limited
) -> None:
    path = tmp_path / "x.host"
    say = "not a regular file"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
        say = "No such device"
    elif kind == "folder":
        path.mkdir()
        say = "Is a directory"
    elif kind == "loop":
        path.symlink_to(path)
        say = "Too many levels of symbolic links"
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(1 << 40)
        say = "more than 256 MiB"
    else:
        path.symlink_to("/proc/self/pagemap")  # a regular file without end
        say = "more than 256 MiB"
    done = limited("advise", "--replay", str(path))
    assert say in sentence(done)


def test_every_byte_of_a_packed_recording_may_be_wrong(tmp_path: Path) -> None:
    packed = gzip.compress(HOST.read_bytes()[:40_000])
    chance = random.Random(5)
    path = tmp_path / "x.host.gz"
    outcomes = set()
    for _ in range(150):
        damaged = bytearray(packed)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.randrange(20, len(damaged) + 1)])
        try:
            Replay(load(str(path)))
            outcomes.add("read")
        except RecordingError as error:
            outcomes.add("refused")
            outcomes |= {"two lines"} if "\n" in str(error) else set()
    assert "refused" in outcomes
    assert "two lines" not in outcomes


def test_a_recording_with_the_line_ends_of_another_system_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.host"
    path.write_bytes(HOST.read_bytes().replace(b"\n", b"\r\n"))
    assert load(str(path)) == HOST.read_bytes()
    kept = b"c\n-- /etc/sysctl.conf --\na = 1\r\n"  # the host's own file has them
    path.write_bytes(kept)
    assert Replay(load(str(path))).data("/etc/sysctl.conf") == b"a = 1\r\n"


def test_a_listing_of_deep_names_costs_what_is_in_the_folder() -> None:
    deep = "".join(f"-- /a/{'b/' * 1500}{n} --\n1\n" for n in range(200))
    replay = Replay("c\n-- /a@ --\nx\n-- /a-c/d --\n1\n" + deep + "-- /a/b0 --\n1\n")
    assert replay.listing("/a") == ["b", "b0"]
    assert replay.listing("/") == ["a", "a-c"]
    assert replay.listing("/a/b/") == ["b"]
    with pytest.raises(FileNotFoundError):
        replay.listing("/a/c")


@pytest.mark.parametrize("number", ["99999", "9" * 5000, "-1", "x"])
def test_an_error_without_a_number_of_the_kernel_is_text(number: str) -> None:
    replay = Replay(f"c\n-- /a --\n!{number} no\n")
    assert replay.text("/a") == f"!{number} no\n"


def test_the_bound_of_a_file_holds_in_a_recording_too() -> None:
    line = "cpu0 1 2 3 4\n"
    replay = Replay("c\n-- /proc/stat --\n" + line * (17 * MIB // len(line)))
    frame = Sampler(replay).take(["cpu"])
    assert "more than 16 MiB" in frame.missing["cpu"]


def test_a_blank_line_in_proc_net_dev_hides_nothing() -> None:
    head = "Inter-|   Receive    |  Transmit\n face |bytes packets|bytes packets\n"
    text = f"{head}  eth0:{' 1' * 16}\n\n    lo:{' 2' * 16}\n   \n"
    assert [row.name for row in netdev.parse(text)] == ["eth0", "lo"]


def test_the_longest_line_is_found_wherever_it_stands() -> None:
    most = bounds.BOUNDS["line"].most
    for before in (0, 1, most // 2 - 1, most // 2, most - 1, 3 * most + 7):
        head = (b"x" * 99 + b"\n") * (before // 100) + b"x" * (before % 100)
        head = head[:-1] + b"\n" if head else head
        for body, fits in ((b"y" * most, True), (b"y" * (most + 1), False)):
            for tail in (b"", b"\n", b"\nz\n"):
                if fits:
                    bounds.must_have_lines(head + body + tail)
                    continue
                with pytest.raises(OSError, match="1 MiB"):
                    bounds.must_have_lines(head + body + tail)
    assert parse(b"c\n-- /a --\n")[0] == "c"
