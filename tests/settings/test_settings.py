"""Settings on a directory that stands in for a host: names, values, limits, commands."""

import contextlib
import errno
import os
from pathlib import Path

import fake_host
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from nettop import settings
from nettop.host.recording import Replay, load
from nettop.sampling.sampler import Sampler
from nettop.settings import Host, _text, irq

HOSTS = Path(__file__).parents[1] / "hosts"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return fake_host.make(tmp_path)


@pytest.mark.parametrize("setting", fake_host.SETTINGS)
def test_every_file_setting_reads_what_was_written(host: Host, setting: str) -> None:
    address = settings.parse(setting)
    assert str(address) == setting
    value = fake_host.SETTINGS[setting]
    assert settings.read(host.source, address) != value
    assert settings.check(host.source, address, value) == value
    settings.write(host, address, value)
    assert settings.read(host.source, address) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rign.rx@eth0", "did you mean ring?"),
        ("ring.rxx@eth0", "did you mean rx?"),
        ("ring.rx", "lacks its target"),
        ("ring.rx@", "lacks its target"),
        ("ring", "not of the form"),
        ("ring.rx@..", "cannot be an interface"),
        ("ring.rx@../eth0", "cannot be an interface"),
        ("ring.rx@eth0\n", "one line"),
    ],
)
def test_unknown_names_are_told_with_the_nearest(text: str, says: str) -> None:
    with pytest.raises(settings.UnknownError, match=says):
        settings.parse(text)


def test_a_kind_without_a_target_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.kind("cpufreq"), "TARGET", False, raising=False)
    with pytest.raises(settings.UnknownError, match=r"cpufreq takes no target: cpufreq.governor$"):
        settings.parse("cpufreq.governor@x")


def test_a_setting_is_split_at_the_first_at_sign() -> None:
    address = settings.parse("irq.affinity@eth0/irq:mlx5_comp0@pci:0000:41:00.0")
    assert (address.nic, address.part) == ("eth0", "irq:mlx5_comp0@pci:0000:41:00.0")


@pytest.mark.parametrize("name", ["net..ipv4", "net", "net.ipv4.", "net.//.x", "net./.x"])
def test_a_sysctl_cannot_leave_its_folder(host: Host, name: str) -> None:
    with pytest.raises(LookupError):
        settings.read(host.source, settings.parse(f"sysctl.{name}"))


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("rps.cpus@eth0/rx-0", "0-9", "this host has CPUs 0-3, not 4-9"),
        ("irq.affinity@eth0/rx-0", "none", "at least one CPU"),
        ("irq.affinity@eth0/rx-7", "2", "eth0 has: eth0, eth0-rx-0, eth0-tx-0"),
        ("link.mtu@eth0", "many", "not a whole number"),
        ("napi.threaded@eth0", "perhaps", "neither on nor off"),
        ("napi.defer-hard-irqs@eth0", "-1", "cannot be below 0"),
        ("sysctl.net.ipv4.tcp_congestion_control", "warp", "one of reno, cubic, bbr"),
        ("sysctl.net.ipv4.tcp_warp", "1", "no such parameter"),
        ("rps.cpus@eth0/tx-0", "1", "needs a queue"),
        ("process.affinity@12", "1", "no process 12"),
    ],
)
def test_wrong_values_are_refused_in_one_sentence(
    host: Host, setting: str, value: str, says: str
) -> None:
    address = settings.parse(setting)
    with pytest.raises((ValueError, OSError, LookupError), match=says):
        settings.write(host, address, settings.check(host.source, address, value))


@pytest.mark.parametrize(
    ("setting", "value", "line"),
    [
        ("sysctl.net.ipv4.tcp_rmem", "4096 87380 16777216",
         "sysctl -w 'net.ipv4.tcp_rmem=4096 87380 16777216'"),
        ("rps.cpus@eth0/rx-0", "1-3", "echo e > /sys/class/net/eth0/queues/rx-0/rps_cpus"),
        ("irq.affinity@eth0/rx-0", "2", "echo 2 > /proc/irq/25/smp_affinity_list"),
        ("ring.rx@eth0", "4096", "ethtool -G eth0 rx 4096"),
        ("ring.rx@;reboot", "4096", "ethtool -G ';reboot' rx 4096"),
        ("rps.cpus@$(id)/rx-0", "1",
         "echo 2 > '/sys/class/net/$(id)/queues/rx-0/rps_cpus'"),
        ("link.mtu@eth0", "9000", "ip link set dev eth0 mtu 9000"),
        ("pause.rx@eth0", "off", "ethtool -A eth0 rx off"),
        ("coalesce.adaptive-rx@eth0", "on", "ethtool -C eth0 adaptive-rx on"),
        ("process.affinity@3391", "1", "taskset -a -p -c 1 3391"),
    ],
)  # fmt: skip
def test_the_line_an_expert_would_type(host: Host, setting: str, value: str, line: str) -> None:
    assert settings.shell(settings.parse(setting), value, host.source) == line


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.EIO, "the kernel manages this interrupt itself"), (errno.ENOSPC, "No space left")],
)
def test_an_interrupt_that_refuses_says_why(
    host: Host, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    """EIO is a managed interrupt (kernel/irq/proc.c); another error keeps its own sentence."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Host, "write", refuse)
    with pytest.raises(OSError, match=says) as caught:
        settings.write(host, settings.parse("irq.affinity@eth0/rx-0"), "3")
    assert caught.value.errno == number


def test_interrupts_are_found_by_sysfs_then_by_name(host: Host, tmp_path: Path) -> None:
    queue = settings.parse("irq.affinity@eth0/rx-0")
    settings.write(host, queue, "3")
    assert (tmp_path / "proc/irq/25/smp_affinity_list").read_text() == "3\n"
    for line in (24, 25, 26):
        (tmp_path / f"sys/class/net/eth0/device/msi_irqs/{line}").unlink()
    settings.write(host, queue, "1")
    assert (tmp_path / "proc/irq/25/smp_affinity_list").read_text() == "1\n"
    # the driver was loaded again: same name, other number
    text = (tmp_path / "proc/interrupts").read_text().replace(" 25:", " 31:")
    (tmp_path / "proc/interrupts").write_text(text)
    (tmp_path / "proc/irq/31").mkdir()
    (tmp_path / "proc/irq/31/smp_affinity_list").write_text("0-3\n")
    assert settings.read(host.source, queue) == "0-3"


@examples(deadline=None)
@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_and_masks_mean_the_same(cpus: set[int]) -> None:
    from nettop.terms.cpulist import mask

    text = _text.ranges(cpus)
    assert _text.cpus(text) == cpus
    assert _text.cpus("0x" + mask(cpus)) == cpus
    assert _text.cpu_list(text) == text


@examples(deadline=None)
@given(st.text())
def test_only_the_told_errors_escape_a_name_or_a_value(text: str) -> None:
    try:
        address = settings.parse(text)
        settings.normal(address, text)
    except (settings.UnknownError, ValueError, LookupError):
        pass
    for kind in ("rps.cpus@e/rx-0", "napi.threaded@e", "ring.rx@e", "irq.affinity@1"):
        with contextlib.suppress(ValueError):
            settings.normal(settings.parse(kind), text)


def test_a_congestion_control_that_the_kernel_loads_by_itself_is_taken(
    host: Host, tmp_path: Path
) -> None:
    address = settings.parse("sysctl.net.ipv4.tcp_congestion_control")
    assert settings.limits(host.source, address).choices == ("reno", "cubic", "bbr")
    modules = tmp_path / "lib/modules/6.1.0"
    modules.mkdir(parents=True)
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.1.0\n")
    (modules / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n")
    (modules / "modules.dep").write_text(
        "kernel/net/ipv4/tcp_dctcp.ko.xz:\nkernel/net/ipv4/tcp_diag.ko: kernel/net/inet_diag.ko\n"
        "kernel/drivers/iscsi_tcp.ko:\nkernel/x/y.ko: kernel/net/ipv4/tcp_vegas.ko\n"
    )
    assert settings.limits(host.source, address).choices == ("reno", "cubic", "bbr", "dctcp")
    assert settings.check(host.source, address, "dctcp") == "dctcp"


def test_a_qdisc_that_the_kernel_cannot_load_is_refused_before_it_is_tried(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.settings import qdisc

    monkeypatch.setattr(
        qdisc, "every", lambda *_: [qdisc.Discipline(1, 2, "htb r2q 5", plain=False)]
    )
    address = settings.parse("qdisc.root@eth0")
    qdisc.validate(host.source, address, "fq maxrate 10gbit")  # nothing is known of its modules
    modules = tmp_path / "lib/modules/6.1.0"
    modules.mkdir(parents=True)
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.1.0\n")
    (modules / "modules.builtin").write_text("kernel/net/sched/sch_fq_codel.ko\n")
    (modules / "modules.dep").write_text("kernel/net/sched/sch_cake.ko.xz: kernel/x.ko\n")
    for kind in ("fq_codel", "cake", "htb", "pfifo limit 5"):
        qdisc.validate(host.source, address, kind)
    for kind in ("fq maxrate 10gbit", "codel", "x"):
        with pytest.raises(ValueError, match="this kernel has no qdisc"):
            qdisc.validate(host.source, address, kind)


def test_an_unknown_kind_is_told_of_every_kind_there_is() -> None:
    with pytest.raises(settings.UnknownError) as raised:
        settings.parse("qqqqqqqq.rx@eth0")
    assert all(name in str(raised.value) for name in settings.kinds())


def test_a_queue_s_interrupt_is_found_on_arm_too() -> None:
    """There the trigger is a word of its own: `GICv3 81921 Edge  eth0-Tx-Rx-0`."""
    source = Replay(load(str(HOSTS / "big-arm.host.gz")))
    rows = {row.irq: row.name for row in Sampler(source).take(["interrupts"]).rows("interrupts")}
    for way in ("rx", "tx"):
        number = irq.number(source, settings.parse(f"irq.affinity@eth0/{way}-0"))
        assert rows[str(number)] == "eth0-Tx-Rx-0"
