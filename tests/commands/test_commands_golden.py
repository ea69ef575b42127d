"""What commands print of recorded hosts and stored results, as golden text with the exit code.

`pytest tests/commands/test_commands_golden.py --update` writes the files anew.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_text import same

from nettop.cli import main
from nettop.trials import results

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden/commands"
DEMO = str(TESTS.parent / "rules/demo.host.gz")
SEND = str(TESTS / "hosts/vm-send-buffer.host")
DROPS = str(TESTS / "hosts/vm-vmxnet3-drops.host")
IDLE = str(TESTS / "hosts/guest-idle.host")
TRANSFER = str(TESTS / "hosts/guest-transfer.host")
RULES = str(TESTS / "collect/two-thousand-rules.host.gz")
SLOW = str(TESTS / "collect/slow-reader.host")
RING = "rx-ring-overrun@ens2np0"
AT = "--replay"

RUNS = {
    "advise": ["advise", AT, DEMO],
    "advise-idle": ["advise", AT, IDLE],
    "advise-interface": ["advise", "--interface", "lo", "--fail-on", "never", AT, DEMO],
    "advise-nagios": ["advise", "--format", "nagios", AT, DEMO],
    "advise-nagios-idle": ["advise", "--format", "nagios", AT, IDLE],
    "apply": ["apply", RING, "--dry-run", AT, DEMO],
    "apply-nothing": ["apply", "no-such-rule@host", "--dry-run", AT, DEMO],
    "compare": ["compare", SEND, DROPS],
    "compare-same": ["compare", SEND, SEND],
    "explain": ["explain", "rx-ring-overrun", "ens2np0", AT, DEMO],
    "explain-not": ["explain", "rx-ring-overrun", "enp0s12", AT, SEND],
    "export": ["export", RING, AT, DEMO],
    "export-sysctl": ["export", "sysctl.net.ipv4.tcp_sack=1", "--format", "sysctl", AT, SEND],
    "fleet": ["fleet", SEND, DROPS, IDLE],
    "get": ["get", "ring.rx@ens2np0", "sysctl.net.ipv4.tcp_rmem", AT, DEMO],
    "get-json": ["get", "ring.rx@ens2np0", "sysctl.net.ipv4.tcp_rmem", "--json", AT, DEMO],
    "get-some": ["get", "ring.rx@eth9", "ring.rx@ens2np0", AT, DEMO],
    "get-absent": ["get", "ring.rx@eth9", AT, DEMO],
    "journey": ["journey", AT, SLOW],
    "journey-flow": ["journey", "127.0.0.1:40000>127.0.0.1:7003", AT, SLOW],
    "journey-interface": ["journey", "eth0", AT, SLOW],
    "journey-not": ["journey", AT, SEND],
    "limits": ["limits"],
    "limits-jumbo": ["limits", "--speed", "100G", "--mtu", "9000", "--vlan", "2", "--ipv6"],
    "limits-path": ["limits", "--speed", "10G", "--rtt", "20ms", "--no-timestamps"],
    "limits-udp": ["limits", "--speed", "25G", "--protocol", "udp"],
    "mute": ["mute"],
    "profile": ["profile", AT, RULES],
    "profile-core": ["profile", "1", AT, RULES],
    "profile-json": ["profile", "0", "--json", AT, RULES],
    "profile-process": ["profile", "10898", AT, RULES],
    "profile-stacks": ["profile", "--format", "folded", AT, RULES],
    "profile-not": ["profile", AT, SEND],
    "rate": ["rate", "ens2np0", AT, DEMO],
    "rate-absent": ["rate", "eth9", AT, DEMO],
    "results-compare": ["results", "compare", "20261120-141801-test", "20261120-141804-test"],
    "results-learned": ["results", "learned"],
    "results-list": ["results", "list"],
    "results-prove": ["results", "show", "20261120-141820-prove"],
    "results-study": ["results", "show", "20261120-141849-study"],
    "results-sweep": ["results", "show", "20261120-141836-sweep"],
    "results-tune": ["results", "show", "20261120-141848-tune"],
    "set": ["set", "ring.rx@ens2np0", "8192", "--dry-run", AT, DEMO],
    "set-same": ["set", "ring.rx@ens2np0", "1024", "--dry-run", AT, DEMO],
    "set-too-much": ["set", "ring.rx@ens2np0", "999999", "--dry-run", AT, DEMO],
    "study-show": ["study", "show", "nasa-2"],
    "watch": ["watch", "--for", "5", AT, DEMO],
    "why": ["why", AT, SEND],
    "why-drops": ["why", AT, DROPS],
    "why-flows": ["why", AT, TRANSFER],
    "why-nothing": ["why", "10.9.9.9", AT, SEND],
}


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("name", RUNS)
def test_golden(
    name: str,
    tmp_path: Path,
    update: bool,
    utc: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "journal"))
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(TESTS / "results", results.folder())
    code = main(RUNS[name])
    out, err = capsys.readouterr()
    text = "".join(f"{part}\n" for part in (out.rstrip(), err.rstrip(), f"exit {code!r}") if part)
    text = text.replace(str(tmp_path), "TMP").replace(str(TESTS), "TESTS")
    path = GOLDEN / f"{name}.txt"
    same(path, text, update)


def test_no_golden_file_is_left() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(RUNS)
