"""The playbook of `nettop export --format ansible` as text; tests/netns runs one."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import fake_host
import pytest
from sentences import no_fault

from nettop import settings
from nettop.changes import Change, export
from nettop.host.source import Live
from nettop.settings import Host, qdisc

KEY = ":".join(["6d"] * 52)
# every kind that means something on another host; before, after
WANTED = {
    "sysctl.net.ipv4.tcp_rmem": ("4096 131072 6291456", "4096 131072 67108864"),
    "ring.rx@eth0": ("256", "4096"),
    "coalesce.rx-usecs@eth0": ("3", "50"),
    "coalesce.adaptive-rx@eth0": ("on", "off"),
    "pause.autoneg@eth0": ("on", "off"),
    "channels.combined@eth0": ("8", "4"),
    "feature.rx-gro@eth0": ("on", "off"),
    "privflag.rx_striding_rq@eth0": ("on", "off"),
    "link.mtu@eth0": ("1500", "9000"),
    "link.promisc@eth0": ("off", "on"),
    "irq.affinity@eth0/rx-0": ("0-3", "2"),
    "rps.cpus@eth0/rx-0": ("none", "1-3"),
    "xps.cpus@eth0/tx-0": ("none", "1"),
    "rss.table@eth0": ("equal", "equal 4"),
    "rss.key@eth0": (KEY, KEY.replace("6d", "6e")),
    "rss.hash-udp4@eth0": ("sd", "sdfn"),
    "ntuple.rule@eth0/7": ("absent", "tcp4 dst-port 5001 queue 2"),
    "napi.gro-flush-timeout@eth0": ("0", "20000"),
    "napi.threaded@eth0": ("off", "on"),
    "qdisc.root@eth0": ("mq", "fq maxrate 10gbit"),
    "cpufreq.governor@all": ("powersave", "performance"),
    "service.running@irqbalance": ("on", "off"),
    "route.initcwnd@10.0.0.0/8": ("none", "20"),
    "link.txqueuelen@it's\"{{x}}": ("1000", "2000"),
    "link.txqueuelen@a\x01\u200bb": ("1000", "2000"),
}
# kinds of this host alone, and files
NOT_KEPT = {"irqbalance", "kept", "nice", "process", "thread"}
HERE_ONLY = {
    "nice.value@3391": ("0", "-5"),
    "process.affinity@3391": ("0-3", "1"),
    "irq.affinity@27": ("1", "0"),
    "rss.table@eth0": ("equal", "0,0,1,1"),
    "link.txqueuelen@a\udcff": ("1000", "2000"),
}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(qdisc, "every", lambda *_: [])
    return fake_host.make(tmp_path / "host")


def changes(wanted: dict[str, tuple[str, str]]) -> list[Change]:
    return [Change(setting, *values) for setting, values in wanted.items()]


def test_every_kind_is_in_it_once_each_way(host: Host) -> None:
    text, left = export.export(changes(WANTED), host.source, "ansible")
    assert left == ()
    names = [row.partition(": ")[2] for row in text.splitlines() if row.startswith("    - name")]
    assert len(names) == 2 * len(WANTED) + 1  # a parameter is taken out of the file, too
    kinds = {setting.partition(".")[0] for setting in WANTED}
    no_fault(
        f"{kind} is in no playbook of a test: add a setting to WANTED of {Path(__file__).name}"
        for kind in sorted(set(settings.kinds()) - kinds - NOT_KEPT)
    )
    assert '\n        value: "4096 131072 67108864"\n' in text
    assert "\n          ethtool -G eth0 rx 4096 || " in text
    assert not any("{{" in row or len(row) > 160 for row in text.splitlines())


def test_what_is_of_this_host_alone_is_left_out_and_told(host: Host) -> None:
    text, left = export.export(changes(HERE_ONLY), host.source, "ansible")
    assert set(left) == set(HERE_ONLY)
    assert text.endswith("\n[]\n")


def test_clocks_that_differ_are_put_back_one_by_one(host: Host) -> None:
    folder = Path(host.root, "sys/devices/system/cpu")
    shutil.copytree(folder / "cpu0", folder / "cpu1")
    (folder / "cpu1/cpufreq/scaling_governor").write_text("performance\n")
    change = Change("cpufreq.governor@all", "mixed", "performance")
    script, _ = export.export([change], host.source, "shell")
    back = [row.split()[1] for row in script.partition("undo()")[2].splitlines() if " put " in row]
    assert back == ["powersave", "performance"]


def test_a_setting_that_nothing_shows_is_written_at_every_play(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(settings.kind("link"), "SHOWS")
    change = Change("link.txqueuelen@eth0", "1000", "2000")
    text, left = export.export([change], host.source, "ansible")
    assert left == ()
    _, _, task = text.partition('    - name: "Set link.txqueuelen@eth0"\n')
    task, _, _ = task.partition("\n\n")
    head, *rows, end = task.splitlines()
    assert (head, rows.pop(0)) == ("      ansible.builtin.shell:", "        cmd: |")
    assert end == "      changed_when: true"
    (tmp_path / "ip").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\n')
    (tmp_path / "ip").chmod(0o755)
    search = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", "\n".join(rows)], env=search, check=True)
    assert "txqueuelen 2000" in (tmp_path / "calls").read_text()


@pytest.mark.package
@pytest.mark.needs("ansible-lint")
def test_it_passes_ansible_lint(host: Host, tmp_path: Path) -> None:
    (tmp_path / "play").mkdir()
    book = tmp_path / "play/book.yml"
    book.write_text(export.export(changes(WANTED), host.source, "ansible")[0])
    words = ["ansible-lint", "--offline", "--nocolor", "--profile", "production", "-f", "json"]
    done = subprocess.run(
        [*words, str(book)], cwd=book.parent, env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout) == [], done.stdout
    assert done.returncode == 0, done.stderr


def test_a_playbook_has_the_names_that_a_shell_script_leaves_out() -> None:
    change = Change("link.mtu@e\x01h0", "1500", "9000")
    text, left = export.export([change], Live(), "ansible")
    assert left == ()
    assert "\x01" not in text
    assert "e\\U00000001h0" in text
    _, left = export.export([change], Live(), "shell")
    assert left == (change.setting,)
