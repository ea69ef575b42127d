"""Exit codes and lines of commands whose answers are short."""

import errno
from pathlib import Path

import pytest

from nettop import settings
from nettop.cli import main
from nettop.commands import absent
from nettop.host.recording import Replay

HOST = Path(__file__).parents[1] / "hosts/vm-send-buffer.host"
SMALL = """-- /proc/net/dev --
Inter-|   Receive
 face |bytes
  eth0: 1 2
-- /proc/sys/net/core/ --
netdev_max_backlog
somaxconn
-- /proc/sys/net/core/somaxconn --
128
"""


def test_a_snapshot_that_has_tables_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["snapshot", "--replay", str(HOST)]) == 0
    assert "links: " in capsys.readouterr().out


def test_a_finding_on_a_target_is_muted_by_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mute", "rx-ring-overrun@eth0"]) == 0
    assert capsys.readouterr().out == "rx-ring-overrun@eth0: muted\n"
    assert main(["mute", "eth0@rx-ring-overrun"]) == 2
    assert "no rule 'eth0'" in capsys.readouterr().err
    assert main(["mute", "--remove", "rx-ring-overrun@eth0"]) == 0


def test_the_schema_of_a_command_and_of_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "advise"]) == 0
    assert capsys.readouterr().out.startswith("{")
    assert main(["schema", "advice"]) == 2
    assert "no JSON schema for 'advice'" in capsys.readouterr().err


def test_only_the_first_stage_of_a_ladder_is_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "10.77.2.2:5201", "--replay", str(HOST)]) == 0
    marks = [text.strip()[0] for text in capsys.readouterr().out.splitlines() if text.strip()]
    ladder = [mark for mark in marks if mark in "✗·"]
    assert ladder[0] == "✗"
    assert set(ladder[1:]) == {"·"}


@pytest.mark.parametrize(
    ("setting", "number", "message"),
    [
        ("ring.rx@eth9", errno.ENOENT, "no interface 'eth9' on this host"),
        ("ring.rx@eth9", errno.EPERM, None),
        ("ring.rx@eth0", errno.ENODEV, None),  # the interface is there: another reason
        ("cpufreq.governor@0", errno.ENOENT, None),  # its target is no interface
        ("sysctl.net.core.somaxcon", errno.ENOENT, "did you mean somaxconn"),
    ],
)
def test_an_absent_target_is_named(setting: str, number: int, message: str | None) -> None:
    error = OSError(number, "No such file or directory")
    refused = absent(Replay(SMALL), settings.parse(setting), error)
    if message is None:
        assert refused is None
    else:
        assert message in str(refused)
