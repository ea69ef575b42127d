"""What survives a reboot, who else owns a setting, and what other tools are given."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import fake_host
import pytest

from nettop import settings
from nettop.changes import Change, export, owners, persist, undo
from nettop.changes.journal import Journal
from nettop.settings import Host, link

WANTED = [
    ("sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864"),
    ("link.mtu@eth0", "9000"),
    ("ring.rx@eth0", "4096"),
    ("coalesce.rx-usecs@eth0", "50"),
    ("rps.cpus@eth0/rx-0", "1-3"),
    ("irq.affinity@eth0/rx-0", "2"),
]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = fake_host.make(tmp_path / "host")
    (tmp_path / "host/run/systemd/system").mkdir(parents=True)
    (tmp_path / "host/sys/class/net/eth0/addr_assign_type").write_text("0\n")
    (tmp_path / "host/sys/class/net/eth0/address").write_text("02:00:00:00:00:07\n")
    default = tmp_path / "host/usr/lib/systemd/network/99-default.link"
    default.parent.mkdir(parents=True)
    default.write_text("[Match]\nOriginalName=*\n\n[Link]\nNamePolicy=keep kernel\n")
    return made


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "state"))


def test_files_are_shown_written_marked_and_taken_away_again(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    before = fake_host.contents(tmp_path / "host")
    shown = persist.preview(WANTED, host.source)
    assert fake_host.contents(tmp_path / "host") == before
    made = persist.keep(WANTED, host, book)
    assert {r.state for r in made} == {"applied"}
    etc = tmp_path / "host/etc"
    for path, text in shown.items():
        assert (tmp_path / "host" / path.lstrip("/")).read_text() == text
        assert "Written by nettop" in text
    sysctl = (etc / "sysctl.d/90-nettop.conf").read_text()
    assert "net.ipv4.tcp_rmem = 4096 131072 67108864\n" in sysctl
    link = (etc / "systemd/network/10-nettop-eth0.link").read_text()
    for row in ("PermanentMACAddress=02:00:00:00:00:07", "NamePolicy=keep kernel",
                "MTUBytes = 9000", "RxBufferSize = 4096", "RxCoalesceSec = 50us"):  # fmt: skip
        assert row in link.splitlines()
    unit = (etc / "systemd/system/nettop-keep.service").read_text()
    assert "smp_affinity_list" in unit
    assert "/proc/irq/25" not in unit, "a number does not survive a reboot"
    assert os.path.islink(etc / "systemd/system/multi-user.target.wants/nettop-keep.service")
    again = persist.keep(WANTED, host, book)
    assert {r.state for r in again} == {"unchanged"}
    assert {r.state for r in undo.undo(book, host, everything=True)} == {"undone"}
    assert fake_host.contents(tmp_path / "host") == before
    assert not os.path.lexists(etc / "systemd/system/multi-user.target.wants/nettop-keep.service")


def test_one_of_several_is_taken_away_alone(host: Host, book: Journal, tmp_path: Path) -> None:
    wanted = [("sysctl.net.ipv4.tcp_rmem", "1 2 3"), ("sysctl.net.core.rmem_max", "5")]
    first, _second = persist.keep(wanted, host, book)
    undo.undo(book, host, [first.id or 0])
    text = (tmp_path / "host/etc/sysctl.d/90-nettop.conf").read_text()
    assert "rmem_max = 5" in text
    assert "tcp_rmem" not in text


def test_a_new_boot_does_not_void_what_was_kept(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.changes import context

    persist.keep(WANTED[:1], host, book)
    monkeypatch.setattr(context, "boot", lambda: "another")
    assert [r.state for r in undo.undo(book, host, everything=True)] == ["undone"]
    assert not (tmp_path / "host/etc/sysctl.d/90-nettop.conf").exists()


def test_a_link_file_says_what_the_one_that_it_hides_said(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    """The first that matches is the only one: a name given by somebody must not be lost."""
    root = tmp_path / "host"
    theirs = root / "etc/systemd/network/50-lan.link"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(
        "[Match]\nPermanentMACAddress=02:00:00:00:00:07\n\n[Link]\n; ours\nName=lan0\n"
        "MTUBytes=4000\n\n[SR-IOV]\nVirtualFunction=0\n[SR-IOV]\nVirtualFunction=1\n"
    )
    (root / "run/udev/data").mkdir(parents=True)
    (root / "run/udev/data/n2").write_text(
        "E:ID_NET_DRIVER=e1000e\nE:ID_NET_LINK_FILE=/etc/systemd/network/50-lan.link\n"
    )
    theirs_says = [
        "[Link]", "Name=lan0", "MTUBytes=4000", "[SR-IOV]", "VirtualFunction=0", "[SR-IOV]",
        "VirtualFunction=1",
    ]  # fmt: skip

    def rows() -> list[str]:
        file = root / "etc/systemd/network/10-nettop-eth0.link"
        return [row for row in file.read_text().splitlines() if row]

    lead = ["[Match]", "PermanentMACAddress=02:00:00:00:00:07"]
    persist.keep([("link.mtu@eth0", "9000")], host, book)
    assert rows()[1:] == [*lead, *theirs_says, "[Link]", "# nettop's:", "MTUBytes = 9000"]
    (root / "run/udev/data/n2").write_text(
        "E:ID_NET_LINK_FILE=/etc/systemd/network/10-nettop-eth0.link\n"
    )
    (made,) = persist.keep([("ring.rx@eth0", "4096")], host, book)
    ours = ["[Link]", "# nettop's:", "MTUBytes = 9000", "RxBufferSize = 4096"]
    assert rows()[1:] == [*lead, *theirs_says, *ours]
    undo.undo(book, host, [1])
    assert rows()[1:] == [*lead, *theirs_says, "[Link]", "# nettop's:", "RxBufferSize = 4096"]
    undo.undo(book, host, [made.id or 0])
    assert [file.name for file in theirs.parent.iterdir()] == ["50-lan.link"]


def test_a_link_is_matched_by_its_permanent_address(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def matched() -> str:
        (text,) = persist.preview([("link.mtu@eth0", "9000")], host.source).values()
        return text.splitlines()[2]

    monkeypatch.setattr(link, "attributes", lambda *_: {"permanent": bytes.fromhex("02aa00bb00cc")})
    assert matched() == "PermanentMACAddress=02:aa:00:bb:00:cc"
    monkeypatch.setattr(link, "attributes", lambda *_: {"permanent": bytes(6)})
    assert matched() == "PermanentMACAddress=02:00:00:00:00:07"
    Path(host.root, "sys/class/net/eth0/addr_assign_type").write_text("1\n")
    assert matched() == "OriginalName=eth0"
    udev = Path(host.root, "run/udev/data")
    udev.mkdir(parents=True)
    (udev / "n2").write_text("E:ID_NET_DRIVER=virtio_net\nE:ID_PATH=pci-0000:00:03.0\n")
    assert matched() == "Path=pci-0000:00:03.0"


def test_a_namespace_is_not_kept_in_files_of_the_host(
    host: Host, book: Journal, tmp_path: Path
) -> None:
    (tmp_path / "host/proc/sys/net/core/netdev_max_backlog").unlink()
    before = fake_host.contents(tmp_path / "host")
    made = persist.keep(WANTED[:2], host, book)
    assert {r.state for r in made} == {"refused"}
    assert all("not for a network namespace" in r.because for r in made)
    assert fake_host.contents(tmp_path / "host") == before


def test_what_cannot_survive_is_told(host: Host, book: Journal, tmp_path: Path) -> None:
    (told,) = persist.keep([("process.affinity@3391", "1")], host, book)
    assert (told.state, "does not survive a reboot" in told.because) == ("refused", True)
    (tmp_path / "host/run/systemd/system").rmdir()
    (told,) = persist.keep([("link.mtu@eth0", "9000")], host, book)
    assert "systemd does not run here" in told.because


def test_owners_are_named_with_the_way_to_agree(host: Host, tmp_path: Path) -> None:
    root = tmp_path / "host"
    assert owners.notes(host.source, "irq.affinity@eth0/rx-0") == ()
    for pid, name in (("50", "irqbalance"), ("51", "tuned"), ("52", "NetworkManager")):
        (root / "proc" / pid).mkdir()
        (root / "proc" / pid / "comm").write_text(name + "\n")
    (root / "etc/tuned").mkdir(parents=True)
    (root / "etc/tuned/active_profile").write_text("network-latency\n")
    (root / "etc/sysctl.d").mkdir()
    (root / "etc/sysctl.d/50-site.conf").write_text(
        "# net.ipv4.tcp_rmem = 0\n\nnet/ipv4/tcp_rmem=4096 87380 4194304\n"
    )
    (root / "etc/systemd/network").mkdir(parents=True)
    (root / "etc/systemd/network/20-lan.link").write_text("[Link]\nRxBufferSize=512\n")
    irq = " ".join(owners.notes(host.source, "irq.affinity@eth0/rx-0"))
    assert "irqbalance.ban@eth0" in irq
    rmem = " ".join(owners.notes(host.source, "sysctl.net.ipv4.tcp_rmem"))
    assert "50-site.conf:3 sets it to '4096 87380 4194304'" in rmem
    assert "'network-latency'" in rmem
    (root / "etc/systemd/network/30-lan.network").write_text("[Link]\nMTUBytes=1400\n")
    assert "30-lan" not in " ".join(owners.notes(host.source, "link.mtu@eth0"))
    (root / "proc/53").mkdir()
    (root / "proc/53/comm").write_text("systemd-network\n")
    told = " ".join(owners.notes(host.source, "link.mtu@eth0"))
    assert "/etc/systemd/network/30-lan.network sets MTUBytes: change it there" in told
    ring = " ".join(owners.notes(host.source, "ring.rx@eth0"))
    assert "20-lan.link sets RxBufferSize" in ring
    assert "NetworkManager" in ring


def test_the_line_that_sets_a_parameter_last_is_named_wherever_it_stands(
    host: Host, tmp_path: Path
) -> None:
    for file, value in {"lib/sysctl.d/10-a.conf": "1", "usr/local/lib/sysctl.d/60-b.conf": "2",
                        "etc/sysctl.d/90-nettop.conf": "3"}.items():  # fmt: skip
        path = tmp_path / "host" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"net.core.somaxconn = {value}\n")
    (told,) = owners.notes(host.source, "sysctl.net.core.somaxconn")
    assert told == "/usr/local/lib/sysctl.d/60-b.conf:1 sets it to '2' at boot"


HOSTILE = ["$(>HACKED)", "`>HACKED`", ";>HACKED;", "a'b\"c", "{{7*7}}", "%n$x"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_ever_executed(host: Host, tmp_path: Path, name: str) -> None:
    nic = name[:15]
    queue = tmp_path / "host/sys/class/net" / nic / "queues/rx-0"
    queue.mkdir(parents=True)
    (queue / "rps_cpus").write_text("0\n")
    change = Change(f"rps.cpus@{nic}/rx-0", "none", "1")
    text, _left = export.export([change], host.source, "shell")
    inside = text.replace("/sys/class/net", str(tmp_path / "host/sys/class/net"))
    for argument, shows in (("apply", "2\n"), ("apply", "2\n"), ("undo", "0\n")):
        done = subprocess.run(
            ["sh", "-c", inside, "sh", argument], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert (queue / "rps_cpus").read_text() == shows
    assert not (tmp_path / "HACKED").exists()
    unit = persist.preview([(change.setting, "1")], host.source)
    (text,) = unit.values()
    row = next(row for row in text.splitlines() if row.startswith("ExecStart"))
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', row)
    plain = [re.sub(r"\\(.)", r"\1", w).replace("%%", "%").replace("$$", "$") for w in words]
    assert plain[-1] == f"/sys/class/net/{nic}/queues/rx-0/rps_cpus"


def test_formats_say_what_they_cannot_express(host: Host) -> None:
    changes = [Change(s, "1", v) for s, v in WANTED]
    text, left = export.export(changes, host.source, "sysctl")
    assert "net.ipv4.tcp_rmem = 4096 131072 67108864" in text
    assert len(left) == 5
    text, left = export.export(changes, host.source, "systemd")
    assert "[Link]" in text
    assert left == ()


def test_kept_settings_read_and_write_their_own_lines_only(host: Host) -> None:
    address = settings.parse("kept.link@eth0/MTUBytes")
    settings.write(host, address, "9000")
    assert settings.read(host.source, settings.parse("kept.link@eth0/NamePolicy")) == "absent"
    assert settings.read(host.source, address) == "9000"


@pytest.mark.parametrize("name", ["*", "!x", "e?h", "a'b", "[x]"])
def test_a_name_that_would_match_others_is_not_said_in_a_link_file(
    host: Host, tmp_path: Path, name: str
) -> None:
    """OriginalName=* in a .link file is every interface, OriginalName=!x every other one."""
    nic = tmp_path / "host/sys/class/net" / name
    shutil.copytree(tmp_path / "host/sys/class/net/eth0", nic)
    (nic / "addr_assign_type").write_text("1\n")
    setting = f"link.txqueuelen@{name}"
    (told,) = persist.keep([(setting, "70")], host, Journal(str(tmp_path / "state")))
    assert (told.state, "cannot be written" in told.because) == ("refused", True)
    text, left = export.export([Change(setting, "1000", "70")], host.source, "systemd")
    assert (text, left) == ("", (setting,))


def test_a_parameter_of_an_odd_name_is_no_pattern(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "host/proc/sys/net/ipv4/conf/*/rp_filter"
    file.parent.mkdir()
    file.write_text("0\n")
    change = Change("sysctl.net.ipv4.conf.*.rp_filter", "0", "2")
    assert export.export([change], host.source, "sysctl")[1] == (change.setting,)
    script, _ = export.export([change], host.source, "shell")
    assert "put 2 '/proc/sys/net/ipv4/conf/*/rp_filter'" in script
    assert settings.shell(settings.parse(change.setting), "2", host.source).startswith("echo 2 > '")
    (kept,) = persist.preview([(change.setting, "2")], host.source)
    assert kept.endswith("nettop-keep.service")


def test_the_end_of_a_line_in_a_name_is_no_line(host: Host, tmp_path: Path) -> None:
    """U+2028 and others end a line for Unicode, and may stand in an interface's name."""
    name = "a\u2028#=\x1cb"
    queue = tmp_path / "host/sys/class/net" / name / "queues/rx-0"
    queue.mkdir(parents=True)
    (queue / "rps_cpus").write_text("0\n")
    setting = f"rps.cpus@{name}/rx-0"
    persist.keep([(setting, "1")], host, Journal(str(tmp_path / "state")))
    assert settings.read(host.source, settings.parse(f"kept.unit@{setting}")) == "1"
