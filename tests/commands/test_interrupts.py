"""An interrupt during the start of a command ends it quietly, whatever Python makes of it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from hang import HANG

HOST: Final = str(Path(__file__).parents[1] / "hosts/guest-transfer.host")
PROGRAM: Final = Path(__file__).parents[1] / "support/interrupted.py"
QUIET: Final = (130, "")
ADVISE: Final = ["advise", "--seconds", "0.1", "--replay", HOST]
COMMANDS: Final = [ADVISE,
                   ["metrics", "--seconds", "0.1", "--replay", HOST],
                   ["top", "--plain", "--replay", HOST],
                   ["record", "-", "--seconds", "0.1", "--replay", HOST],
                   ["fleet", HOST], ["get", "link.mtu@lo"], ["--help"]]  # fmt: skip

# the C code of a property makes the signal pending, and no bytecode runs before the import does
PENDING: Final = """
import _thread, signal
Number = type("Number", (int,), {"send": property(_thread.interrupt_main)})
number = Number(signal.SIGINT)
"""
LOST: Final = PENDING + "def read(*_):\n    number.send\n    from os import no_such_name"
CLASS: Final = """
import os, signal
class Name:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
def read(*_):
    class Row:
        name = Name()
"""
CLEANUP: Final = """
import os, signal
def read(*_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        raise ValueError("cannot clean up")
"""
HANDLED: Final = """
import os, signal
from nettop.files import interrupt
def read(*_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        interrupt.handled()
    raise ValueError("a fault")
"""


def start(place: str, code: str, words: Sequence[str] = ADVISE) -> tuple[int, str]:
    """Exit code and stderr of a command with this code as the function `read` at a place."""
    imports = "import sys\nfrom nettop import __main__, cli, collect, commands"
    program = f"{code}\n{imports}\n{place} = read"
    ends = f"sys.argv[1:] = {words!r}\nsys.exit(__main__.main())"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{ends}"], capture_output=True, text=True,
        timeout=HANG, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("code", [LOST, CLASS], ids=["TypeError", "RuntimeError"])
@pytest.mark.parametrize("place", ["commands.run", "collect.collector('softnet').update"])
def test_an_interrupt_that_python_replaces_ends_the_program(place: str, code: str) -> None:
    assert start(place, code) == QUIET


@pytest.mark.parametrize("code", [LOST, CLASS], ids=["TypeError", "RuntimeError"])
def test_an_interrupt_that_python_replaces_ends_a_refusal(code: str) -> None:
    assert start("cli._refused", code, ["advise", "--no-such-option"]) == QUIET


@pytest.mark.parametrize("code", [CLEANUP, HANDLED], ids=["cleaning up", "handled"])
def test_a_fault_after_an_interrupt_is_reported(code: str) -> None:
    status, errors = start("commands.run", code)
    assert status == 3
    assert "internal error in advise: ValueError" in errors


@pytest.mark.nightly
def test_an_interrupt_at_each_import_is_quiet(tmp_path: Path) -> None:
    report = tmp_path / "report"
    subprocess.run(
        [sys.executable, str(PROGRAM), str(report)], input=json.dumps(COMMANDS), text=True,
        timeout=HANG, check=True, env={**os.environ, "NETTOP_STATE": str(tmp_path)},
    )  # fmt: skip
    rows = [json.loads(line) for line in report.read_text().splitlines()]
    ends = {(words[0], module): (code, errors) for words, module, code, _, errors in rows}
    assert {words for words, _ in ends} >= {"advise", "metrics", "top", "fleet"}
    assert len(ends) > 300
    killed = (-2, "")  # before the command runs, the signal ends the process
    assert {key: end for key, end in ends.items() if end not in (QUIET, killed)} == {}
