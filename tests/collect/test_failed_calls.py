"""What the kernel counts of drops and failed calls: rows, facts, findings after their causes."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import drop_reasons, failed_calls
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.kinds.call import Call
from nettop.facts.kinds.drop import Drop
from nettop.frame.rates import Partly
from nettop.host.bpf import own_file, symbols
from nettop.host.bpf.btf import Types
from nettop.host.recording import Replay
from nettop.sampling.sampler import Sampler

CALLS = """3.000
connection 0 9 812 here 192.0.2.1 80 curl
connection ECONNREFUSED 27 812 here 192.0.2.1 80 curl
sendto ENETUNREACH 6 7 here 198.51.100.1 53 my resolver
sendto EPERM 6 7 elsewhere 198.51.100.1 53 other
bind EADDRINUSE 1 7 here - - my resolver
"""
DROPS = """3.000
NO_SOCKET 12 __udp4_lib_rcv here 2 udp 53
NO_SOCKET 3 __udp4_lib_rcv here - udp 54
NO_SOCKET 30 tcp_v4_rcv elsewhere - - -
SOCKET_RCVBUFF 900 udp_queue_rcv_one_skb here 2 udp 5201
OTHER 4 - unknown - - -
"""


def facts_of(**bodies: str) -> Facts:
    text = "".join(f"-- bpf/{name} --\n{body}" for name, body in bodies.items())
    sampler = Sampler(Replay(f"-- @0.000 wall 1700000000.0 --\n{text}"))
    return Joiner().build(sampler.take(["drop_reasons", "failed_calls"]))


def test_a_line_is_a_row() -> None:
    rows = failed_calls.parse(CALLS)
    assert rows[2] == failed_calls.Row(
        "sendto", "ENETUNREACH", 7, "here", "198.51.100.1", "53", "my resolver", 6, 3.0
    )
    assert rows[4].address == rows[4].port == ""
    (first, *_) = drop_reasons.parse(DROPS)
    assert first == drop_reasons.Row("NO_SOCKET", "__udp4_lib_rcv", "here", "2", "udp", "53", 12, 3)
    line = "NETFILTER_DROP 5 nft_do_chain here 2 tcp 80 10.0.0.2 40000 ::ffff:a00:1 80"
    (ends,) = drop_reasons.parse(line)
    assert (ends.source, ends.source_port, ends.to_port) == ("10.0.0.2", 40000, 80)
    assert drop_reasons.parse("NO_SOCKET 5\n") == [
        drop_reasons.Row("NO_SOCKET", "", "unknown", "", "", "", 5)
    ]


@given(st.text(), st.sampled_from((failed_calls, drop_reasons)))
def test_any_text_gives_rows_or_one_error(text: str, module: object) -> None:
    try:
        rows = module.parse(text)  # type: ignore[attr-defined]
    except ValueError:
        return
    names = "events", "packets", "seconds", "source_port", "to_port"
    assert all(getattr(row, name, 0) >= 0 for row in rows for name in names)


def test_drops_of_this_namespace_are_facts_by_reason_and_place() -> None:
    found = {one.id: one for one in facts_of(drops=DROPS).more["drop"] if isinstance(one, Drop)}
    assert set(found) == {"NO_SOCKET/__udp4_lib_rcv", "SOCKET_RCVBUFF/udp_queue_rcv_one_skb"}
    closed = found["NO_SOCKET/__udp4_lib_rcv"]
    assert (closed.packets, closed.per_s, closed.whose) == (15, 5.0, "udp port 53, udp port 54")
    assert closed.kind == "turned away"


def test_calls_of_this_namespace_are_facts_with_their_share() -> None:
    found = {one.id: one for one in facts_of(calls=CALLS).more["call"] if isinstance(one, Call)}
    assert set(found) == {
        "curl[812]/connection/ECONNREFUSED", "my resolver[7]/sendto/ENETUNREACH",
        "my resolver[7]/bind/EADDRINUSE",
    }  # fmt: skip
    refused = found["curl[812]/connection/ECONNREFUSED"]
    assert (refused.events, refused.per_s, refused.share) == (27, 9.0, 0.75)
    assert refused.to == "192.0.2.1 port 80"
    assert found["my resolver[7]/bind/EADDRINUSE"].share is None
    assert "`nettop why --to 198.51.100.1`" in found["my resolver[7]/sendto/ENETUNREACH"].advice


def test_what_has_no_words_says_its_name() -> None:
    assert drop_reasons.words("OPENVSWITCH_7").means == "Packets are dropped: OPENVSWITCH_7"
    assert failed_calls.words("sendto", "EUCLEAN").means == "A call fails: sendto, EUCLEAN"


LISTED = [
    b"ffffffff81000010 T one\n", b"ffffffff81000020 t two.isra.0\n", b"0000000000000000 T hidden\n",
    b"ffffffff81000030 T last\n", b"ffffffff81000040 T _einittext\n",
    b"ffffffffc0000000 t three\t[module]\n", b"ffffffffc0000010 t four\t[module]\n",
]  # fmt: skip
HIDDEN = b"0000000000000000 T hidden\n" * 2
PLACES = {
    0xFFFFFFFF81000010: "one", 0xFFFFFFFF8100001F: "one", 0xFFFFFFFF81000025: "two",
    0xFFFFFFFF81000031: "last", 0xFFFFFFFFC0000001: "three", 0xFFFFFFFFC0000011: "four", 1: "",
}  # fmt: skip


def test_the_functions_of_the_kernel_itself_are_read_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next counter knows them; a module may have gone, and another be in its place."""
    file = tmp_path / "kallsyms"
    monkeypatch.setattr(symbols, "_FILE", str(file))
    monkeypatch.setattr(symbols, "_PIECE", 40)  # bytes: a line is in two
    symbols.kernel.cache_clear()
    file.write_bytes(HIDDEN)
    first = symbols.Symbols()
    assert first.hidden
    first.learn([0xFFFFFFFF81000018])
    assert first.name(0xFFFFFFFF81000018) == ""
    file.write_bytes(b"".join(LISTED))
    second = symbols.Symbols()
    assert not second.hidden
    second.learn(PLACES)
    assert {place: second.name(place) for place in PLACES} == PLACES
    second.learn([0xFFFFFFFFC000000F])
    file.write_bytes(HIDDEN)  # what follows is between addresses of one function
    second.learn([0xFFFFFFFFC0000005, 0xFFFFFFFFC0000010])
    assert second.name(0xFFFFFFFFC0000005) == "three"
    assert second.name(0xFFFFFFFFC0000010) == "four"
    second.learn([0xFFFFFFFFC0000012])
    assert second.name(0xFFFFFFFFC0000012) == ""
    again = symbols.Symbols()
    again.learn([0xFFFFFFFF81000018, 0xFFFFFFFF8100002F, 0xFFFFFFFFC0000001])
    assert [again.name(0xFFFFFFFF81000018), again.name(0xFFFFFFFF8100002F)] == ["one", "two"]
    assert again.name(0xFFFFFFFFC0000001) == ""
    symbols.kernel.cache_clear()


def test_many_functions_are_found_by_address() -> None:
    """More than are packed together, and the first and last of each packet."""
    lines = [b"ffffffff81%06x t name_%d\n" % (place * 16, place) for place in range(1000)]
    known = symbols.Functions.of(lines)
    found = [known.name(0xFFFFFFFF81000000 + place * 16 + 15) for place in range(1000)]
    assert found == [f"name_{place}" for place in range(1000)]


def kernel(*, cut: int = 0) -> bytes:
    """A kernel's types: `outer` has a number and, behind a typedef and unnamed, `inner`."""
    texts = bytearray(b"\0")

    def text(word: str) -> int:
        at = len(texts)
        texts.extend(word.encode() + b"\0")
        return at

    types = [
        struct.pack("=IIII", text("int"), 1 << 24, 4, 32),  # 1
        struct.pack("=III", text("leaf"), 4 << 24 | 1, 8)  # 2
        + struct.pack("=III", text("number"), 1, 32),
        struct.pack("=III", text("leaf_t"), 8 << 24, 2),  # 3: a typedef of it
        struct.pack("=III", 0, 5 << 24 | 1, 8) + struct.pack("=III", text("deep"), 3, 0),  # 4
        struct.pack("=III", text("outer"), 4 << 24 | 2, 24)  # 5
        + struct.pack("=III", text("first"), 1, 0)
        + struct.pack("=III", 0, 4, 128),
        struct.pack("=III", 0, 13 << 24 | 3, 0) + 3 * struct.pack("=II", 0, 1),  # 6: a prototype
        struct.pack("=III", 0, 2 << 24, 6),  # 7: a pointer to it
        struct.pack("=III", text("btf_trace_drop"), 8 << 24, 7),  # 8
    ]
    body = b"".join(types)
    head = struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(body), len(body), len(texts))
    whole = head + body + bytes(texts)
    return whole[: len(whole) - cut] if cut else whole


def test_members_are_found_through_typedefs_and_structures_without_a_name() -> None:
    types = Types(kernel())
    assert types.offset("outer", "first") == 0
    assert types.offset("outer", "deep.number") == 16 + 4
    assert types.arguments("drop") == 2  # the first of the prototype is the program's own data
    for wrong in (("outer", "no"), ("nothing", "first"), ("outer", "first.more")):
        with pytest.raises(KeyError):
            types.offset(*wrong)


@given(st.binary(max_size=300) | st.integers(1, 400).map(lambda n: kernel(cut=n)))
def test_whatever_the_bytes_only_the_documented_errors_come(data: bytes) -> None:
    try:
        types = Types(data)
        types.offset("outer", "deep.number")
    except (ValueError, KeyError):
        return


def test_calls_that_are_counted_no_more_are_a_table_in_part() -> None:
    why = "the programs of this machine, in all its namespaces, make 400,000 calls a second"
    rows = failed_calls.parse(f"{CALLS}! {why}\n")
    assert isinstance(rows, Partly)
    assert (list(rows), rows.why) == (list(failed_calls.parse(CALLS)), why)


MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:41 / /srv rw shared:9 - tmpfs tmpfs rw
31 22 0:41 /in /srv/in rw - tmpfs tmpfs rw
32 22 0:5 / /proc rw - proc proc rw
"""


@pytest.mark.parametrize(("device", "path", "found"), [
    (8 << 20 | 1, "/var/a", ("/", "ext4")),
    (41, "/srv/in/a", ("/srv/in", "tmpfs")),
    (41, "/srv/inside", ("/srv", "tmpfs")),
    (41, "", ("/srv", "tmpfs")),  # its program has ended
    (5, "/proc/7/mem", ("/proc", "proc")),
    (77, "/memfd:a", ("", "")),
])  # fmt: skip
def test_where_the_file_system_of_a_failed_call_is_mounted(
    device: int, path: str, found: tuple[str, str]
) -> None:
    assert own_file.mount(MOUNTS.splitlines(), device, path) == found


@pytest.mark.parametrize(("file", "name"), [
    ("file=/srv,/srv/a", "/srv/a"),
    ("file=/srv,/srv/a%20file", "'/srv/a file'"), ("file=/srv,", "/srv"), ("file=,", "a file"),
])  # fmt: skip
def test_a_write_to_a_full_file_system_names_the_file(file: str, name: str) -> None:
    (call,) = facts_of(calls=f"3.000\nwrite;{file}; ENOSPC 1 7 here - - fetch\n").more["call"]
    assert (call.means, call.to, call.called) == (
        f"The file system of {name} is full",
        name,
        "write",
    )
    assert (call.file, call.peers) == (True, ("writer 7",))
    assert f"df -h {name}" in call.advice
