"""The printed service of the box under a real systemd: it starts, writes, and is watched."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hang import until
from systemd_machine import NEEDS, Machine, running

from nettop.host import systemd

pytestmark = NEEDS
SERVICE = "nettop-box.service"
CONDITION = "host.cpus > 100 % 5"  # always true; a percent sign is special in units
JOURNAL = """
for name in /var/lib /var/log /opt; do mount -t tmpfs -o mode=755 none $name; done
mkdir /var/lib/nettop  # that of root's journal
mkdir -p /run/systemd/journald.conf.d /opt/python /opt/nettop /opt/site
cd /run/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\nAudit=no\\n' > a.conf
mount --rbind {python} /opt/python
mount --rbind {source} /opt/nettop
mount --rbind {site} /opt/site
cp {unit} /etc/systemd/system/nettop-box.service
cat > /etc/systemd/system/systemd-journald.socket <<'END'
[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/systemd/journal/stdout
ListenDatagram=/run/systemd/journal/socket
PassCredentials=yes
END
cat > /etc/systemd/system/systemd-journald.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=notify
Sockets=systemd-journald.socket
ExecStart=/lib/systemd/systemd-journald
END
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A systemd with a journal, and nettop in /opt, where the service's user can read it."""
    folder = tmp_path_factory.mktemp("box")
    program = ["/usr/bin/env", "PYTHONPATH=/opt/nettop/src:/opt/site", "PYTHONDONTWRITEBYTECODE=1"]
    program += [
        f"/opt/python/bin/python{sys.version_info[0]}.{sys.version_info[1]}",
        "-m",
        "nettop",
    ]
    file = folder / SERVICE
    file.write_text(systemd.box_unit(program, ["--on", CONDITION, "--before", "5", "--after", "1"]))
    source = Path(systemd.__file__).parents[3]
    site = Path(psutil.__file__).parents[1]
    places = {"python": sys.base_prefix, "source": source, "site": site, "unit": file}
    more = JOURNAL.format(**{name: shlex.quote(str(path)) for name, path in places.items()})
    with running(folder, more) as machine:
        for name in ("systemd-journald.socket", "systemd-journald.service", SERVICE):
            done = machine.run("systemctl", "start", name)
            assert done.returncode == 0, (
                done.stderr + machine.run("journalctl", "--no-pager", "-n", "30").stdout
            )
        yield machine


def says(machine: Machine, *words: str, has: str) -> str:
    """The output of a command in the machine once it has this text."""
    return until(lambda: out if has in (out := machine.run(*words).stdout) else "")


def shown(machine: Machine, name: str) -> str:
    return machine.run("systemctl", "show", "-p", name, "--value", SERVICE).stdout.strip()


def test_it_is_started_watched_and_has_a_user_of_its_own(machine: Machine) -> None:
    assert shown(machine, "ActiveState") == "active"  # Type=notify: it has sent READY=1
    assert shown(machine, "WatchdogUSec") == "1min"
    first = shown(machine, "WatchdogTimestampMonotonic")
    until(lambda: shown(machine, "WatchdogTimestampMonotonic") != first)
    status = machine.run("cat", f"/proc/{shown(machine, 'MainPID')}/status").stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == [shown(machine, "UID")] * 4
    assert 61184 <= int(shown(machine, "UID")) < 65520
    # CAP_DAC_READ_SEARCH, CAP_NET_ADMIN, CAP_SYS_PTRACE
    wanted = 1 << 2 | 1 << 12 | 1 << 19
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(fields[name], 16) == wanted
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")


def test_its_exposure_is_low_as_the_running_systemd_sees_it(machine: Machine) -> None:
    out = machine.run("systemd-analyze", "security", "--no-pager", SERVICE).stdout
    level = re.search(r"Overall exposure level .*: ([\d.]+)", out)
    assert level, out
    assert float(level[1]) <= 2.5


def test_the_box_is_private_and_root_reads_it_as_the_past(machine: Machine) -> None:
    says(machine, "ls", "/var/lib/nettop/box", has="-on-expression.host.gz")
    modes = machine.run("stat", "-c", "%a %u", "/var/lib/private", "/var/lib/nettop/box/").stdout
    assert modes.split() == ["700", "0", "700", shown(machine, "UID")]
    code = (
        "from nettop.box import past; past = past.of_this_host(); "
        "print(past is not None and past.before(1e11))"
    )
    words = ["env", "-u", "NETTOP_STATE", sys.executable, "-c", code]
    assert float(machine.run(*words).stdout) > 1e9
    words = ["env", "-u", "NETTOP_STATE", sys.executable, "-m", "nettop", "incidents"]
    assert "on-expression@" in machine.run(*words).stdout


def test_the_journal_has_the_fields_of_each_event(machine: Machine) -> None:
    words = ("journalctl", "--no-pager", "-o", "json", "NETTOP_EVENT=incident")
    entry = json.loads(says(machine, *words, has="NETTOP_INCIDENT").splitlines()[0])
    assert entry["NETTOP_RULE"] == "on-expression"
    assert entry["NETTOP_SEVERITY"] == "critical"
    assert entry["NETTOP_INCIDENT"].endswith("-on-expression.host.gz")
    assert (entry["PRIORITY"], entry["SYSLOG_IDENTIFIER"]) == ("3", "nettop")
    assert (entry["_TRANSPORT"], entry["_SYSTEMD_UNIT"]) == ("journal", SERVICE)


def test_one_that_hangs_is_started_again_and_one_that_is_stopped_ends_well(
    machine: Machine,
) -> None:
    folder = f"/etc/systemd/system/{SERVICE}.d"
    limits = "[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\nRestartSec=1\n"
    machine.run("sh", "-c", f"mkdir -p {folder} && printf '{limits}' > {folder}/short.conf")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", SERVICE)
    machine.run("kill", "-STOP", shown(machine, "MainPID"))
    until(lambda: [shown(machine, "NRestarts"), shown(machine, "ActiveState")] == ["1", "active"])
    machine.run("systemctl", "stop", SERVICE)
    assert (shown(machine, "ActiveState"), shown(machine, "Result")) == ("inactive", "success")
    assert machine.run("ls", "/var/lib/nettop/box/waiting").stdout == ""
