"""Scrubbing: nothing of the host's identity is left, and what belonged together still does."""

import base64
import ipaddress
import struct

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.host.netlink.codec import Request
from nettop.host.pseudonyms import Names
from nettop.host.recording import Replay
from nettop.host.scrub import DAMAGED, scrub, scrubbed

KEY = b"k" * 32


def common(a: bytes, b: bytes) -> int:
    x, y = (int.from_bytes(v, "big") for v in (a, b))
    return len(a) * 8 - (x ^ y).bit_length()


def archive() -> str:
    message = struct.pack("=IHHII", 16 + 16 + 12 + 8, 16, 0, 1, 0) + bytes(16)
    message += struct.pack("=HH", 10, 1) + bytes.fromhex("525400123456") + b"\0\0"
    message += struct.pack("=HH", 8, 3) + b"eth\0"
    diag = struct.pack("=IHHII", 16 + 72, 20, 0, 1, 0) + struct.pack(
        "=BBBBHH16s16s32s", 2, 1, 0, 0, 1, 2, bytes([10, 1, 2, 3]), bytes([10, 1, 2, 9]), bytes(32)
    )
    return "\n".join(
        [
            "Recorded on build7.",
            "-- /proc/sys/kernel/hostname --",
            "build7.example.org",
            "-- /proc/net/arp --",
            "10.1.2.3 0x1 0x2 52:54:00:12:34:56 * eth0 fe80::5054:ff:fe12:3456 build7",
            "-- /proc/net/udp --",
            " 5: 0302010A:0035 00000000:0000 07",
            "-- /proc/cmdline --",
            "root=UUID=abc intel_iommu=on secret=1",
            "-- netlink/route/links --",
            base64.b64encode(message).decode(),
            "-- netlink/sock_diag/tcp4 --",
            base64.b64encode(diag).decode(),
            "",
        ]
    )


def test_nothing_of_the_host_is_left_and_it_still_joins() -> None:
    clean = scrub(archive(), Names(KEY))
    for word in ("build7", "52:54:00:12:34:56", "10.1.2.3", "5054", "0302010A", "UUID", "secret"):
        assert word not in clean, word
    replay = Replay(clean)
    assert replay.text("/proc/cmdline").split()[1] == "intel_iommu=on"
    arp = replay.text("/proc/net/arp").split()
    diag = base64.b64decode(replay._body("netlink/sock_diag/tcp4"))
    there = ipaddress.ip_address(diag[24:28])
    assert str(there) == arp[0]
    assert common(diag[24:28], diag[40:44]) == common(bytes([10, 1, 2, 3]), bytes([10, 1, 2, 9]))
    assert bytes.fromhex(arp[3].replace(":", "")) in base64.b64decode(
        replay._body("netlink/route/links")
    )
    hexed = bytes.fromhex(replay.text("/proc/net/udp").split()[1].split(":")[0])
    assert hexed[::-1] == diag[24:28]


def attribute(number: int, value: bytes) -> bytes:
    whole = struct.pack("=HH", len(value) + 4, number) + value
    return whole + bytes(-len(whole) % 4)


def answer(kind: int, head: int, attributes: bytes, name: str = "route/links") -> bytes:
    """A message of a netlink answer, as a scrubbed recording has it."""
    message = struct.pack("=IHHII", 16 + head + len(attributes), kind, 0, 1, 0)
    data = message + (b"\x02" + bytes(head - 1)) + attributes
    text = f"c\n-- netlink/{name} --\n{base64.b64encode(data).decode()}\n"
    clean = base64.b64decode(Replay(scrub(text, Names(KEY)))._body(f"netlink/{name}"))
    assert len(clean) == len(data)
    return clean[16 + head :]


PEER, MAC = bytes([10, 1, 2, 3]), bytes.fromhex("525400123456")


def info(kind: bytes, data: bytes, port: bytes = b"", of_port: bytes = b"") -> bytes:
    inner = attribute(1, kind + b"\0") + attribute(0x8002, data)
    if port:
        inner += attribute(4, port + b"\0") + attribute(0x8005, of_port)
    return attribute(18, inner)


@folded(
    "link",
    [
        info(b"vxlan", attribute(1, b"\x2a\0\0\0") + attribute(2, PEER) + attribute(4, PEER)),
        info(b"gre", attribute(6, PEER) + attribute(7, PEER)),
        info(b"bridge", attribute(11, b"\x80\0" + MAC)),
        info(b"veth", b"", b"bridge", attribute(13, b"\x80\0" + MAC)),
        info(b"veth", b"", b"bond", attribute(4, MAC)),
        info(b"bond", attribute(8, attribute(0, PEER)) + attribute(23, attribute(5, MAC))),
        info(b"of a later kernel", attribute(1, PEER + MAC)),
        info(b"veth", b"", b"of a later kernel", attribute(1, PEER + MAC)),
        attribute(20, b"rack seven of somebody\0"),
        attribute(36, MAC),
        attribute(1, bytes(4) + MAC + MAC + bytes(4)),  # InfiniBand
        attribute(18, b"\xff" + PEER + MAC + bytes(1)),  # damaged
    ],
)
def test_addresses_within_links_are_replaced(link: bytes) -> None:
    clean = answer(16, 16, link)
    assert clean != link
    for word in (PEER, MAC, b"somebody"):
        assert word not in clean


def test_what_says_nothing_of_a_link_stays() -> None:
    link = info(b"vlan", attribute(1, b"\x2a\0") + attribute(2, PEER)) + attribute(4, PEER)
    assert answer(16, 16, link) == link


def test_next_hops_are_replaced_as_their_neighbours_are() -> None:
    hop = attribute(5, PEER)
    hops = b"".join(
        struct.pack("=HBBi", 8 + len(inner), 0, 0, 7) + inner
        for inner in (hop, attribute(18, b"\x02\0" + PEER))
    )
    clean = answer(24, 12, attribute(9, hops) + attribute(18, b"\x02\0" + PEER), "route/routes4")
    there = Names(KEY).address(PEER)
    assert PEER not in clean
    assert clean.count(there) == 3
    assert answer(24, 12, attribute(9, b"\xff\xff" + PEER)) == attribute(9, bytes(6))


def test_addresses_of_ipv6_sockets_are_replaced_and_nothing_beside_them() -> None:
    ends = [bytes.fromhex(f"20010db8{n:024x}") for n in (1, 2)]
    head = struct.pack("=BBBBHH16s16s32s", 10, 1, 0, 0, 1, 2, *ends, b"\xff" * 32)
    data = struct.pack("=IHHII", 16 + len(head), 20, 0, 1, 0) + head
    text = f"c\n-- netlink/sock_diag/tcp6 --\n{base64.b64encode(data).decode()}\n"
    clean = base64.b64decode(Replay(scrub(text, Names(KEY)))._body("netlink/sock_diag/tcp6"))
    names = Names(KEY)
    assert clean[24:56] == b"".join(map(names.address, ends))
    assert (clean[:24], clean[56:]) == (data[:24], data[56:])


def test_keys_of_connections_are_not_kept() -> None:
    clean = answer(20, 72, attribute(18, b"secret") + attribute(4, b"cubic\0"), "sock_diag/tcp4")
    assert clean == attribute(18, bytes(6)) + attribute(4, b"cubic\0")


def test_a_mac_address_in_a_name_is_replaced_as_the_address_is() -> None:
    name = "enx" + MAC.hex()
    text = f"""c
-- /proc/interrupts --
 25: 7 PCI-MSI 1-edge {name}-rx-0
-- /sys/class/net/ --
{name}
{name}.5
-- /sys/class/net/{name}/address --
{MAC.hex(":")}
-- netlink/ethtool/rings/{name} --
{base64.b64encode(name.encode()).decode()}
"""
    clean = scrub(text, Names(KEY))
    assert MAC.hex() not in clean
    replay = Replay(clean)
    new, tagged = replay.listing("/sys/class/net")
    assert tagged == new + ".5"
    assert "enx" + replay.text(f"/sys/class/net/{new}/address").strip().replace(":", "") == new
    assert replay.text("/proc/interrupts").endswith(f"{new}-rx-0\n")
    assert base64.b64decode(replay._body(f"netlink/ethtool/rings/{new}")).decode() == new


def test_a_recording_in_pieces_is_scrubbed_as_a_whole_one() -> None:
    whole = archive() + "-- @1.0 --\n-- /proc/net/arp --\n10.1.2.3 build7 build8\n"
    renamed = "-- @2.0 --\n-- /proc/sys/kernel/hostname --\nbuild8\n-- /a --\nbuild7 build8\n"
    names = Names(KEY)
    cut = whole.index("-- @1.0")
    pieces = scrub(whole[:cut], names) + scrub(whole[cut:], names)
    assert pieces == scrub(whole, Names(KEY))
    assert scrub(renamed, names).endswith("-- /a --\nhost host\n")


def test_what_people_wrote_and_installed_is_not_kept() -> None:
    lines = "# for the shop\nnet.core.somaxconn = 5\n ; of somebody\n"
    text = f"c\n-- /etc/ --\nshop.conf\n-- /etc/sysctl.d/9.conf --\n{lines}"
    replay = Replay(scrub(text, Names(KEY)))
    assert replay.listing("/etc") == []
    assert replay.text("/etc/sysctl.d/9.conf") == "#\nnet.core.somaxconn = 5\n ;\n"


def test_names_of_hosts_are_not_kept() -> None:
    lines = "# ours\n 10.1.2.3\tdb.corp.test db # old\n\nfe80.corp.test\n"
    for path in ("/etc/hosts", "/proc/7/root/etc/hosts"):
        words = Replay(scrub(f"c\n-- {path} --\n{lines}", Names(KEY))).text(path).split()
        (address,) = (one for one in words if one != "name")
        assert words[words.index(address) + 1] == "name"
        assert ipaddress.ip_address(address) != ipaddress.ip_address("10.1.2.3")
        assert "corp" not in scrub(f"c\n-- {path} --\n{lines}", Names(KEY))


def test_versions_and_counters_stay() -> None:
    text = "c\n-- /proc/interrupts --\n 12: 1.2.3.4\n-- /proc/version --\n6.1.0-56\n"
    assert scrub(text, Names(KEY)) == text


@folded(
    ("address", "kept"),
    [
        ("10.1.2.3", 8), ("192.168.77.5", 8), ("203.0.113.9", 8),
        ("2001:db8:1:2::5", 16), ("fd00:1234:5678::9", 16), ("fe80::5054:ff:fe12:3456", 64),
    ],
)  # fmt: skip
def test_of_an_address_only_its_kind_is_kept(address: str, kept: int) -> None:
    """Over many keys some differ in the first bit that must not stay; so no more is kept."""
    packed = ipaddress.ip_address(address).packed
    shared = [common(packed, Names(bytes([key])).address(packed)) for key in range(64)]
    assert min(shared) == kept


def test_of_the_mounts_only_network_namespaces_are_kept_without_their_names() -> None:
    text = (
        "30 1 0:4 net:[4026532250] /run/netns/customer rw - nsfs nsfs rw\n"
        "31 1 8:1 / /srv/customer rw - ext4 /dev/sda1 rw\n"
    )
    archive = f"a comment\n-- @0.000 wall 1.0 --\n-- /proc/self/mountinfo --\n{text}"
    found = scrub(archive)
    assert "customer" not in found
    assert "0 0 0:4 net:[4026532250] /run/netns/space0\n" in found


def test_an_ipv4_address_in_an_ipv6_socket_has_the_same_replacement() -> None:
    names, mapped = Names(KEY), bytes(10) + b"\xff\xff"
    for last in (1, 2, 77):
        plain = bytes([10, 1, 2, last])
        assert names.address(mapped + plain) == mapped + names.address(plain)
        assert names.address(plain) != plain


def test_what_was_asked_apart_is_scrubbed_too() -> None:
    clean = scrub(archive().replace("-- netlink/sock", "-- close/there/netlink/sock"), Names(KEY))
    plain = scrub(archive(), Names(KEY))
    assert clean == plain.replace("-- netlink/sock", "-- close/there/netlink/sock")


def test_numbers_with_dots_that_are_no_address_stay() -> None:
    text = "-- /proc/version --\nLinux version 6.1.0 (gcc 12.2.0.300) 10.1.2.3\n"
    clean = scrub(text, Names(KEY))
    assert "12.2.0.300" in clean
    assert "10.1.2.3" not in clean


@folded(("target", "left"), [
    ("socket:[5]", "socket:[5]"), ("pipe:[7]", "pipe:[7]"), ("/home/eve/plan.txt", "/file"),
    ("/dev/sda", "/dev/file"), ("/dev/net/tun", "/dev/net/tun"), ("/dev/fuse", "/dev/fuse"),
    ("anon_inode:[eventpoll]", "file"), ("plan (deleted)", "file"),
])  # fmt: skip
def test_of_an_open_file_only_its_kind_is_left(target: str, left: str) -> None:
    assert scrub(f"c\n-- /proc/9/fd/3@ --\n{target}\n").endswith(f"@ --\n{left}\n")


def test_of_the_mounts_of_a_process_number_device_and_type_are_left() -> None:
    mount = "41 28 0:38 /export /srv/eve rw,noatime shared:9 - nfs4 filer:/eve rw,addr=10.0.0.9"
    left = scrub(f"c\n-- /proc/9/mountinfo --\n{mount}\nnot a mount\n")
    assert left.endswith("mountinfo --\n41 0 0:38 / / - nfs4 none\n")


def masked(packed: bytes, length: int) -> bytes:
    whole = ipaddress.ip_network((packed, length), strict=False)
    return whole.network_address.packed


@given(
    st.tuples(st.just(10), st.integers(0, 255), st.integers(0, 3), st.integers(0, 255)).map(bytes),
    st.integers(8, 32),
)
def test_a_network_has_the_replacements_of_its_addresses(address: bytes, length: int) -> None:
    names = Names(KEY)
    network = names.network(masked(address, length), length)
    assert network == masked(names.address(address), length)


@pytest.mark.parametrize("length", [16, 24, 30])
def test_a_route_still_leads_to_the_addresses_behind_it(length: int) -> None:
    own = bytes([10, 14, 0, 2])
    for kind, number in ((24, 0), (24, 1), (32, 0), (32, 1)):
        head = bytearray(b"\x02" + bytes(11))
        head[1 + number] = length
        raw = attribute(1 + number, masked(own, length))
        message = struct.pack("=IHHII", 28 + len(raw), kind, 0, 1, 0) + bytes(head) + raw
        clean = scrubbed("netlink/route/routes4", message, Names(KEY))
        assert clean[32:36] == masked(Names(KEY).address(own), length)


@pytest.mark.parametrize("body", ["!5 Input/output error\n", "AAAAA\n", "A\n"])
def test_of_an_answer_that_is_damaged_nothing_is_kept(body: str) -> None:
    made = scrub(f"c\n-- netlink/route/links --\n{body}")
    assert made == f"c\n-- netlink/route/links --\n{body if body[0] == '!' else DAMAGED}"
    with pytest.raises(OSError, match=r"Bad message|Input/output error"):
        Replay(made).netlink(Request("route", 18, b"", "route/links"))


def test_the_names_of_unix_sockets_and_control_groups_are_private() -> None:
    body = (
        "3.000\nsendto;peer=82,/home/joe/x.sock; EAGAIN 4 7 here unix - app\n"
        "bind;;own@/user.slice/joe,other@/ EPERM 4 7 here - - app\n"
    )
    scrubbed = scrub(f"-- bpf/calls --\n{body}")
    assert "joe" not in scrubbed
    assert "sendto;peer=82,/file; EAGAIN" in scrubbed
    assert "bind;;own@/group,other@/group EPERM" in scrubbed


def test_groups_are_replaced_as_where_packets_go() -> None:
    """The number of IPv4 is in the order of a little-endian host."""
    groups = {
        "/proc/net/igmp": "\t\t\t\t0203010A     1 0:00000000\t\t0\n",
        "/proc/net/igmp6": "2 eth0 20010db8000000000000000000000001 1 00000004 0\n",
    }
    text = "c\n" + "".join(f"-- {name} --\n{body}" for name, body in groups.items())
    names = Names(KEY)
    replay = Replay(scrub(text, names))
    four = bytes.fromhex(replay.text("/proc/net/igmp").split()[0])[::-1]
    assert four == names.address(bytes([10, 1, 3, 2]))
    six = ipaddress.ip_address(bytes.fromhex(replay.text("/proc/net/igmp6").split()[2]))
    assert six.packed == names.address(ipaddress.ip_address("2001:db8::1").packed)
