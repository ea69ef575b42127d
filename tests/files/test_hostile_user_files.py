"""Rules, configuration, results, journal that are hostile: named, left out, the rest works."""

import json
import os
import re
from pathlib import Path

import pytest
from limited import Limited

from nettop.advice.rules.file import build
from nettop.advice.rules.load import load, read
from nettop.advice.rules.written import RuleError
from nettop.changes.journal import Journal
from nettop.files import bounds
from nettop.trials import results

HOST = str(Path(__file__).parents[1] / "hosts/guest-idle.host")
RULE = """severity = 'info'
over = 'host'
when = '''host.cpus > 0'''
title = 'seen'
why = 'seen'
[[source]]
doc = 'x'
"""
MANY = 60_000
BAD_TOML = {
    "deep": "x = " + "[" * MANY,
    "tables": "x = " + "{a=" * 1000 + "1" + "}" * 1000,
    "levels": "x = " + "[" * 70 + "]" * 70,
    "digits": "x = 1" + "0" * 4500,
    "dots": ".".join("a" * 3000) + " = 1",
    "long": "x = 1\n" * 20_000,
    "cut": "x = [",
}


def put(path: Path, kind: str) -> None:
    """Something that is no file of text in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text(BAD_TOML[kind])


ODD = ["fifo", "device", "loop", "folder", *BAD_TOML]


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("place", ["config.toml", "rules/mine.toml"])
def test_a_hostile_file_is_named_and_the_rest_works(
    place: str, kind: str, tmp_path: Path, limited: Limited
) -> None:
    home = tmp_path / "XDG_CONFIG_HOME/nettop"
    put(home / place, kind)
    (home / "rules").mkdir(exist_ok=True)
    (home / "rules/good.toml").write_text(RULE)
    done = limited("advise", "--all", "--fail-on", "never", "--replay", HOST)
    assert done.returncode == 0, done.stderr
    assert "good@host" in done.stdout
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"nettop: ignored: {home / place}")
    assert len(done.stderr) < 600


@pytest.mark.parametrize("word", ["1e999", "-1e999", "10**3", "1" + "0" * 30, "0x" + "f" * 500])
def test_a_number_that_no_counter_reaches_is_named_with_file_and_key(
    word: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(RULE.replace("> 0", f"> {word}"))
    with pytest.raises(RuleError, match=r"mine\.toml:3: when: "):
        read(path)


@pytest.mark.parametrize("word", ["inf", "-inf", "nan", "1e999", "1" + "0" * 400])
def test_a_threshold_that_is_no_number_is_named(
    word: str, tmp_path: Path, limited: Limited
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(RULE + f"[limits]\nvalue = {word}\n")
    with pytest.raises(RuleError, match=r"mine\.toml:\d+: limits\.value: "):
        read(path)
    home = tmp_path / "XDG_CONFIG_HOME/nettop"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(f"[limits.rx-ring-overrun]\ndrops = {word}\n")
    done = limited("rules", "list")
    assert done.returncode == 0
    assert "config.toml: limits.rx-ring-overrun.drops has an invalid value" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "(" * 900 + "1" + ")" * 900,
        "not " * 400 + "True",
        "-" * 1500 + "1 > 0",
        "1+" * 900 + "1 > 0",
    ],
)
def test_an_expression_that_is_nested_too_deeply_is_one_sentence(text: str) -> None:
    with pytest.raises(RuleError) as wrong:
        build(Path("x/mine.toml"), RULE.replace("host.cpus > 0", text))
    assert "\n" not in str(wrong.value)


def test_a_folder_of_more_rules_than_the_bound_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = bounds.Bound(3, "files", "a folder of rules", "")
    monkeypatch.setitem(bounds.BOUNDS, "rules", few)
    for number in range(4):
        (tmp_path / f"a{number}.toml").write_text(RULE)
    told: list[str] = []
    assert load([tmp_path], tell=told.append) == ()
    assert told == [f"{tmp_path}: more than 3 files, the bound of a folder of rules"]


BAD_JSON = {
    "deep": "[" * 100_000,
    "levels": '{"at": 1, "x": ' + "[" * 70 + "]" * 70 + "}",
    "late": '{"at": 1e999}',
    "early": '{"at": -1e30}',
    "digits": '{"at": 1' + "0" * 5000 + "}",
    "figure": '{"at": 1, "bits_per_second": "fast"}',
    "kind": '{"kind": ["test"]}',
    "list": "[1]",
    "cut": '{"at"',
}


@pytest.mark.parametrize("kind", ["fifo", "device", "loop", "folder", *BAD_JSON])
def test_a_hostile_result_hides_no_other(kind: str, tmp_path: Path, limited: Limited) -> None:
    folder = tmp_path / "XDG_STATE_HOME/nettop/results"
    bad = folder / "20260101-000000-test.json"
    if kind in BAD_JSON:
        folder.mkdir(parents=True)
        bad.write_text(BAD_JSON[kind])
    else:
        put(bad, kind)
    results.keep("test", {"tool": "iperf3", "to": "192.0.2.1", "bits_per_second": 1e9}, folder)
    done = limited("results", "list")
    assert done.returncode == 0, done.stderr
    assert "iperf3 to 192.0.2.1" in done.stdout
    assert re.fullmatch(r"nettop: ignored: .*20260101-000000-test.*\n", done.stderr), done.stderr
    done = limited("show", "tests", "--once", "--replay", HOST)
    assert done.returncode == 0, done.stderr
    assert "iperf3" in done.stdout
    done = limited("results", "show", bad.stem)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", [*BAD_JSON, "long", "binary"])
def test_a_hostile_line_of_the_journal_hides_no_other(
    kind: str, tmp_path: Path, limited: Limited
) -> None:
    place = tmp_path / "NETTOP_STATE"
    place.mkdir(mode=0o700)
    entry = {"event": "begin", "id": 1, "at": 1.0, "setting": "ring.rx@eth0", "before": "1"}
    good = json.dumps({**entry, "wanted": "2"})
    more = {"figure": '{"at": "1"}', "kind": '{"id": "1"}', "long": '{"x": "' + "y" * 10**6 + '"}'}
    bad = {**BAD_JSON, **more, "binary": "\0\x01\x02"}[kind]
    (place / "journal.jsonl").write_text(f"{bad}\n{good}\n{bad}\n")
    assert [one.id for one in Journal(str(place)).entries()] == [1]
    done = limited("journal")
    assert done.returncode == 0, done.stderr
    assert "ring.rx@eth0" in done.stdout
    told = [line for line in done.stderr.splitlines() if "ignored" in line]
    assert [line.rpartition("jsonl:")[2] for line in told] == [
        f"{number}: not a line of the journal" for number in (1, 3)
    ]


@pytest.mark.parametrize("kind", ["fifo", "device", "loop", "folder"])
def test_a_journal_that_is_no_file_is_one_sentence(
    kind: str, tmp_path: Path, limited: Limited
) -> None:
    put(tmp_path / "NETTOP_STATE/journal.jsonl", kind)
    done = limited("journal")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "internal error" not in done.stderr
