"""A far reader reads what collectors ask, and nothing else: no write, no secret, no way out."""

import ast
import re
import struct
import sys
from pathlib import Path

import pytest
from folded import folded

from nettop.host import far
from nettop.host.far import allowed
from nettop.host.netlink import driver, ethtool, legacy, netfilter, route, xfrm
from nettop.host.recording import Replay, load

FAR = Path(far.__file__).parent
FIRST = "/proc/1/root"
REQUESTS = Path(__file__).parents[1] / "golden/requests"
HOSTS = sorted((Path(__file__).parents[1] / "hosts").glob("*.host"))


@folded("path", HOSTS, ids=lambda path: path.stem)
def test_all_that_collectors_asked_of_a_recorded_host_may_be_read(path: Path) -> None:
    names = {name for moment in Replay(load(str(path))).moments for name in moment.changed}
    checked = 0
    for name in names:
        if not name.startswith("/") or name.startswith("/proc/sys/host/"):  # a scrubbed word
            continue
        data = name.encode()
        if name.endswith("/"):
            allowed.folder(data.rstrip(b"/"))
        elif name.endswith("@"):
            allowed.link(data[:-1])
        else:
            allowed.file(data)
        checked += 1
    assert checked > 50


@folded(
    "path",
    [
        "/etc/shadow", "/etc/passwd", "/proc/kmsg", "/proc/kcore", "/proc/1/environ", "/proc/1/mem",
        "/proc/1/maps", "/proc/self/environ", "/proc/1/fd/3", f"{FIRST}/etc/shadow",
        "/proc/1/cwd/x", f"{FIRST}/proc/1/environ", "/proc/1/task/1/environ", "/dev/mem",
        "/proc/sys/net/ipv4/tcp_fastopen_key", "/proc/sys/net/ipv6/conf/all/stable_secret",
        "/proc/net/rpc/nfsd.export/channel", "/sys/kernel/debug/x",
        "/sys/class/net/../../../etc/shadow", "/sys/class/net/eth0/device/../../../../etc/shadow",
        "/proc/../etc/shadow", "/proc//stat", "/proc/./stat", "proc/stat", "", "/",
        "/proc/stat\0", "/etc/sysctl.d/../shadow", "/etc/sysctl.d/a/b.conf", "/proc/stat\n",
        "/proc/net/../1/environ", "/home/a/.ssh/id_ed25519", "/var/lib/nettop/journal",
        f"{FIRST}/sys/fs/cgroup/../../../etc/shadow", "/etc/systemd/network/x.netdev",
        "/proc/sysrq-trigger", "/proc/sys/fs/binfmt_misc/status", "/run/user/0/bus",
    ],
)  # fmt: skip
def test_a_path_that_is_not_on_the_list_is_refused(path: str) -> None:
    with pytest.raises(PermissionError):
        allowed.file(path.encode())
    if not path.startswith("/proc/sys/net/"):  # a file there is no directory
        with pytest.raises(PermissionError):
            allowed.folder(path.encode())
    if path != "/proc/1/fd/3":  # where it points is not what it holds
        with pytest.raises(PermissionError):
            allowed.link(path.encode())


@folded(
    "path",
    ["/proc/1/io", "/proc/1/task/2/syscall", "/proc/1/wchan", "/proc/1/fdinfo/3", "/proc/locks",
     "/proc/1/mountinfo", "/proc/diskstats"],
)  # fmt: skip
def test_what_a_program_waits_for_may_be_read(path: str) -> None:
    allowed.file(path.encode())


def test_only_netlink_messages_that_read_are_sent() -> None:
    reads = {
        route.GETLINK, route.GETADDR, route.GETROUTE, route.GETNEIGH, route.GETQDISC,
        route.GETCLASS, route.GETFILTER,
    }  # fmt: skip
    sent = {
        (family, kind, dump)
        for family in (
            "route",
            "sock_diag",
            "netfilter",
            "ethtool",
            "netdev",
            "nlctrl",
            "devlink",
            "nl80211",
            "",
        )
        for kind in (*range(300), *range(0xA00, 0xB00))
        for dump in (False, True)
        if not refused(family, kind, dump)
    }
    assert {kind for family, kind, _ in sent if family == "route"} == reads | {route.GETSTATS}
    assert {(kind, dump) for family, kind, dump in sent if family == "sock_diag"} == {
        (18, True), (20, True),
    }  # fmt: skip
    assert {(kind, dump) for family, kind, dump in sent if family == "netfilter"} == {
        (netfilter.GETCHAIN, True), (netfilter.GETRULE, True),
    }  # fmt: skip
    families = {"route", "sock_diag", "netfilter", "ethtool", "netdev"}
    assert {family for family, _, _ in sent} == families
    writes = {message.put for message in ethtool.MESSAGES.values()}
    assert not {kind for family, kind, _ in sent if family == "ethtool"} & writes
    assert {message.get for message in ethtool.MESSAGES.values()} <= {
        kind for family, kind, _ in sent if family == "ethtool"
    }


HERE_ONLY = {
    ("route", str(route.GETRULE)),
    ("netfilter", str(netfilter.GETSET)),
    ("netfilter", str(netfilter.GETSETELEM)),
    ("xfrm", str(xfrm.GETPOLICY)),
}  # of a way: said to be unread


def test_every_netlink_message_of_a_collector_is_sent() -> None:
    """The messages are those of the golden files of requests."""
    checked = set()
    for path in REQUESTS.glob("*.txt"):
        for line in path.read_text().splitlines():
            family, kind, *rest = line.partition(": ")[2].split()
            if (family, kind) in HERE_ONLY:
                assert refused(family, int(kind), dump=True)
            elif family != "ioctl" and rest:
                allowed.netlink(family, int(kind), rest[0] == "dump")
                checked.add((family, int(kind)))
    assert ("route", route.GETNEIGH) in checked


def refused(family: str, kind: int, dump: bool) -> bool:
    try:
        allowed.netlink(family, kind, dump)
    except PermissionError:
        return True
    return False


def test_only_ethtool_commands_that_read_are_sent() -> None:
    reads = {
        driver.GDRVINFO, driver.GSTRINGS, driver.GSTATS, driver.GSSET_INFO, driver.GRXFH,
        driver.GRXRINGS, driver.GRXCLSRLCNT, driver.GRXCLSRULE, driver.GRXCLSRLALL, driver.GRSSH,
        *(get for get, _, _ in legacy.CALLS.values()), legacy.GFEATURES,
        legacy.GLINKSETTINGS,
    }  # fmt: skip
    sent = set()
    for command in range(0x100):
        try:
            allowed.ethtool(command)
        except PermissionError:
            continue
        sent.add(command)
    assert sent == reads


@folded("path", sorted(FAR.glob("*.py")), ids=lambda path: path.stem)
def test_the_reader_runs_on_python_3_6_with_its_own_library(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text, feature_version=(3, 6))
    modules = {
        (node.module if isinstance(node, ast.ImportFrom) else name.name) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    own = {"nettop.host.far", *(f"nettop.host.far.{one.stem}" for one in FAR.glob("*.py"))}
    assert modules <= sys.stdlib_module_names | own
    assert "__future__" not in modules  # `annotations` came with 3.7
    assert not re.search(r"\.removeprefix\(|\.removesuffix\(|:=|capture_output|math\.prod", text)


def test_the_reader_opens_no_file_to_write() -> None:
    for path in FAR.glob("*.py"):
        text = path.read_text()
        assert not re.search(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)|(?<!os\.)\bopen\(", text), path
        assert not re.search(
            r"os\.(?:remove|unlink|mkdir|rename|chmod|chown|kill|system|exec)", text
        )


def test_a_request_of_an_unknown_size_is_refused() -> None:
    from nettop.host.far.kernel import Kernel

    with pytest.raises(OSError, match="does not send"):
        Kernel(1).ioctl(b"lo", struct.pack("=I", 0x0F) + bytes(40))
    with pytest.raises(OSError, match="of this size"):
        Kernel(1).ioctl(b"lo", b"\x03")
