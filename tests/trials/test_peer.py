"""The other end: how commands reach it, and that nothing there outlives nettop."""

import ast
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from folded import folded
from hang import until
from hypothesis import given
from hypothesis import strategies as st

from nettop.host import prefix
from nettop.trials import end as peer
from nettop.trials import run as runner
from nettop.trials.end import Absent
from nettop.trials.result import Options

FAR = Path(peer.__file__).parent / "far"


def test_a_plain_prefix_keeps_arguments_apart() -> None:
    found = peer.parse("ip netns exec 'name space'").command(["echo", "a b", "$(id)"])
    assert found == ["ip", "netns", "exec", "name space", "echo", "a b", "$(id)"]


def test_ssh_gets_one_quoted_argument() -> None:
    found = peer.parse("ssh -p 22 me@host").command(["echo", "a b", "$(id); rm *", "it's"])
    assert found[:4] == ["ssh", "-p", "22", "me@host"]
    assert len(found) == 5
    assert shlex.split(found[4]) == ["echo", "a b", "$(id); rm *", "it's"]


@folded(
    ("prefix", "joined"),
    [
        ("/usr/bin/ssh h", True),
        ("sudo ssh h", True),
        ("env LC_ALL=C ssh h", True),
        ("ip netns exec ssh", False),
        ("docker exec -i c", False),
    ],
)
def test_only_ssh_joins_its_words(prefix: str, joined: bool) -> None:
    assert (len(peer.parse(prefix).command(["a", "b"])) == len(prefix.split()) + 1) is joined


def test_no_prefix_is_this_host() -> None:
    assert peer.parse(None) == peer.parse("") == peer.HERE
    assert peer.HERE.command(["a", "b c"]) == ["a", "b c"]


def test_unbalanced_quotes_are_an_error() -> None:
    with pytest.raises(ValueError, match="peer"):
        peer.parse("ssh 'host")


@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1)
)
def test_any_words_survive_the_shell_of_ssh(words: list[str]) -> None:
    assert shlex.split(peer.parse("ssh h").command(words)[-1]) == words


@folded("path", sorted(FAR.glob("*.py")), ids=lambda path: path.stem)
def test_the_far_texts_run_on_python_3_6_with_its_own_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    modules = {
        (node.module if isinstance(node, ast.ImportFrom) else name.name) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    known = sys.stdlib_module_names | {
        f"nettop.trials.far.{name.stem}" for name in FAR.glob("*.py")
    }
    assert modules <= known
    assert "__future__" not in modules  # `annotations` came with 3.7


def test_a_command_runs_and_its_output_comes_back() -> None:
    code, said = peer.HERE.run(["sh", "-c", "echo one; echo two >&2; exit 3"])
    assert code == 3
    assert sorted(said.split()) == ["one", "two"]


def test_an_absent_program_is_one_sentence() -> None:
    with pytest.raises(peer.Absent, match="no-such-tool is not installed here"):
        peer.HERE.run(["no-such-tool"])


def test_a_program_that_no_folder_of_path_may_run_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's error is EACCES then, as for a folder that may not be searched."""
    (tmp_path / "no-such-tool").touch(mode=0o644)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(peer.Absent, match="no-such-tool is not installed here"):
        peer.HERE.run(["no-such-tool"])


def test_a_prefix_that_cannot_run_is_one_sentence() -> None:
    with pytest.raises(peer.PeerError, match="cannot run no-such-prefix: No such file"):
        peer.parse("no-such-prefix host").start("program", {"argv": ["true"]})


def test_a_prefix_that_fails_says_what_it_printed() -> None:
    with pytest.raises(peer.PeerError, match="connection refused"):
        peer.parse("sh -c 'echo connection refused >&2; exit 255'").run(["true"])


def test_noise_before_the_first_message_is_no_message() -> None:
    noisy = peer.parse("""sh -c 'echo "Last login: today"; exec "$@"' --""")
    assert noisy.run(["echo", "hello"]) == (0, "hello")


@pytest.mark.needs("root")
def test_a_prefix_and_a_tool_are_found_where_root_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ip", "env", "python3"):
        (tmp_path / name).write_text("#!/bin/sh\necho hijacked >&2\nexit 255\n")
        (tmp_path / name).chmod(0o755)
        os.chown(tmp_path / name, 65534, 65534)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert peer.HERE.run(["ip", "-V"])[1].startswith("ip utility")
    assert peer.parse("env A=b").run(["env"])[1].count("A=b") == 1


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: list[int]) -> None:
    """Wait until all have ended."""
    until(lambda: not any(map(alive, pids)))


def test_closing_kills_what_was_started() -> None:
    end = peer.HERE.start("program", {"argv": ["sleep", "600"]})
    pid = end.wait_for("pid")["pid"]
    assert alive(pid)
    end.close()
    gone([pid, end.process.pid])


def test_stopping_lets_a_tool_say_its_last_words() -> None:
    script = "trap 'echo summary; exit 0' INT; echo ready; while :; do sleep 0.05; done"
    with peer.HERE.start("program", {"argv": ["bash", "-c", script]}) as end:
        assert end.wait_for("out")["out"] == "ready"
        end.stop()
        assert end.wait_for("out")["out"] == "summary"
        assert end.wait_for("exit")["exit"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_nothing_outlives_a_killed_nettop(number: int) -> None:
    program = (
        "import signal, time\n"
        "from nettop.trials import end as peer\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # nohup's children would not end
        "end = peer.HERE.start('program', {'argv': ['sh', '-c', 'sleep 600 & sleep 600; :']})\n"
        "print(end.process.pid, end.wait_for('pid')['pid'], flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as own:
        assert own.stdout is not None
        pids = [int(word) for word in own.stdout.readline().split()]
        # the shell starts its two children when it gets to it
        until(lambda: len(members(pids[1])) == 3)
        group = members(pids[1])
        own.send_signal(number)
    gone([*pids, *group])


def members(group: int) -> list[int]:
    """The processes of a process group."""
    return [
        pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if in_group(pid, group)
    ]


def in_group(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group
    except ProcessLookupError:
        return False


def test_a_killed_keeper_takes_its_program_with_it() -> None:
    end = peer.HERE.start("program", {"argv": ["sleep", "600"]})
    pid = end.wait_for("pid")["pid"]
    end.process.kill()
    gone([pid])
    end.close()


# Behind a prefix without Python, the helpers of a test run in the Python of the one file there.


FILE = f'#!/bin/sh\nshift; exec {sys.executable} -I -S -u -c "$@"\n'


def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    """A test between this host and one whose programs are in the folder."""
    monkeypatch.setattr(prefix, "FILES", set())
    monkeypatch.setattr(prefix, "_FILE", prefix._FILE.replace(prefix.ROOTS, f"{folder}/none"))
    for name in ("sh", "id"):
        (folder / name).symlink_to(str(shutil.which(name)))
    to = "127.0.0.1"
    return Options(to, f"env PATH={folder}", seconds=0.2, warmup=0.0, rate=1e7, no_ends=True)


def test_the_file_there_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = bare(tmp_path, monkeypatch)
    (tmp_path / "nettop").write_text(FILE)
    (tmp_path / "nettop").chmod(0o755)
    assert runner.run("bulk", options).bits_per_second
    assert {("env", f"PATH={tmp_path}")} == prefix.FILES


def test_without_it_python_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Absent, match="python3 is not installed at env"):
        runner.run("bulk", bare(tmp_path, monkeypatch))
