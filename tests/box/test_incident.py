"""Incidents as files: exported as `nettop record` scrubs."""

import socket
from pathlib import Path

import pytest
from box_parts import WALL, fill, moment, opened

from nettop.box.incident import COMMENT, Incident, decode, encode, enter, save, scrubbed
from nettop.box.ring import Ring, moments
from nettop.host.archive import RecordedMoment, load, parse, written
from nettop.host.pseudonyms import Names
from nettop.host.recording import Replay
from nettop.host.scrub import scrub

TITLE = "10.20.30.40 at web7 fails"
ONE = Incident("rule", "10.20.30.40", "critical", TITLE, 5.0, WALL, "one", ("b@fe80::1234",))


def recorded(tmp_path: Path) -> Path:
    known = {
        "/proc/sys/kernel/hostname": b"web7\n",
        "/proc/net/x": b"10.20.30.40 00:16:3e:11:22:33\n",
    }
    first = RecordedMoment(1, WALL, {**known})
    second = RecordedMoment(2, WALL, {"/proc/net/x": b"10.20.99.1 web7 2001:db8::1\n"})
    path = tmp_path / "20270115T080000Z-rule.host.gz"
    assert save(path, ONE, [first, second], 1 << 20)
    return path


def test_it_reads_as_it_was_written() -> None:
    assert decode(encode(ONE)) == ONE


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"at": "x", "wall": 1}', '{"at": 1e400}', '{"at": 1, "wall": 1, "also": 3}'],
)
def test_another_text_is_an_error_of_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as raised:
        decode(text)
    assert "\n" not in str(raised.value)


def test_an_export_is_scrubbed_as_a_recording_is(tmp_path: Path) -> None:
    path, key = recorded(tmp_path), b"k" * 32
    got = "".join(scrubbed(path, Names(key)))
    raw = COMMENT.decode() + "".join(
        written(one).decode("utf-8", "surrogateescape") for one in moments(path)
    )
    assert got == scrub(raw, Names(key))
    for secret in ("10.20.30", "10.20.99", "web7", "00:16:3e", "2001:db8::1", "fe80::1234"):
        assert secret not in got


def test_the_first_byte_of_an_address_stays_and_common_prefixes_stay_common(
    tmp_path: Path,
) -> None:
    """The bits that `host/pseudonyms` keeps: 8 of IPv4; equal prefixes stay equal, as long."""
    got = "".join(scrubbed(recorded(tmp_path), Names(b"k" * 32)))
    bodies = [one.changed["/proc/net/x"] or b"" for one in parse(got)[1]]
    one, two = (socket.inet_aton(body.split()[0].decode()) for body in bodies)
    assert one[0] == two[0] == 10
    assert one[1] == two[1]
    differ = int.from_bytes(one, "big") ^ int.from_bytes(two, "big")
    assert differ.bit_length() == (30 ^ 99).bit_length() + 8
    first = parse(got)[1][0].changed["nettop/incident"]
    assert decode(first or b"").target == socket.inet_ntoa(one)


def test_the_recording_opens_at_the_moment_it_began(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    fill(Ring(folder), 0, 200, every=50)
    incident = Incident("rule", "eth0", "critical", "", 150.0, WALL + 150, "one")
    kept = [one for path in folder.segments() for one in moments(path)]
    path = tmp_path / "20270115T080000Z-rule.host.gz"
    assert save(path, incident, kept[:1] + kept[1:], 1 << 20)
    replay = Replay(load(str(path)), pace=1.0, loop=True)
    enter(replay)
    assert (replay.now(), replay.opening) == (90.0, True)
    for at in range(91, 151):  # without lingering
        assert replay.wait(1.0)
        assert replay.now() == at
    assert replay.text("/proc/stat") == "150\n"


def test_the_first_line_says_what_it_is(tmp_path: Path) -> None:
    assert load(str(recorded(tmp_path))).startswith(COMMENT)


def test_nothing_is_left_where_it_takes_too_much(tmp_path: Path) -> None:
    assert not save(tmp_path / "a.host.gz", ONE, [moment(1)], 4096)
    assert not save(tmp_path / "a.host.gz", ONE, [], 1 << 20)
    assert list(tmp_path.iterdir()) == []
