"""Rings, coalescing, pause, channels, features and RSS on a card that is played by its messages."""

import errno
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fake_host
import pytest

from nettop import settings
from nettop.changes import Change, plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.host.netlink import ethtool
from nettop.host.netlink.codec import HEADER, NESTED, Request, attribute, attributes, decode, encode
from nettop.host.source import Live
from nettop.settings import Host

QUIET = Terms(confirm=0)
FEATURES = ("tx-checksum-ipv4", "tx-scatter-gather", "tx-tcp-segmentation", "rx-gro", "highdma")
NAMED = {m.get: name for name, m in ethtool.MESSAGES.items()}
PUT = {m.put: name for name, m in ethtool.MESSAGES.items() if m.put}


@dataclass
class Card(Live):
    """eth0: rounds rings to powers of two, moves delays while adaptive, ties TSO to checksums."""

    place: str
    state: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "rings": {"rx_max": 4096, "tx_max": 4096, "rx": 256, "tx": 256},
            "coalesce": {"rx_usecs": 3, "rx_max_frames": 0, "use_adaptive_rx": 0},
            "pause": {"autoneg": 1, "rx": 1, "tx": 1},
            "channels": {"combined_max": 8, "combined_count": 8},
        }
    )
    wanted: int = 0b11111
    order: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    table: tuple[int, ...] = tuple(i % 8 for i in range(16))
    key: bytes = bytes(range(40))
    rules: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.place)

    @property
    def active(self) -> int:
        """Segmentation needs scatter-gather, which needs checksums."""
        on = self.wanted
        if not on & 1:
            on &= ~0b110
        if not on & 2:
            on &= ~0b100
        return on

    def netlink(self, request: Request) -> bytes:
        if request.kind == 1:
            return self._strings()
        what = NAMED[request.kind]
        if what == "features":
            bits = {"hw": 0b01111, "wanted": self.wanted, "active": self.active, "nochange": 0}
            body = b"".join(
                attribute(n | NESTED, attribute(2, struct.pack("=I", 5))
                          + attribute(4, struct.pack("=I", bits[f.name])))
                for n, f in ethtool.MESSAGES[what].table.items()
            )  # fmt: skip
        elif what in self.state:
            body = encode(ethtool.MESSAGES[what].table, self.state[what])
        else:
            raise OSError(95, "Operation not supported")
        return self._message(attribute(1 | NESTED, attribute(2, b"eth0\0")) + body)

    def _message(self, body: bytes) -> bytes:
        return HEADER.pack(20 + len(body), 20, 0, 0, 0) + bytes(4) + body

    def _strings(self) -> bytes:
        each = b"".join(
            attribute(1 | NESTED, attribute(1, struct.pack("=I", i))
                      + attribute(2, n.encode() + b"\0"))
            for i, n in enumerate(FEATURES)
        )  # fmt: skip
        one = attribute(1, struct.pack("=I", 4)) + attribute(3 | NESTED, each)
        return self._message(attribute(2 | NESTED, attribute(1 | NESTED, one)))

    def change(self, kind: int, body: bytes) -> None:
        what = PUT[kind]
        if what == "features":
            self._features(body)
            return
        told = decode(body, 0, len(body), ethtool.MESSAGES[what].table)
        self.order.append((what, told))
        now = self.state[what]
        for name, value in told.items():
            if name not in now:
                raise OSError(22, "cannot modify an unsupported parameter")
            now[name] = 1 << (value - 1).bit_length() if what == "rings" else value
        if told.get("use_adaptive_rx"):
            now["rx_usecs"] = 77
        if "combined_count" in told:
            self.table = tuple(i % told["combined_count"] for i in range(16))

    def _features(self, body: bytes) -> None:
        for number, a, e in attributes(body, 0, len(body)):
            if number != 3:
                continue
            for kind, a2, e2 in attributes(body, a, e):
                for _bit, a3, e3 in attributes(body, a2, e2) if kind == 3 else ():
                    parts = {n: body[x:y] for n, x, y in attributes(body, a3, e3)}
                    bit = FEATURES.index(parts[2].rstrip(b"\0").decode())
                    self.wanted = self.wanted & ~(1 << bit) | (3 in parts) << bit
                    self.order.append(("features", {FEATURES[bit]: 3 in parts}))

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        command = struct.unpack_from("=I", request)[0]
        if command == 0x2D:  # GRXRINGS
            return struct.pack("=IIQ184x", command, 0, self.state["channels"]["combined_count"])
        if command == 0x46 and len(request) == 24:
            return struct.pack("=IIIIII", command, 0, len(self.table), len(self.key), 1, 0)
        if command == 0x46:
            head = struct.pack("=IIIIII", command, 0, len(self.table), len(self.key), 1, 0)
            return head + struct.pack(f"={len(self.table)}I", *self.table) + self.key
        if command == 0x47:
            entries, key = struct.unpack_from("=II", request, 8)
            rings = self.state["channels"]["combined_count"]
            if entries == 0:
                self.table = tuple(i % rings for i in range(16))
            elif entries != 0xFFFFFFFF:
                self.table = struct.unpack_from(f"={entries}I", request, 24)
            if key:
                self.key = request[-key:]
            return request
        if command in (0x2F, 0x31, 0x32):
            place = struct.unpack_from("=I", request, 176)[0]
            if command == 0x32:
                self.rules[place] = request
            elif place not in self.rules:
                raise OSError(2, "No such file or directory")
            return self.rules.pop(place) if command == 0x31 else self.rules[place]
        raise OSError(95, "Operation not supported")


class CardHost(Host):
    """A host whose changes go to the card."""

    def change(self, family: str, kind: int, body: bytes, flags: int = 0) -> None:
        assert isinstance(self.source, Card)
        self.source.change(kind, body)


@pytest.fixture
def card(tmp_path: Path) -> Card:
    fake_host.make(tmp_path / "host")
    return Card(str(tmp_path / "host"))


@pytest.fixture
def host(card: Card) -> Host:
    return CardHost(card.root, card)


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "state"))


def snapshot(card: Card) -> tuple[object, ...]:
    state = {k: dict(v) for k, v in card.state.items()}
    return state, card.wanted, card.active, card.table, card.key, dict(card.rules)


PLAYED = [
    ("ring.rx@eth0", "4096", "applied", "4096"),
    ("ring.tx@eth0", "1000", "rounded", "1024"),
    ("coalesce.rx-usecs@eth0", "50", "applied", "50"),
    ("coalesce.adaptive-rx@eth0", "on", "applied", "on"),
    ("pause.rx@eth0", "off", "applied", "off"),
    ("channels.combined@eth0", "4", "applied", "4"),
    ("feature.tx-checksum-ipv4@eth0", "off", "applied", "off"),
    ("feature.rx-gro@eth0", "off", "applied", "off"),
    ("rss.table@eth0", "equal 2", "applied", "equal 2"),
    ("rss.table@eth0", ",".join("0011223344556677"), "applied", ",".join("0011223344556677")),
    (
        "ntuple.rule@eth0/7",
        "tcp4 src-ip 192.0.2.1 dst-port 5001 queue 2",
        "applied",
        "tcp4 src-ip 192.0.2.1 dst-port 5001 queue 2",
    ),
    (
        "ntuple.rule@eth0/0",
        "udp6 dst-ip 2001:db8::1 drop",
        "applied",
        "udp6 dst-ip 2001:db8::1 drop",
    ),
    ("rss.key@eth0", ":".join(["6d"] * 40), "applied", ":".join(["6d"] * 40)),
]


@pytest.mark.parametrize(("setting", "value", "state", "after"), PLAYED)
def test_apply_then_undo_leaves_the_card_as_it_was(
    card: Card, host: Host, book: Journal, setting: str, value: str, state: str, after: str
) -> None:
    before = snapshot(card)
    (made,) = apply(plan.plan([(setting, value)], card), host, book, QUIET)
    assert (made.state, made.after) == (state, after), made
    assert snapshot(card) != before
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "undone", back
    assert snapshot(card) == before


def test_a_steering_rule_is_a_struct_of_ethtool(card: Card, host: Host, book: Journal) -> None:
    apply(plan.plan([("ntuple.rule@eth0/7", "tcp4 dst-port 5001 queue 2")], card), host, book)
    # flow_type; pdst of struct ethtool_tcpip4_spec in h_u and m_u; ring_cookie, location
    found = struct.unpack_from("=16xI10x2s70x2s64xQI", card.rules[7])
    assert found == (1, struct.pack(">H", 5001), b"\xff\xff", 2, 7)


def test_what_falls_with_a_feature_comes_back(card: Card, host: Host, book: Journal) -> None:
    change = plan.plan([("feature.tx-checksum-ipv4@eth0", "off")], card)
    (made,) = apply(change, host, book, QUIET)
    assert "also moved: feature.tx-scatter-gather@eth0 on → off" in made.because
    assert dict(book.entries()[0].side_effects) == {
        "feature.rx-gro@eth0": ("on", "on"),  # an undo may move it
        "feature.tx-scatter-gather@eth0": ("on", "off"),
        "feature.tx-tcp-segmentation@eth0": ("on", "off"),
    }
    undo.undo(book, host, everything=True)
    assert card.active == 0b11111


def test_a_wish_that_waits_is_taken_back(card: Card, host: Host, book: Journal) -> None:
    card.wanted = 0b11000
    (made,) = apply(plan.plan([("feature.tx-tcp-segmentation@eth0", "on")], card), host, book)
    assert made.state == "refused"
    assert card.wanted == 0b11000


def test_features_and_pause_are_written_in_the_order_that_works(
    card: Card, host: Host, book: Journal
) -> None:
    card.wanted = 0b11000
    names = ["tx-tcp-segmentation", "tx-checksum-ipv4", "tx-scatter-gather"]
    made = apply(plan.plan([(f"feature.{n}@eth0", "on") for n in names], card), host, book, QUIET)
    assert [r.state for r in made] == ["applied"] * 3
    off = [("pause.tx@eth0", "off"), ("pause.rx@eth0", "off"), ("pause.autoneg@eth0", "off")]
    apply(plan.plan(off, card), host, book, QUIET)
    pause = [next(iter(told)) for what, told in card.order if what == "pause"]
    assert pause[0] == "autoneg"
    undo.undo(book, host, everything=True)
    assert card.state["pause"] == {"autoneg": 1, "rx": 1, "tx": 1}
    assert card.wanted == 0b11000


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("ring.rx@eth0", "8192", "cannot exceed 4096 .the driver's limit"),
        ("ring.rx-jumbo@eth0", "512", "no rx-jumbo ring"),
        ("coalesce.tx-usecs@eth0", "5", "has no tx-usecs"),
        ("channels.combined@eth0", "0", "cannot be below 1"),
        ("channels.rx@eth0", "4", "has no rx channels"),
        ("feature.highdma@eth0", "off", "the driver has fixed it"),
        ("feature.tso@eth0", "off", "did you mean tx-tcp-segmentation?"),
        ("privflag.x@eth0", "on", "has no privflags"),
    ],
)
def test_beyond_the_drivers_limits_nothing_is_written(
    card: Card, host: Host, setting: str, value: str, says: str
) -> None:
    with pytest.raises((ValueError, OSError, LookupError), match=says):
        plan.plan([(setting, value)], card)
    assert card.order == []


def test_what_the_card_has_no_room_for_is_refused_before_anything_is_written(
    card: Card, host: Host, book: Journal
) -> None:
    for setting, value, says in (
        ("rss.key@eth0", "aa:bb", "has 40 bytes, not 2"),
        ("rss.table@eth0", "equal 99", "receive rings 0 to 7"),
        ("rss.table@eth0", "0,1,2", "has 16 entries, not 3"),
        ("ntuple.rule@eth0/7", "tcp4 dst-port 5001 queue 8", "receive rings 0 to 7"),
    ):
        with pytest.raises(ValueError, match=says):
            plan.plan([(setting, value)], card)
        before = settings.read(card, settings.parse(setting))
        (made,) = apply([Change(setting, before, value)], host, book, QUIET)
        assert (made.state, says in made.because) == ("refused", True), made
    assert book.entries() == ()


def test_a_canonical_value_is_what_is_read(card: Card) -> None:
    for text in ("ring.rx@eth0", "coalesce.adaptive-rx@eth0", "pause.tx@eth0", "rss.table@eth0"):
        address = settings.parse(text)
        value = settings.read(card, address)
        assert settings.normal(address, value) == value


@pytest.mark.parametrize(
    "value",
    [
        "tcp4", "", "tcp4 queue", "tcp5 queue 1", "tcp4 dst-port x queue 1",
        "tcp4 dst-port 70000 drop", "tcp4 src-ip ::1 queue 1", "tcp4 vlan 3 queue 1",
        "tcp4 dst-port 1 dst-port 2 queue 1",
    ],
)  # fmt: skip
def test_a_steering_rule_that_makes_no_sense_is_refused(card: Card, value: str) -> None:
    with pytest.raises(ValueError, match=r"rule|port|address"):
        plan.plan([("ntuple.rule@eth0/1", value)], card)


def test_somebodys_own_steering_rule_is_left_alone(card: Card, host: Host) -> None:
    odd = bytearray(200)
    struct.pack_into("=I", odd, 16, 0x12)
    card.rules[3] = bytes(odd)
    with pytest.raises(ValueError, match="could not be put back"):
        plan.plan([("ntuple.rule@eth0/3", "absent")], card)


USUAL = "1,256,n_8,256,n_64,256,n_128,256,n_256,256,n"
SLOWER = "1,256,n_16,256,n_64,128,n_128,64,n_500,32,n"


@pytest.fixture
def moderated(card: Card) -> Card:
    """The card of a driver whose DIM may be set, as virtio_net's: no completions."""
    pairs = [(1, 256), (8, 256), (64, 256), (128, 256), (256, 256)]
    steps = [{"usec": usec, "packets": packets} for usec, packets in pairs]
    card.state["coalesce"]["rx_profile"] = {"steps": steps}
    return card


def test_a_profile_of_moderation_is_set_and_given_back(
    moderated: Card, host: Host, book: Journal
) -> None:
    before = snapshot(moderated)
    setting = settings.parse("coalesce.rx_profile@eth0")
    assert settings.read(moderated, setting) == USUAL
    assert settings.normal(setting, "1,256,n/a_08,256,N") == "1,256,n_8,256,n"
    assert settings.shell(setting, SLOWER) == f"ethtool -C eth0 rx-profile {SLOWER}"
    (made,) = apply(plan.plan([(str(setting), SLOWER)], moderated), host, book, QUIET)
    assert (made.state, made.after) == ("applied", SLOWER)
    (back,) = undo.undo(book, host, everything=True)
    assert back.state == "undone"
    assert snapshot(moderated) == before


def test_a_profile_travels_in_the_bytes_of_the_kernels_header(
    moderated: Card, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attribute 29 or 30 nests steps (1), each nests microseconds (1), packets (2), and so on."""

    def u32(number: int, value: int) -> bytes:
        return struct.pack("=HHI", 8, number, value)

    def nest(number: int, inner: bytes) -> bytes:
        return struct.pack("=HH", 4 + len(inner), number | 0x8000) + inner

    steps = nest(1, u32(1, 5) + u32(2, 9)) + nest(1, u32(1, 7) + u32(2, 4))
    sent: list[bytes] = []
    monkeypatch.setattr(moderated, "change", lambda _kind, body: sent.append(body))
    settings.write(host, settings.parse("coalesce.rx-profile@eth0"), "5,9,n_7,4,n")
    header = nest(1, struct.pack("=HH5s3x", 9, 2, b"eth0\0"))
    assert sent == [header + nest(29, steps)]
    three = nest(1, u32(1, 5) + u32(2, 9) + u32(3, 2))
    told = decode(nest(30, three), 0, len(three) + 4, ethtool.MESSAGES["coalesce"].table)
    moderated.state["coalesce"] |= told
    assert settings.read(moderated, settings.parse("coalesce.tx-profile@eth0")) == "5,9,2"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("1,256,n", "has 5 steps, not 1"),
        (SLOWER.replace("16,256,n", "16,n,n"), "step 2 of .* needs a number of packets"),
        (SLOWER.replace("500,32,n", "500,32,4"), "has no completions in rx-profile"),
        (SLOWER.replace("500", "70000"), "step 5 .* usec cannot exceed 65535"),
        ("1,256", "is five steps such as"),
        ("", "is five steps such as"),
    ],
)
def test_a_profile_the_driver_has_no_room_for_is_refused(
    moderated: Card, value: str, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        plan.plan([("coalesce.rx-profile@eth0", value)], moderated)


def test_a_kernel_without_profiles_says_so_in_one_sentence(card: Card) -> None:
    with pytest.raises(FileNotFoundError, match=r"reports no tx-profile: it needs Linux 6.11"):
        plan.plan([("coalesce.tx-profile@eth0", SLOWER)], card)


def test_a_parameter_that_the_driver_lacks_does_not_exist(card: Card) -> None:
    with pytest.raises(FileNotFoundError, match="the driver of eth0 has no") as error:
        settings.read(card, settings.parse("coalesce.tx-usecs@eth0"))
    assert error.value.errno == errno.ENOENT
