"""Options and fixtures that all tests share."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# without bytecode, each of the many processes that the tests start compiles all its modules, and
# each worker those of hypothesis
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
import hypothesis  # noqa: E402 - it is compiled here

if TYPE_CHECKING:
    from limited import Limited
    from warm import Warm

    from nettop.changes.journal import Journal
    from nettop.settings import Host

os.environ["LC_ALL"] = "C.UTF-8"  # output must not depend on the user's locale
# the same examples at each run, and no deadlines; `make nightly` draws more, and prints them
hypothesis.settings.register_profile("nettop", deadline=None, max_examples=10, derandomize=True)
hypothesis.settings.register_profile(
    "nightly", deadline=None, max_examples=300, print_blob=True, database=None
)
hypothesis.settings.load_profile("nettop")
# the garbage collector walks all tests and modules too often: a fifth of the time
gc.set_threshold(50_000)
# a shell starts a background job with SIGINT ignored, and so the processes of the tests would
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests: see slow.py. They come first: no core waits for one at the end."""
    from slow import SLOW

    slow = set(" ".join(SLOW.values()).split())
    for item in items:
        if slow & {item.path.stem, item.path.parent.name}:
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _read_once() -> None:
    """The rules of the project are read once in a worker: no test changes their files."""
    load = sys.modules.get("nettop.advice.rules.load")  # None: no module needed them so far
    if load is None or hasattr(load._of_folder, "__wrapped__"):
        return
    place, read = Path(__file__).parents[1] / "rules", load._of_folder
    once = cache(lambda: read(place, []))

    @wraps(read)
    def kept(folder: Path, errors: list[Any]) -> dict[str, Any]:
        return dict(once()) if folder == place else read(folder, errors)

    vars(load)["_of_folder"] = kept


def pytest_collectreport() -> None:
    """The modules of the next file of tests may read the rules."""
    _read_once()


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector leaves it out."""
    gc.collect()
    gc.freeze()


_PASSED = ("NETTOP_SAMPLES", "NETTOP_LAB")  # variables of nettop that reach the tests
_DRAWN = ("TEXTUAL", "NO_COLOR", "FORCE_COLOR")  # what Textual and Rich read
_PIP = ("PIP_CONFIG_FILE", Path.home() / ".config/pip/pip.conf")  # the package index
_BEFORE = pytest.StashKey[float]()
_ROOM = 1 << 30  # bytes that the tests of all workers may need


def _place() -> str:
    """The folder for temporary files: `TMPDIR`, or, with `IN_MEMORY`, memory that has room.

    ext4 without a journal gives no inode again within a minute of its deletion, and passes over
    all such for each new file (`recently_deleted`, fs/ext4/ialloc.c): most of the system's time.
    Tests of the one file mount over /dev/shm, and a small machine has no room: they do not ask.
    """
    memory = "/dev/shm"
    asked = os.environ.get("IN_MEMORY") and not os.environ.get("TMPDIR")
    if asked and os.path.isdir(memory) and os.access(memory, os.W_OK):
        found = os.statvfs(memory)
        if found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC:
            return memory
    return tempfile.gettempdir()


os.environ["TMPDIR"] = tempfile.tempdir = _place()
_HOME = tempfile.mkdtemp(prefix="tests-")


def _at_home() -> dict[str, str]:
    """The environment of the tests, with empty folders instead of the developer's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NETTOP_", "XDG_", *_DRAWN)) or name.startswith(_PASSED)
    }
    if _PIP[1].exists():
        kept.setdefault(_PIP[0], str(_PIP[1]))
    folders = {"CONFIG": ".config", "STATE": ".local/state", "CACHE": ".cache", "DATA": ".data"}
    homes = {f"XDG_{n}_HOME": f"{_HOME}/{f}" for n, f in folders.items()} | {"HOME": _HOME}
    # python3 is this one, and no script of a version manager that starts forty programs first
    path = {"PATH": f"{sys.base_prefix}/bin:{kept.get('PATH', os.defpath)}"}
    return kept | homes | path | {"NETTOP_STATE": f"{_HOME}/changes"}  # not root's journal


_HERE = _at_home()
os.environ.clear()  # now, because modules read it when they are imported
os.environ.update(_HERE)
# runs side by side would remove each other's folders; `--basetemp` keeps those of failed tests
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _HOME)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts without configuration, journal and results, also of the test before."""
    for folder in (".config", ".local/state", "changes"):
        if os.path.lexists(path := f"{_HOME}/{folder}"):
            shutil.rmtree(path, ignore_errors=True)
    for name in [name for name in os.environ if name.startswith(("NETTOP_", "XDG_"))]:
        if name not in _HERE:
            monkeypatch.delenv(name)
    for name in ("HOME", *(name for name in _HERE if name.startswith("XDG_"))):
        monkeypatch.setenv(name, _HERE[name])


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Signals end the tests again after a command that ran in this process handled them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def pytest_unconfigure() -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files")
    parser.addoption("--tally", metavar="FILE", help="write the outcome of each test as JSON")


def pytest_configure(config: pytest.Config) -> None:
    import folded

    folded.only(config.getoption("keyword"))


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _absent(item: pytest.Item) -> list[str]:
    """What a test needs and does not have: root, or a program of the system."""
    names = [name for marker in item.iter_markers("needs") for name in marker.args]
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    here = {name: shutil.which(name, path=path) for name in names if name != "root"}
    root = item.get_closest_marker("netns") is not None or "root" in names
    return ["root"] * (root and os.geteuid() != 0) + [name for name in here if not here[name]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skip what cannot run here; remember the CPU time before the test, its fixtures included."""
    if absent := _absent(item):
        pytest.skip(f"needs {' and '.join(absent)}")
    item.stash[_BEFORE] = _cpu()
    _read_once()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Tell what the test took; the report of its end carries it to the summary."""
    try:
        return (yield)
    finally:
        if _BEFORE in item.stash:
            item.user_properties.append(("cpu", round(_cpu() - item.stash[_BEFORE], 3)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the reasons of skips and the CPU seconds of each folder; write the tally.

    The tally: outcome → reason of a skip (else empty) → tests.
    """
    tally: dict[str, dict[str, list[str]]] = {}
    for kind in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(kind, ()):
            skip = isinstance(report.longrepr, tuple)
            reason = report.longrepr[2].removeprefix("Skipped: ") if skip else ""
            tally.setdefault(kind, {}).setdefault(reason, []).append(report.nodeid)
    if path := config.getoption("--tally"):
        Path(path).write_text(json.dumps(tally), encoding="utf-8")
    for reason, tests in sorted(tally.get("skipped", {}).items()):
        terminalreporter.write_line(f"skipped {len(tests)}: {reason}")
    spent: Counter[str] = Counter()
    ends = (one for reports in terminalreporter.stats.values() for one in reports)
    for report in ends:
        if getattr(report, "when", "") == "teardown":
            folder = report.nodeid.removeprefix("tests/").partition("/")[0]
            spent[folder] += dict(report.user_properties).get("cpu", 0.0)
    if spent.total() >= 10:
        told = ", ".join(f"{folder} {seconds:.0f}" for folder, seconds in spent.most_common())
        terminalreporter.write_line(f"CPU seconds of tests: {spent.total():.0f} ({told})")


@pytest.fixture(autouse=True)
def untouched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would write a setting of this machine fails instead.

    Tests of a real kernel (`netns`, `lab`) have their own namespace or machine. A test may change
    its own processes.
    """
    if any(request.node.get_closest_marker(name) for name in ("netns", "lab")):
        return
    from nettop import settings

    write = settings.write

    def guarded(host: Host, address: settings.Address, value: str) -> None:
        if host.real and address.kind not in ("process", "thread", "nice"):
            pytest.fail(f"{address} of this machine would be set to {value!r}")
        write(host, address, value)

    monkeypatch.setattr(settings, "write", guarded)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten (`--update`)."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session")
def warm() -> Warm:
    """Processes of nettop that start without its imports."""
    from warm import shared

    return shared()


@pytest.fixture
def limited(warm: Warm, tmp_path: Path) -> Limited:
    """Runs a command with little memory and its own folders."""
    from limited import limits

    return limits(warm, tmp_path)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A directory that serves as a host."""
    import fake_host  # here, because the lab, where imports take seconds, does not need it

    return fake_host.make(tmp_path / "host")


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    """The empty journal of that host."""
    from nettop.changes.journal import Journal

    return Journal(str(tmp_path / "state"))
