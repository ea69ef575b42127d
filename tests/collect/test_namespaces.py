"""Other network namespaces: which are looked at, their names, and what cannot be read."""

from pathlib import Path

import pytest

from nettop.collect import Memory, namespaces, netns_tcp, netns_udp
from nettop.frame.rates import Partly
from nettop.host.netlink.codec import Request, Space
from nettop.host.source import Live

HOST, POD, NAMED = 4026531833, 4026532179, 4026532250
CONTAINER = "3f2a91b0c1d2" + "e" * 52
UDP = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"  # fmt: skip  # noqa: E501
SOCKET = (
    "  1: 00000000:0035 00000000:0000 07 00000000:00000010 00:00000000 00000000 0 0 {} 2 0 {}\n"
)


class Closed(Live):
    """A directory in which the namespaces of some processes may not be read or entered."""

    closed: frozenset[str] = frozenset()

    def link(self, path: str) -> str:
        if path.split("/")[2] in self.closed:
            raise PermissionError(13, "Permission denied", path)
        return super().link(path)

    def netlink(self, request: Request) -> bytes:
        assert request.space is not None
        raise PermissionError(1, "Operation not permitted")


def host(folder: Path, spaces: dict[str, int]) -> Closed:
    """Processes by number, each in a namespace; `self` is the one that looks."""
    for pid, inode in spaces.items():
        place = folder / "proc" / pid / "ns"
        place.mkdir(parents=True)
        (place / "net").symlink_to(f"net:[{inode}]")
    return Closed(str(folder))


def write(folder: Path, path: str, text: str) -> None:
    file = folder / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_each_namespace_is_named_as_people_know_it(tmp_path: Path) -> None:
    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD, "21": POD, "30": NAMED})
    write(tmp_path, "/proc/20/cgroup", f"0::/kubepods/burstable/pod1/{CONTAINER}\n")
    write(tmp_path, "/proc/20/root/etc/hostname", "web-7f\n")
    write(tmp_path, "/proc/self/mountinfo",
          f"30 1 0:4 net:[{NAMED}] /run/netns/blue rw - nsfs nsfs rw\n")  # fmt: skip
    rows = namespaces.update(source, {})
    assert list(rows) == [
        namespaces.Row(POD, "web-7f", 20, 2), namespaces.Row(NAMED, "blue", 30, 1, mounted=True),
    ]  # fmt: skip
    assert not isinstance(rows, Partly)


@pytest.mark.parametrize(
    ("cgroup", "name"),
    [
        (f"0::/system.slice/docker-{CONTAINER}.scope", "3f2a91b0c1d2"),
        (f"4:cpu:/docker/{CONTAINER}", "3f2a91b0c1d2"),
        ("0::/lxc.payload.blue/init.scope", "blue"),
        ("0::/system.slice/unbound.service", "unbound"),
        ("0::/user.slice/session-3.scope", f"net:[{POD}]"),
    ],
)
def test_a_namespace_without_mount_and_host_name(tmp_path: Path, cgroup: str, name: str) -> None:
    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD})
    write(tmp_path, "/proc/20/cgroup", f"{cgroup}\n")
    assert [row.name for row in namespaces.update(source, {})] == [name]


def test_the_container_of_nettop_itself_names_no_namespace(tmp_path: Path) -> None:
    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD})
    for pid in ("20", "self"):
        write(tmp_path, f"/proc/{pid}/cgroup", f"0::/docker/{CONTAINER}\n")
    write(tmp_path, "/proc/20/root/etc/hostname", "vm\n")
    assert [row.name for row in namespaces.update(source, {})] == [f"net:[{POD}]"]


def test_who_is_in_a_namespace_of_its_own_looks_at_that(tmp_path: Path) -> None:
    source = host(tmp_path, {"self": POD, "1": HOST, "20": POD, "30": NAMED})
    memory: Memory = {}
    assert namespaces.update(source, memory) == []
    assert netns_tcp.update(source, memory) == []


def test_the_unseen_are_counted(tmp_path: Path) -> None:
    source = host(tmp_path, {"self": HOST, "1": HOST, "2": HOST, "20": POD, "21": POD, "9": HOST})
    source.closed = frozenset({"1", "9"})
    memory: Memory = {}
    rows = namespaces.update(source, memory)
    assert isinstance(rows, Partly)
    assert rows.why == "the network namespaces of 2 processes cannot be read"
    assert [row.inode for row in rows] == [POD]


def test_a_namespace_that_cannot_be_entered_is_counted_with_its_processes(tmp_path: Path) -> None:
    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD, "21": POD, "30": NAMED})
    memory: Memory = {}
    namespaces.update(source, memory)
    rows = netns_tcp.update(source, memory)
    assert isinstance(rows, Partly)
    assert rows.why.startswith("2 network namespaces with 3 processes cannot be entered: ")


def test_too_many_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "MOST", 1)
    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD, "21": POD, "30": NAMED})
    rows = namespaces.update(source, {})
    assert [row.inode for row in rows] == [POD]
    assert isinstance(rows, Partly)
    assert rows.why == "1 more network namespaces, with 1 processes, are not read"


def test_udp_sockets_of_a_namespace_and_none_of_a_number_used_again(tmp_path: Path) -> None:
    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD})
    write(tmp_path, "/proc/20/net/udp", UDP + SOCKET.format(77, 5))
    memory: Memory = {}
    namespaces.update(source, memory)
    assert netns_udp.update(source, memory) == [
        netns_udp.Row(POD, 77, "0.0.0.0", 53, 16, 5, "0.0.0.0"),
    ]
    link = tmp_path / "proc/20/ns/net"
    link.unlink()
    link.symlink_to(f"net:[{HOST}]")
    assert netns_udp.update(source, memory) == []


def test_a_namespace_without_connections_is_asked_now_and_then(tmp_path: Path) -> None:
    asked: list[Request] = []

    class Asked(Closed):
        def netlink(self, request: Request) -> bytes:
            asked.append(request)
            return b""

    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD})
    memory: Memory = {}
    namespaces.update(source, memory)
    for _ in range(8):
        netns_tcp.update(Asked(source.root), memory)
    assert len(asked) == 2


def test_a_question_names_its_namespace(tmp_path: Path) -> None:
    asked: list[Request] = []

    class Asked(Closed):
        def netlink(self, request: Request) -> bytes:
            asked.append(request)
            return b""

    source = host(tmp_path, {"self": HOST, "1": HOST, "20": POD})
    memory: Memory = {}
    namespaces.update(source, memory)
    netns_tcp.update(Asked(source.root), memory)
    assert [(one.name, one.space) for one in asked] == [
        (f"sock_diag/tcp@{POD}", Space("/proc/20/ns/net", POD))
    ]
