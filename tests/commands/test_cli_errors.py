"""What is typed wrongly, closed, full, cut or hostile: one sentence, an exit code, no traceback."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hang import HANG, until
from open_files import open_files
from warm import Warm

from nettop import commands, config
from nettop.cli import main
from nettop.commands import escape_controls, print_lines

HOSTS = Path(__file__).parents[1] / "hosts"
HOST = HOSTS / "guest-transfer.host"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def nettop(*words: str, **environment: str | None) -> subprocess.CompletedProcess[bytes]:
    """Run nettop as a process."""
    env = {key: value for key, value in os.environ.items() if environment.get(key, "") is not None}
    env |= {key: value for key, value in environment.items() if value is not None}
    line = [sys.executable, "-m", "nettop", *words]
    return subprocess.run(line, env=env, capture_output=True, timeout=HANG, check=False)


def one_sentence(told: bytes) -> str:
    text = told.decode()
    assert text.startswith("nettop: "), text
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    assert "internal error" not in text
    return text


def test_set_without_its_words_names_each_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["set"]) == 2
    assert "required: SETTING, VALUE; see nettop set --help" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage", ["cut gz", "flipped gz", "not deflate", "noise", "nothing", "no moment", "a folder"]
)
def test_a_recording_that_is_none_is_one_sentence(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a\x1b[31m.host"
    packed = gzip.compress(HOST.read_bytes())
    half = len(packed) // 2
    if damage == "a folder":
        file.mkdir()
    else:
        file.write_bytes(
            {
                "cut gz": packed[:half],
                "flipped gz": packed[:half] + bytes([packed[half] ^ 0xFF]) + packed[half + 1 :],
                "not deflate": packed[:10] + b"\xff" * 40,
                "noise": bytes(range(256)),
                "nothing": b"",
                "no moment": b"x\n-- @\x1b[2J --\n-- /a --\n",
            }[damage]
        )
    code = main(["advise", "--seconds", "1", "--replay", str(file)])
    out, err = capsys.readouterr()
    assert code == 3
    assert out == ""
    assert "\x1b" not in err
    one_sentence(err.encode())


def test_a_recording_cut_in_its_first_moment_is_still_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HOST.read_text(errors="surrogateescape")
    file = tmp_path / "cut.host"
    file.write_text(text[: text.index("-- @0.982")], errors="surrogateescape")
    assert main(["show", "overview", "--once", "--replay", str(file)]) == 0
    assert "WHAT LIMITS eth0" in capsys.readouterr().out


def test_a_recording_that_takes_long_says_so_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "MANY", 1)
    assert main(["show", "overview", "--once", "--replay", str(HOST)]) == 0
    assert re.search(
        r"has \d+ moments: reading them takes a while$", capsys.readouterr().err, re.MULTILINE
    )


def test_what_a_terminal_could_obey_is_escaped_in_json() -> None:
    name = 'a\x1b[31m\x7f\x9b\u202e\u2028"\udcff\U000e0001é'
    text = escape_controls(json.dumps({"name": name}, ensure_ascii=False))
    assert re.fullmatch(r"[\x20-\x7eé]*", text)
    assert json.loads(text) == {"name": name.replace("\udcff", "?")}


def test_a_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines("eth0\n✗ forged finding", "\x1b]0;title\x07")
    assert capsys.readouterr().out == "eth0␊✗ forged finding\n␛]0;title␇\n"


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ("theme = [", "config.toml: "),
        ("thme = 'dark'", "did you mean theme"),
        ("theme = 1", "theme has an invalid value: 1"),
        ("[limits.no-such-rule]\na = 1", "no such rule"),
        ("[limits]\nrx-ring-overrun = 3", "table of numbers"),
        ("limits = 3", "limits has an invalid value: 3"),
    ],
)
@pytest.mark.parametrize("command", ["advise", "watch", "show", "explain", "compare"])
def test_what_is_wrong_in_a_configuration_is_named_and_the_rest_works(
    command: str, text: str, say: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "config" / "nettop"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f"{text}\n")
    words = {
        "show": ["show", "overview", "--once"],
        "explain": ["explain", "rx-ring-overrun"],
        "compare": ["compare", str(HOST), str(HOST)],
    }.get(command, [command])
    where = [] if command == "compare" else ["--replay", str(HOST)]
    assert main([*words, *where]) in (0, 1)
    out, err = capsys.readouterr()
    assert out or command == "watch"
    assert say in one_sentence(err.encode())


@pytest.mark.parametrize("text", ["title = ", "\xff", "title = 'x'"])
def test_a_rule_of_the_user_that_is_wrong_is_named_and_the_others_judge(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "config" / "nettop" / "rules"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_bytes(text.encode("latin-1"))
    good = "severity = 'info'\nover = 'host'\nwhen = 'host.cpus > 0'\n"
    good += "title = 'seen'\nwhy = 'seen'\n[[source]]\ndoc = 'x'\n"
    (folder / "other.toml").write_text(good)
    assert main(["advise", "--all", "--fail-on", "never", "--replay", str(HOST)]) == 0
    out, err = capsys.readouterr()
    assert "other" in out
    assert "mine.toml" in one_sentence(err.encode())


def test_no_home_is_no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("pwd.getpwuid", lambda user: dict[int, object]()[user])
    assert config.load().get("theme", "dark") == "dark"
    assert config.muted() == []
    assert not config.state_folder().exists()


@pytest.mark.parametrize("home", ["/dev/null", "/nonexistent", "relative"])
def test_an_odd_home_does_not_keep_nettop(home: str, warm: Warm) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    words = ["advise", "--seconds", "1", "--replay", str(HOST)]
    done = warm.run(words, {**env, "HOME": home})
    assert done.returncode == 0, done.stderr
    assert b"guest" in done.stdout or b"host" in done.stdout


@pytest.mark.parametrize(
    ("encoding", "words"),
    [("ascii", ["advise", "--all"]), ("latin-1", ["show", "overview", "--once"])],
)
def test_an_encoding_that_lacks_a_sign_shows_another(encoding: str, words: list[str]) -> None:
    done = nettop(*words, "--replay", str(HOST), PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_locale_of_ascii_gets_ascii() -> None:
    bare: dict[str, str | None] = {"LC_ALL": None, "LC_CTYPE": None, "LANG": "POSIX"}
    done = nettop("x✓", **{**bare, "LC_ALL": "C"})
    assert (done.stdout + done.stderr).isascii()
    assert done.returncode == 2
    asked = ["advise", "--json", "--all", "--replay", str(HOST)]
    plain, rich = nettop(*asked, **bare), nettop(*asked, LC_ALL="C.UTF-8")
    assert plain.stdout.isascii()
    assert not rich.stdout.isascii()
    assert json.loads(plain.stdout)["findings"] == json.loads(rich.stdout)["findings"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_recording_that_is_stopped_is_whole(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "stopped.host.gz"
    line = [sys.executable, "-m", "nettop", "record", str(file), "--seconds", "1h"]
    line += ["--interval", "0.2"]
    with subprocess.Popen(line, stderr=subprocess.PIPE) as process:
        # the incomplete file has no name; it has bytes after the first sample

        def begun() -> bool:
            assert process.poll() is None
            found = open_files(process.pid)
            return any(size for name, size in found if name.startswith(f"{tmp_path}/"))

        until(begun)
        process.send_signal(number)
        _, err = process.communicate(timeout=HANG)
    assert b"Traceback" not in err
    assert process.returncode == 0
    assert main(["snapshot", "--table", "cpu", "--replay", str(file)]) == 0


def test_a_package_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(_name: str, _args: object) -> int:
        raise ModuleNotFoundError("No module named 'textual'", name="textual")

    monkeypatch.setattr("nettop.commands.run", missing)
    assert main(["top"]) == 3
    assert "needs the Python package textual" in one_sentence(capsys.readouterr().err.encode())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("list a", "results list takes no ID"),
        ("show", "results show needs one ID"),
        ("compare a", "results compare needs two IDs"),
        ("learned a b", "results learned takes at most one setting"),
    ],
)
def test_results_name_the_arguments_that_they_need(
    words: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["results", *words.split()]) == 2
    assert one_sentence(capsys.readouterr().err.encode()) == f"nettop: {text}\n"


def test_a_file_that_a_command_cannot_read_is_no_internal_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(_name: str, _args: object) -> int:
        raise FileNotFoundError(2, "No such file or directory", "/proc/net/x")

    monkeypatch.setattr("nettop.commands.run", absent)
    assert main(["rate", "eth0"]) == 3
    error = one_sentence(capsys.readouterr().err.encode())
    assert error.strip() == "nettop: No such file or directory: /proc/net/x"


@pytest.mark.parametrize(
    ("words", "say"),
    [
        (["advise", "--interface", "eth9"], "did you mean eth0"),
        (["watch", "--interface", "eth9"], "did you mean eth0"),
        (["show", "nic", "--once", "--interface", "eth9"], "did you mean eth0"),
        (["get", "link.mtu@eth9"], "did you mean eth0"),
        (["get", "sysctl.net.core.rmem_maxx"], "did you mean rmem_max"),
        (["rate", "eth9"], "did you mean eth0"),
        (["explain", "rx-ring-overrun", "eth9"], "no target 'eth9'"),
    ],
)
def test_a_name_that_is_not_there_is_named_with_the_nearest(
    words: list[str], say: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--replay", str(HOST)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert say in one_sentence(err.encode())


def test_of_many_targets_a_few_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    many = HOST.parent / "big-256.host.gz"
    assert main(["explain", "irq-core-saturated", "cpu999", "--replay", str(many)]) == 2
    told = one_sentence(capsys.readouterr().err.encode())
    assert "targets: cpu0, cpu1," in told
    assert "cpu7 and 248 more) (did you mean cpu99?)" in told


@pytest.mark.parametrize(
    ("setting", "say"),
    [("link.mtu@loo", "did you mean lo"), ("sysctl.net.core.rmem_maxx", "did you mean rmem_max")],
)
def test_what_is_to_be_set_must_be_there(
    setting: str, say: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["set", setting, "1500", "--dry-run"]) == 2
    assert say in one_sentence(capsys.readouterr().err.encode())


@pytest.mark.parametrize("name", ["nosuch", "../../etc", "../netns"])
def test_a_namespace_is_a_name_not_a_path(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--netns", name]) == 2
    told = capsys.readouterr().err
    assert "no network namespace" in told
    assert told.count("\n") == 1


def test_without_root_the_line_to_type_is_said_and_the_expert_s_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    monkeypatch.setattr("nettop.changes.privilege.may", lambda: False)
    assert main(["set", "link.txqueuelen@lo", "4712", "--json"]) == 4
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["state"] == "refused"
    assert "this needs root: sudo " in change["because"]
    assert "set link.txqueuelen@lo 4712 --before=" in change["because"]
    assert change["shell"] == "ip link set dev lo txqueuelen 4712"


CHANGING = [
    "mute pause-off", "confirm", "confirm 1", "undo 1", "undo --all", "set link.mtu@lo 1400",
    "apply pause-off@eth0", "prove pause-off@eth0 --to 10.0.0.2", "tune --to 10.0.0.2",
    "sweep link.mtu@lo --value 1400 --to 10.0.0.2", "study run nasa-2 --to 10.0.0.2",
    "test bulk --to 10.0.0.2",
]  # fmt: skip


@pytest.mark.parametrize("first", [False, True], ids=["after", "before"])
@pytest.mark.parametrize("words", CHANGING)
def test_nothing_of_this_host_is_changed_for_a_recording(
    words: str, first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "root").mkdir()
    for where in (["--replay", "rules/demo.host.gz"], ["--root", str(tmp_path / "root")]):
        typed = [*where, *words.split()] if first else [*words.split(), *where]
        assert main(typed) == 2
        told = capsys.readouterr()
        assert (told.out, len(told.err.splitlines())) == ("", 1)
        assert where[0] in told.err or "needs the running host" in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
