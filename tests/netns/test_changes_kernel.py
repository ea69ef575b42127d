"""Changes to a real kernel: a veth pair in a namespace of its own, seen with the system's tools."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changes_netns import Nettop, guards, mtu, no_guard, run

pytestmark = [pytest.mark.netns, pytest.mark.needs("ethtool", "tc")]


def everything(nettop: Nettop) -> str:
    """All that the system's own tools say about the pair."""
    return nettop.see(
        "sh", "-ec", "ip -d link show va; ethtool -k va; ethtool -l va; tc qdisc show dev va; "
        "sysctl net.ipv4.tcp_rmem; cd /sys/class/net/va; grep -r '' queues gro_flush_timeout",
    )  # fmt: skip


def numberless(said: str) -> str:
    """Without the number that the kernel gives to each new qdisc."""
    return re.sub(r"(qdisc \w+) \w+:", r"\1", said)


CASES = [
    ("sysctl.net.ipv4.tcp_rmem", "4096 131072 67108864", "sysctl net.ipv4.tcp_rmem",
     "4096\t131072\t67108864"),
    ("feature.rx-gro@va", "on", "ethtool -k va", "generic-receive-offload: on"),
    ("feature.tx-checksum-ip-generic@va", "off", "ethtool -k va",
     "tx-tcp-segmentation: off [requested on]"),
    ("link.txqueuelen@va", "5000", "ip link show va", "qlen 5000"),
    ("link.gso-max-size@va", "32768", "ip -d link show va", "gso_max_size 32768"),
    ("link.promisc@va", "on", "ip link show va", "PROMISC"),
    ("rps.cpus@va/rx-0", "0-1", "cat /sys/class/net/va/queues/rx-0/rps_cpus", "3"),
    ("rps.flow-cnt@va/rx-1", "4096", "cat /sys/class/net/va/queues/rx-1/rps_flow_cnt", "4096"),
    ("xps.cpus@va/tx-1", "1", "cat /sys/class/net/va/queues/tx-1/xps_cpus", "2"),
    ("napi.gro-flush-timeout@va", "20000", "cat /sys/class/net/va/gro_flush_timeout", "20000"),
    ("qdisc.root@va", "pfifo limit 500", "tc qdisc show dev va", "limit 500p"),
    ("channels.rx@va", "2", "ethtool -l va", "RX:\t\t2"),
]  # fmt: skip


TOLD = ("setting", "before", "wanted", "after", "shell", "risk")


@pytest.mark.parametrize(("setting", "value", "tool", "shows"), CASES)
def test_the_kernel_shows_what_was_told_and_undo_is_the_identity(
    nettop: Nettop, setting: str, value: str, tool: str, shows: str
) -> None:
    """A dry run tells what the run then does, and the command shown does the same."""
    before = everything(nettop)
    (dry,) = nettop("set", setting, value, "--dry-run")
    assert everything(nettop) == before
    (made,) = nettop("set", setting, value)
    assert (dry["state"], made["state"]) == ("planned", "applied"), made
    assert {key: dry[key] for key in TOLD} == {key: made[key] for key in TOLD}
    assert shows in nettop.see(*tool.split())
    after = everything(nettop)
    assert nettop("set", setting, value)[0]["state"] == "unchanged"
    assert nettop("undo", "--all")[0]["state"] == "undone"
    assert everything(nettop) == before
    nettop.see("sh", "-c", made["shell"])
    assert numberless(everything(nettop)) == numberless(after)
    assert nettop("set", setting, value)[0]["state"] == "unchanged"
    was = made["before"]
    nettop("set", setting, " ".join(map(str, was)) if isinstance(was, list) else str(was))


REFUSED = (
    ("channels.rx@va", "9999", 4, "cannot exceed 4"),
    ("link.mtu@va", "70000", 4, "cannot exceed 65535"),
    ("link.mtu@va", "600", 4, "IPv6"),
    ("feature.rx-grow@va", "on", 2, "did you mean rx-gro"),
    ("feature.highdma@va", "perhaps", 4, "neither on nor off"),
    ("ring.rx@va", "512", 4, "has no rings"),
    ("pause.rx@va", "on", 4, "has no pause"),
    ("sysctl.net.core.netdev_max_backlog", "5000", 4, "set it on the host"),
    ("rps.cpus@va/rx-0", "0-400", 4, "this host has CPUs"),
    ("link.mtu@vx", "1400", 2, "no interface 'vx'"),
    ("link.gso-max-size@va", "99999999", 4, "cannot exceed"),
    ("link.txqueuelen@va", "-1", 4, "cannot be below 0"),
    ("coalesce.rx-usecs@va", "5", 4, "has no"),
    ("xps.rxqs@va/tx-0", "9", 4, "has receive queues 0-3, not 9"),
    ("sysctl.net.ipv4.tcp_rmem", "0 1 2", 4, "cannot be below 1"),
    ("sysctl.net.ipv4.tcp_rmem", "4096 many 2", 4, "whole numbers"),
    ("sysctl.net.ipv4.tcp_sack", "256", 4, "cannot exceed 255"),
    ("sysctl.net.ipv4.tcp_tw_reuse", "3", 4, "cannot exceed 2"),
    ("sysctl.net.ipv4.ip_local_port_range", "0 70000", 4, "cannot be below 1"),
    ("sysctl.net.ipv4.tcp_congestion_control", "warp", 4, "takes one of"),
)


@pytest.mark.parametrize(("setting", "value", "code", "says"), REFUSED)
def test_what_cannot_be_is_refused_in_one_sentence(
    nettop: Nettop, setting: str, value: str, code: int, says: str
) -> None:
    """A dry run refuses it as the run does."""
    before = everything(nettop)
    told = nettop.plain("set", setting, value)
    assert nettop.plain("set", setting, value, "--dry-run") == told
    ended, out, err = told
    assert ended == code, told
    assert says in out + err
    assert "Traceback" not in err
    assert everything(nettop) == before


@pytest.mark.parametrize(
    ("setting", "value"),
    [(s, v) for s, v, code, says in REFUSED if s.startswith("sysctl") and "whole" not in says],
)
def test_the_kernel_refuses_what_is_refused_for_it(
    nettop: Nettop, setting: str, value: str
) -> None:
    name = setting.removeprefix("sysctl.")
    before = nettop.see("sysctl", "-n", name) if "backlog" not in name else ""
    done = subprocess.run(
        [*nettop.inside, "sysctl", "-qw", f"{name}={value}"], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr, "the kernel took it"
    assert not before or nettop.see("sysctl", "-n", name) == before


def test_a_process_gets_its_cpus_back_thread_by_thread(nettop: Nettop) -> None:
    code = (
        "import os,signal,threading\n"
        "def odd():\n os.sched_setaffinity(0,{1}); print('ready',flush=True); signal.pause()\n"
        "threading.Thread(target=odd,daemon=True).start(); signal.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()

        def seen() -> dict[int, set[int]]:
            tasks = map(int, os.listdir(f"/proc/{process.pid}/task"))
            return {tid: os.sched_getaffinity(tid) for tid in tasks}

        before = seen()
        (made,) = nettop("set", f"process.affinity@{process.pid}", "0")
        assert made["state"] == "applied"
        assert set(map(frozenset, seen().values())) == {frozenset({0})}
        nettop("undo", str(made["id"]))
        assert seen() == before
        process.kill()


def test_leaves_under_mq_are_replaced_and_given_back(nettop: Nettop) -> None:
    nettop.see("tc", "qdisc", "replace", "dev", "va", "root", "mq")
    nettop.see("tc", "qdisc", "del", "dev", "va", "root")
    before = everything(nettop)
    nettop("set", "qdisc.root@va", "mq")
    (made,) = nettop("set", "qdisc.leaves@va", "pfifo")
    assert made["state"] == "applied", made
    assert nettop.see("tc", "qdisc", "show", "dev", "va").count("qdisc pfifo ") == 4
    nettop("undo", str(made["id"]))
    assert nettop.see("tc", "qdisc", "show", "dev", "va").count("qdisc pfifo ") == 0
    nettop("undo", "--all")
    assert everything(nettop) == before


def test_a_shaper_of_somebody_is_left_alone(nettop: Nettop) -> None:
    nettop.see(*"tc qdisc replace dev va root tbf rate 1mbit burst 10kb latency 50ms".split())
    try:
        (told,) = nettop("set", "qdisc.root@va", "pfifo", code=4)
        assert "could not put it back" in told["because"]
    finally:
        nettop.see("tc", "qdisc", "del", "dev", "va", "root")


def test_the_exported_script_does_and_undoes_the_same(nettop: Nettop, tmp_path: Path) -> None:
    before = everything(nettop)
    wanted = [(s, v) for s, v, _tool, _shows in CASES if "checksum" not in s]
    code, script, err = nettop.plain(
        "export", "--format", "shell", *(f"{s}={v}" for s, v in wanted)
    )
    assert code == 0, err
    file = tmp_path / "script"
    file.write_text(script)
    for _ in range(2):
        nettop.see("sh", str(file))
    for setting, value in wanted:
        assert nettop.plain("get", setting)[1].startswith(f"{setting} = {value}")
    nettop.see("sh", str(file), "undo")
    assert everything(nettop) == before


def test_a_route_keeps_everything_but_the_one_metric(nettop: Nettop) -> None:
    nettop.see("ip", "address", "add", "10.78.0.1/24", "dev", "va")
    words = "10.90.0.0/16 via 10.78.0.2 dev va src 10.78.0.1 metric 50 advmss 1400"
    nettop.see("ip", "route", "add", *words.split())
    try:
        before = nettop.see("ip", "route", "show")
        assert nettop("set", "route.initcwnd@10.90.0.0/16", "32")[0]["state"] == "applied"
        assert "metric 50 advmss 1400 initcwnd 32" in nettop.see("ip", "route", "show")
        assert nettop("set", "route.congctl@10.90.0.0/16", "reno")[0]["state"] == "applied"
        assert "congctl reno" in nettop.see("ip", "route", "show")
        assert {r["state"] for r in nettop("undo", "--all")} == {"undone"}
        assert nettop.see("ip", "route", "show") == before
    finally:
        nettop.see("ip", "address", "del", "10.78.0.1/24", "dev", "va")


def test_a_finding_is_applied_exported_and_undone(nettop: Nettop) -> None:
    names = ["net.ipv4.tcp_sack", "net.ipv4.tcp_dsack"]
    finding = "loss-recovery-crippled@host"

    def values() -> list[str]:
        return nettop.see("sysctl", "-n", *names).split()

    nettop.see("sysctl", "-qw", *[f"{name}=0" for name in names])
    code, out, _ = nettop.plain("apply", finding, "--dry-run", "--seconds", "0.5")
    assert code == 0
    assert "sysctl -w net.ipv4.tcp_sack=1" in out
    assert values() == ["0", "0"]
    code, out, _ = nettop.plain("export", finding, "--format", "sysctl", "--seconds", "0.5")
    assert "net.ipv4.tcp_sack = 1" in out
    made = nettop("apply", finding, "--seconds", "0.5")
    assert [r["state"] for r in made] == ["applied", "applied"]
    assert values() == ["1", "1"]
    code, out, _ = nettop.plain("journal")
    assert f"for {finding}" in out
    code, _, err = nettop.plain("apply", finding, "--seconds", "0.5")
    assert (code, "does not hold here" in err) == (4, True)
    code, _, err = nettop.plain("apply", "loss-recovery-cripled@host", "--seconds", "0.5")
    assert (code, "did you mean loss-recovery-crippled" in err) == (2, True)
    assert {r["state"] for r in nettop("undo", "--all")} == {"undone"}
    assert values() == ["0", "0"]
    nettop.see("sysctl", "-qw", *[f"{name}=1" for name in names])


@pytest.fixture
def user(nettop: Nettop, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Root plays the user: what is run through sudo, and what comes back, is the same."""
    log = tmp_path / "sudo-log"
    (tmp_path / "bin").mkdir()
    sudo = tmp_path / "bin/sudo"
    sudo.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    nettop.environment["SSH_CONNECTION"] = "10.79.0.2 50000 10.79.0.1 22"
    code = (
        "import os, sys; real = os.geteuid; os.geteuid = lambda: 1000\n"
        f"from nettop.files import trust; trust.SYSTEM = ({str(sudo.parent)!r},)\n"
        "from nettop.cli import main; sys.exit(main(sys.argv[1:]))"
    )

    def change(*words: str) -> list[dict[str, Any]]:
        return nettop("-c", code, *words)

    return change


def test_a_user_with_sudo_changes_it_by_one_explicit_command(
    nettop: Nettop, tmp_path: Path, user: Callable[..., list[dict[str, Any]]]
) -> None:
    (made,) = user(
        "set", "sysctl.net.ipv4.tcp_rmem", "4096 131072 8388608", "--finding", "x@host"
    )  # fmt: skip
    assert (made["state"], made["id"]) == ("applied", 1)
    asked, ran = (tmp_path / "sudo-log").read_text().splitlines()
    assert asked == "-n true"
    assert f"-n {sys.executable} -I -m nettop set sysctl.net.ipv4.tcp_rmem" in ran
    assert "--finding=x@host --ssh-peer=10.79.0.2 --json" in ran
    assert nettop("journal")[0]["finding"] == "x@host"
    nettop("undo", "--all")


def test_several_changes_through_sudo_are_one_group_with_one_guard(
    nettop: Nettop, tmp_path: Path, user: Callable[..., list[dict[str, Any]]]
) -> None:
    wanted = ["link.mtu@va", "9000", "link.txqueuelen@va", "2000", "link.mtu@vb", "9000"]
    made = user("set", *wanted, "--confirm", "600")
    assert [one["state"] for one in made] == ["pending"] * 3
    ran = [row for row in (tmp_path / "sudo-log").read_text().splitlines() if "nettop" in row]
    assert len(ran) == 1
    assert ran[0].count("--before=") == 3
    (guard,) = guards(nettop.state)
    os.kill(guard, signal.SIGTERM)
    no_guard(nettop.state)
    assert {one["state"] for one in nettop("journal")} == {"reverted"}
    assert mtu(nettop) == 1500
    assert "qlen 1000" in nettop.see("ip", "link", "show", "va")
    assert "mtu 1500" in nettop.see("ip", "link", "show", "vb")


def test_settings_of_one_command_each_have_their_before(nettop: Nettop) -> None:
    wanted = ["link.txqueuelen@va", "2000", "napi.defer-hard-irqs@va", "2"]
    made = nettop("set", *wanted, "--before", "1000", "--before", "7", code=4)
    assert {one["setting"].partition("@")[0]: one["state"] for one in made} == {
        "link.txqueuelen": "applied", "napi.defer-hard-irqs": "refused"
    }  # fmt: skip
    nettop("undo", "--all")
    for words in (wanted[:3], [*wanted, "--before", "1000"]):
        assert nettop.plain("set", *words)[0] == 2


@pytest.mark.parametrize("name", [";reboot", "$(touch${IFS}X)", "a'b\"c", "-x", "up@eth0"])
def test_an_interface_may_have_any_name(nettop: Nettop, tmp_path: Path, name: str) -> None:
    nettop.see("ip", "link", "add", "name", name, "type", "veth", "peer", "name", "vc")
    try:
        (made,) = nettop("set", f"link.txqueuelen@{name}", "2000")
        assert made["state"] == "applied", made
        length = f"/sys/class/net/{name}/tx_queue_len"
        assert nettop.see("cat", length) == "2000\n"
        nettop("undo", "--all")
        assert nettop.see("cat", length) == "1000\n"
        words = ["export", f"link.txqueuelen@{name}=2000", f"rps.cpus@{name}/rx-0=0"]
        _, script, err = nettop.plain(*words)
        (tmp_path / "script").write_text(script)
        run(*nettop.inside, "sh", "-c", f"cd {tmp_path} && sh script")
        assert nettop.see("cat", length) == "2000\n", err
        assert nettop.see("cat", f"/sys/class/net/{name}/queues/rx-0/rps_cpus") == "1\n"
        assert [file.name for file in tmp_path.iterdir() if file.name != "state"] == ["script"]
    finally:
        nettop.see("ip", "link", "del", "dev", name)


def test_a_value_that_a_rule_condemns_needs_to_be_asked_for_anyway(nettop: Nettop) -> None:
    sack = ("sysctl.net.ipv4.tcp_sack", "0")
    shown = ("sysctl", "-n", "net.ipv4.tcp_sack")
    code, out, err = nettop.plain("set", *sack)
    assert (code, out) == (4, "")
    assert "loss-recovery-crippled" in err
    assert "--anyway" in err
    assert nettop.see(*shown).strip() == "1"
    assert nettop("set", *sack, "--anyway")[0]["state"] == "applied"
    assert nettop.see(*shown).strip() == "0"
    nettop("undo", "--all")
    assert nettop.see(*shown).strip() == "1"
    # another nettop has shown the value and asks for exactly this change
    assert nettop("set", *sack, "--before=1")[0]["state"] == "applied"
    nettop("undo", "--all")
