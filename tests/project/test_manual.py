"""The manual page and the completions are what the program knows."""

import argparse
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from folded import folded

from nettop import cli, commands
from nettop.advice.rules.severity import SEVERITIES
from nettop.commands import _manual as manual
from nettop.commands import completion, man
from nettop.facts import PROFILES
from nettop.tui.keys import KEYS, shown_as

REPO = Path(__file__).parents[2]


def tracked() -> list[Path]:
    """The files of the project, as git has them; all but hidden ones outside a checkout."""
    words = ["git", "-C", str(REPO), "ls-files", "-z"]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode == 0 and done.stdout:
        named = [REPO / name for name in os.fsdecode(done.stdout).split("\0") if name]
    else:
        named = [path for path in REPO.rglob("*") if not re.search(r"/[._]", f"/{path}")]
    return [path for path in named if path.is_file()]


def test_the_manual_page_has_every_command_option_and_key() -> None:
    page = man.page().replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'")
    page = page.replace("\\(ga", "`")
    for command in manual.every():
        assert command.name == "top" or f"nettop {command.name}" in page
        assert all(option.shown in page for option in command.options)
    assert all(shown_as(key) in page for key in KEYS)
    assert all(typed in page for typed, _ in (*manual.EXAMPLES, *man.texts()["examples"].items()))


@pytest.mark.parametrize(
    ("name", "text"), [("nettop.1", "nettop advise"), ("nettop.7", "WHAT LIMITS A FLOW")]
)
def test_a_manual_page_is_sound_roff(name: str, text: str, tmp_path: Path) -> None:
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    page = tmp_path / name
    page.write_text(man.page() if name == "nettop.1" else man.concepts())
    words = ["man", "--warnings", "-l", str(page)]
    env = {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "MANWIDTH": "100",
        "MANPAGER": "cat",
        "MANROFFSEQ": "",
    }
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
    assert done.stderr == ""
    assert text in done.stdout


def test_the_concepts_are_those_of_the_code() -> None:
    assert list(man.texts()["profiles"]) == list(PROFILES)
    page = man.concepts()
    for text in (
        man.texts()["limit"],
        man.texts()["findings"],
        man.texts()["changes"],
        man.texts()["proof"],
        man.texts()["time"],
    ):
        assert text.split()[-1] in page
    assert all(word in man.texts()["findings"] for word in SEVERITIES)


def examples(name: str) -> list[list[str]]:
    """The examples of a command's help, as words after `nettop`, without values left open."""
    page = commands.command(name).__doc__ or ""
    typed = "nettop(?! [a-z])" if name == "top" else f"nettop {name}(?![-\\w])"
    lines = re.findall(rf"^ *({typed}.*)", page, re.MULTILINE)
    plain = [re.split(r" [|>] |  |; ", line)[0] for line in lines]
    return [shlex.split(line)[1:] for line in plain if not re.search(r"--\S+ [A-Z]+\b|…|`", line)]


@folded("name", commands.names())
def test_every_command_has_examples_that_its_parser_takes(name: str) -> None:
    known = examples(name)
    assert known, "no example in the help"
    for words in known:
        cli._command(name).parse_args(words[name != "top" :])


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_completion_is_sound(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(completion.script(shell))
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["adv"], "advise"),
        (["--rep"], "--replay"),
        (["advise", "--pro"], "--profile"),
        (["advise", "--profile", "bulk-l"], "bulk-lan"),
        (["show", "over"], "overview"),
        (["rules", "te"], "test"),
        (["completion", "f"], "fish"),
        (["replay", "pyproject"], "pyproject.toml"),
        (["--netns", "blue", "undo", "--al"], "--all"),
        (["advise", "--interface", "l"], "lo"),
        (["explain", "rx-ring-b"], "rx-ring-below-maximum"),
        (["prove", "RULE@eth0", "--tool", "bul"], "bulk"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_completes(shell: str, typed: list[str], offered: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    words = " ".join(shlex.quote(word) for word in ["nettop", *typed])
    asked = {
        "bash": f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _shtab_nettop; "
        'echo "${COMPREPLY[*]}"',
        "fish": f"complete -C {shlex.quote(' '.join(['nettop', *typed]))}",
    }[shell]
    script = completion.script(shell) + asked
    (tmp_path / "nettop").write_text(f'#!/bin/sh\nexec {sys.executable} -m nettop "$@"\n')
    (tmp_path / "nettop").chmod(0o755)
    paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPO / "src")}
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True,
                          env={**os.environ, **paths})  # fmt: skip
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [offered]


# --- what no file may name ----------------------------------------------------------------------


def private() -> Iterator[tuple[str, re.Pattern[bytes]]]:
    """Names of the place where this runs: checkout, home, environment, host, package index."""
    general = {
        "/",
        "/tmp",
        "/home",
        "/root",
        "/opt",
        "/srv",
        "/usr",
        "/usr/local",
        "/mnt",
        "/build",
    }
    places = {str(REPO), str(REPO.parent), str(Path.home())}
    if sys.prefix != sys.base_prefix:
        places |= {sys.prefix, os.path.realpath(sys.prefix)}
    for place in sorted(places - general):
        yield place, _alone(re.escape(place.encode()), rb"[\w.-]", rb"[\w-]")
    yield "a folder of root's", _alone(rb"/root\b/", rb"[\w}]", rb"\.")
    host = socket.gethostname().partition(".")[0]
    if len(host) > 4 and host not in ("localhost", "debian", "ubuntu", "runner"):
        yield "this host's name", _alone(re.escape(host.encode()), rb"\w", rb"\w")
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"):
        for index in os.environ.get(name, "").split():
            server = re.sub(r"^\w+://(?:[^@/]*@)?", "", index).partition("/")[0]
            if server and server != "pypi.org":
                yield "a package index", re.compile(re.escape(server.encode()))


def _alone(name: bytes, before: bytes, after: bytes) -> re.Pattern[bytes]:
    """A name that begins after and ends before none of these characters; it is looked for first."""
    return re.compile(name + rb"(?<!" + before + name + rb")(?!" + after + rb")")


def test_no_file_names_the_place_it_was_made_in() -> None:
    files = tracked()
    assert len(files) > 300
    names = list(private())
    found = [
        f"{path.relative_to(REPO)}: {what}"
        for path in files
        for content in [path.read_bytes()]
        for what, pattern in names
        if pattern.search(content)
    ]
    assert found == []


def test_options_that_argparse_knows_are_all_told() -> None:
    for name in commands.names():
        parser = argparse.ArgumentParser(add_help=False)
        commands.command(name).arguments(parser)
        shown = {word for one in parser._actions for word in one.option_strings
                 if one.help != argparse.SUPPRESS}  # fmt: skip
        one = next(command for command in manual.every() if command.name == name)
        assert shown == {word for option in one.options for word in option.names}
