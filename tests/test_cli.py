"""The command line as other programs see it: exit codes, one sentence, JSON on stdout."""

import json
from pathlib import Path

import pytest

from nettop import commands
from nettop.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize("name", commands.names())
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert f"usage: nettop {name}" in out
    assert commands.command(name).HELP


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in commands.names():
        assert f"  {name} " in out


@pytest.mark.parametrize(
    ("words", "say"),
    [
        (["advice"], "did you mean advise"),
        (["advise", "--profile", "bulk"], "bulk-lan"),
        (["advise", "--seconds", "never"], "not a duration"),
        (["snapshot", "--table", "interrupt"], "did you mean interrupts"),
        (["advise", "--root", "/nowhere"], "no such directory"),
        (["advise", "--replay", "/nowhere"], "cannot read /nowhere"),
        (["advise", "--netns", "nowhere"], "no network namespace"),
        (["advise", "--interface", "lol", "--seconds", "0.1"], "no interface 'lol'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence(
    words: list[str], say: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *words)
    assert code in (2, 3)
    assert say in err
    assert out == ""
    assert len(err.strip().splitlines()) == 1


def test_a_directory_with_nothing_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "advise", "--json", "--seconds", "0.1", "--root", str(tmp_path), "--fail-on", "info"
    )
    assert code in (0, 3)
    if code == 0:
        found = json.loads(out)
        assert found["findings"] == []
        assert found["missing"]
