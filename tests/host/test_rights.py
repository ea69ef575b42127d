"""Why the kernel refuses to be looked into, by what is lacking; and with three capabilities."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nettop.host.bpf import call, drops, profile, rights

ROOT = "000001ffffffffff"
FIRST = "         0          0 4294967295\n"
COUNTING = "counting in the kernel"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names = ("_STATUS", "_USERS", "_LAST", "_POINTERS", "_LOCKDOWN")
    for name in names:
        monkeypatch.setattr(rights, name, str(tmp_path / name))
    lay(tmp_path, {"_USERS": FIRST, "_LAST": "40\n", "_POINTERS": "1\n"})
    return tmp_path


def lay(host: Path, files: Mapping[str, str], held: str = "0", seccomp: str = "0") -> None:
    status = f"Name:\tnettop\nCapEff:\t{held}\nSeccomp:\t{seccomp}\nSeccomp_filters:\t0\n"
    for name, text in {"_STATUS": status, **files}.items():
        (host / name).write_text(text)


def has(*bits: int) -> str:
    return f"{sum(1 << bit for bit in bits):016x}"


@pytest.mark.parametrize(
    ("held", "files", "said"),
    [
        ("0", {}, "needs root, or CAP_BPF and CAP_PERFMON, which this process lacks"),
        (has(39), {}, "needs root, or CAP_PERFMON, which this process lacks"),
        (has(38, 34), {}, "needs root, or CAP_BPF, which this process lacks"),
        # Linux 5.7
        (has(12), {"_LAST": "37\n"}, "needs root, or CAP_SYS_ADMIN, which this process lacks"),
        # root of a container that has its own users
        (ROOT, {"_USERS": "0 100000 65536\n"}, "needs root outside of this user namespace"),
        # nothing is lacking
        (has(38, 39), {}, "is forbidden by a security module or the container"),
        (has(21), {}, "is forbidden by a security module or the container"),
        (
            ROOT,
            {"_LOCKDOWN": "none integrity [confidentiality]\n"},
            "is forbidden by kernel lockdown (confidentiality)",
        ),
    ],
)
def test_what_is_lacking_is_named(
    host: Path, held: str, files: dict[str, str], said: str
) -> None:  # fmt: skip
    lay(host, files, held)
    assert rights.refused(COUNTING, "CAP_BPF", "CAP_PERFMON") == f"{COUNTING} {said}"
    assert call._error(1).strerror == f"{COUNTING} {said}"


def test_a_filter_of_system_calls_is_named(host: Path) -> None:
    lay(host, {}, ROOT, seccomp="2")
    said = rights.refused(COUNTING, "CAP_BPF", "CAP_PERFMON")
    assert said.endswith("by a filter of system calls (seccomp), such as that of a container")


def test_sampling_says_what_else_allows_it(host: Path) -> None:
    lay(host, {}, has(39))
    assert profile._error(13).strerror == (
        "sampling needs root, or CAP_PERFMON, which this process lacks; "
        "kernel.perf_event_paranoid below 1 allows it too"
    )


@pytest.mark.parametrize(
    ("pointers", "held", "said"),
    [
        ("2", ROOT, " (kernel.kptr_restrict is 2)"),
        ("1", has(39), "; to see them needs root, or CAP_SYSLOG, which this process lacks"),
        ("0", has(21), "; to see them needs root, or CAP_SYSLOG, which this process lacks"),
    ],
)
def test_hidden_addresses_name_the_setting_or_the_right(
    host: Path, pointers: str, held: str, said: str
) -> None:
    lay(host, {"_POINTERS": f"{pointers}\n"}, held)
    assert rights.hidden() == f"the kernel hides the addresses of its functions{said}"


def test_a_program_refused_under_lockdown_says_so(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_command: int, _values: bytes) -> int:
        raise OSError(22, "Invalid argument")

    lay(host, {"_LOCKDOWN": "none integrity [confidentiality]\n"}, ROOT)
    monkeypatch.setattr(call, "_call", refuse)
    with pytest.raises(OSError, match=r"lockdown \(confidentiality\) forbids to read its memory$"):
        call.program(b"", "one")


SCRIPT = """
import socket
from nettop.host.bpf import calls, drops, profile
for counter in (drops, calls, profile):
    try:
        one = counter.Counter()
        one.text()
        one.close()
        print("ok")
    except OSError as error:
        print(error.strerror)
"""
LACKS = "needs root, or CAP_PERFMON, which this process lacks"


@pytest.mark.needs("root", "setpriv")
@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("+bpf,+perfmon,+syslog", ["ok", "ok", "ok"]),
        (
            "+bpf,+syslog",
            [f"{COUNTING} {LACKS}"] * 2
            + [f"sampling {LACKS}; kernel.perf_event_paranoid below 1 allows it too"],
        ),
    ],
)
def test_with_a_few_capabilities_it_counts_or_says_which_is_lacking(
    held: str, said: list[str]
) -> None:  # fmt: skip
    try:
        drops.Counter().close()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")
    words = ["setpriv", "--bounding-set", f"-all,{held}", sys.executable, "-c", SCRIPT]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == said
