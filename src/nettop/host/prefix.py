"""The command prefix that runs a command at another host, and programs sent there.

`ssh host`, `ip netns exec b`, `sudo ip netns exec b`, `kubectl exec POD --`. A program is the
source text of a module and of the modules of its folder that it imports; the far Python reads it as
one line of JSON and runs it. Nothing is written there.
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from ..files.trust import path, program
from ..terms.text import safe

# Read one line with all sources, then run them. `python3 -` would read until end of file, but that
# means that nettop has ended.
TERMINAL: Final = "this prefix has a terminal, which changes what is sent: leave out -t"
START: Final = (
    f"import sys,json;sys.stdin.isatty() and sys.exit('{TERMINAL}');line=sys.stdin.readline();"
    "line or sys.exit('this prefix does not pass on standard input: docker and kubectl need "
    "exec -i, ssh no -n');job=json.loads(line);exec(job['boot'])"
)
# -I -S: ignore the environment and installed packages of that host; it also starts faster
PYTHON: Final = ("python3", "-I", "-S", "-u", "-c")
ROOTS: Final = "/opt/nettop/nettop"  # the one file that `install` puts at another host, for root
_FILE: Final = (
    f'file={ROOTS}; [ "$(id -u)" = 0 ] || '
    "file=${XDG_CACHE_HOME:-${HOME-}/.cache}/nettop/nettop;"
    ' [ -x "$file" ] || file=nettop; exec "$file" _python "$@"'
)
FILES: Final[set[tuple[str, ...]]] = set()  # prefixes behind which only the one file has a Python
_SSH_FAILED: Final = 255  # EXIT STATUS of ssh(1): it failed itself, or a signal ended the command
_ABSENT: Final = ("not found", "No such file")
_NO_MEMORY: Final = ("MemoryError", "lost sys.stderr")  # last words of a Python without memory
_BOOT: Final = """
import types
parts = job["package"].split(".")
for end in range(1, len(parts) + 1):
    package = types.ModuleType(".".join(parts[:end]))
    package.__path__ = []
    sys.modules[package.__name__] = package
for name, text in job["texts"]:
    module = types.ModuleType(name)
    sys.modules[name] = module
    setattr(sys.modules[job["package"]], name.rpartition(".")[2], module)
    exec(compile(text, name, "exec"), module.__dict__)
module.main(job["options"])
"""


def installed(command: str) -> str:
    """A command, such as `nettop undo`, by the file that `install` puts at another host."""
    return ROOTS.removesuffix("nettop") + command


def parse(text: str | None) -> tuple[str, ...]:
    """The words of a prefix, split as a shell would; ValueError for unbalanced quotes."""
    return tuple(shlex.split(text or ""))


def command(prefix: Sequence[str], argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` behind the prefix.

    ssh joins its words with spaces and passes them to a shell, so `argv` is quoted as one word.
    """
    if any(os.path.basename(word) == "ssh" for word in _programs(prefix)):
        return [*prefix, shlex.join(argv)]
    return [*prefix, *argv]


def python(prefix: Sequence[str], *code: str) -> list[str]:
    """The command line that runs Python code, and its arguments, behind the prefix."""
    return [*(("sh", "-c", _FILE, "nettop") if tuple(prefix) in FILES else PYTHON), *code]


def _programs(prefix: Sequence[str]) -> Iterator[str]:
    """The words of a prefix that are programs: the first, and the next after sudo or `ip netns`."""
    words = iter(prefix)
    for word in words:
        if "=" in word and not word.startswith("-"):
            continue
        if word.startswith("-"):
            continue
        yield word
        if os.path.basename(word) == "ip" and (next(words, ""), next(words, "")) == (
            "netns",
            "exec",
        ):
            next(words, "")  # the name of the namespace
            continue
        if os.path.basename(word) not in ("sudo", "env", "doas", "nice", "timeout", "sshpass"):
            return


def environment() -> dict[str, str]:
    """Our environment with the trusted PATH, without the variables of our own SSH session.

    SSH_CONNECTION of nettop's own session is not the connection to the far end.
    """
    inherited = {key: text for key, text in os.environ.items() if not key.startswith("SSH_C")}
    return {**inherited, "PATH": path()}


def start(
    argv: Sequence[str], *, apart: bool, given: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start a command line with three pipes; OSError if it cannot be run.

    `apart`: in a session of its own, so that Ctrl-C reaches only nettop, which ends the program.
    `given`: a file that it reads as its standard input.
    """
    return subprocess.Popen(
        [program(argv[0]), *argv[1:]],
        env=environment(),
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=apart,
    )


def reason(errors: bytes) -> str:
    """The last line that is not empty, safe to print, or what it means; "" if there is none."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return "there is too little memory for Python" if last in _NO_MEMORY else safe(last)[:300]


def lacks(program: str, code: int | None, reason: str) -> bool:
    """Whether a program is not installed there, by exit code and `reason`.

    The dynamic linker also ends with 127 (ld.so(8)), where a library is absent.
    """
    if "shared librar" in reason:
        return False
    return code == 127 or (program in reason and any(word in reason for word in _ABSENT))


def ended(code: int | None) -> str:
    """How a prefix ended that printed no reason. Shells add 128 to the number of a signal."""
    if code is None:
        return "it closed its output"
    if code < 0:
        return f"killed by signal {-code}"
    if code == _SSH_FAILED:
        return f"exit code {code} (of ssh: the connection was lost, or the reader was killed)"
    if 128 < code < 128 + signal.NSIG:
        return f"the reader was killed there by signal {code - 128}"
    return f"exit code {code}"


def job(
    package: str, folder: Path, script: str, options: Mapping[str, object]
) -> dict[str, object]:
    """The line that starts FOLDER/SCRIPT.py at the far end; `main(options)` is called there."""
    texts = _texts(package, folder, script)
    return {"boot": _BOOT, "package": package, "texts": texts, "options": options}


@cache
def _texts(package: str, folder: Path, script: str) -> tuple[tuple[str, str], ...]:
    """Module name and source of the modules that the script imports, then of the script itself."""
    text = (folder / f"{script}.py").read_text(encoding="utf-8")
    sources: dict[str, str] = {}
    for module, names in re.findall(
        rf"^from {re.escape(package)}(?:\.(\w+))? import ([\w, ]+)$", text, re.MULTILINE
    ):
        for needed in [module] if module else names.split(", "):
            sources.update(_texts(package, folder, needed))
    return (*sources.items(), (f"{package}.{script}", text))
