"""`pytest -n 3`: the tests are collected once; that many forked processes play them, file by file.

Each process takes the number of the next file from a pipe and tells the reports of its tests. So no
process imports or collects the tests again, and all share what was made before.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from itertools import groupby, zip_longest
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Final, TypeAlias

import pytest

Files: TypeAlias = Sequence[Sequence[pytest.Item]]
WIDTH: Final = 2  # bytes of the number of a file: a pipe gives them whole


def option(parser: pytest.Parser) -> None:
    """The option `-n`."""
    words = "processes that play the tests; auto: one for each core"
    parser.getgroup("general")._addoption("-n", metavar="COUNT", default="0", help=words)


def play(
    session: pytest.Session, share: Callable[[], object], settle: Callable[[int], None]
) -> bool | None:
    """The loop over all tests; None if this process is to play them itself.

    `share` makes what all processes share; `settle` prepares a new one, and gets its number.
    """
    config = session.config
    asked = config.getoption("-n")
    count = len(os.sched_getaffinity(0)) if asked == "auto" else int(asked)
    files = [[*tests] for _, tests in groupby(session.items, lambda item: item.path)]
    if min(count, len(files)) < 2 or session.testsfailed or config.option.collectonly:
        return None
    share()
    config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    taken, numbers = os.pipe()
    os.write(numbers, b"".join(at.to_bytes(WIDTH, "little") for at in range(len(files))))
    os.close(numbers)
    started = [_start(session, files, taken, number, settle) for number in range(count)]
    os.close(taken)
    try:
        _follow(session, [told for _, told in started])
    finally:
        for pid, told in started:
            if not told.closed:
                os.kill(pid, signal.SIGKILL)  # a test may have taken SIGTERM
            os.waitpid(pid, 0)
    return True


def _follow(session: pytest.Session, ends: list[Connection]) -> None:
    """Report what the processes tell; Failed if one of them is gone before it has played all."""
    hook, plays = session.config.hook, dict.fromkeys(ends, "")
    while ends:
        for told in wait(ends):
            assert isinstance(told, Connection)
            try:
                said = told.recv()
            except EOFError:
                session.shouldfail = f"{plays[told]}: its process has ended"
                continue
            if said is None:
                told.close()
                ends.remove(told)
            elif isinstance(said, str):
                plays[told] = said
            else:
                report = hook.pytest_report_from_serializable(config=session.config, data=said)
                hook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)


def _start(
    session: pytest.Session, files: Files, taken: int, number: int, settle: Callable[[int], None]
) -> tuple[int, Connection]:
    """A process, and the end of a pipe that has what it tells."""
    ours, theirs = Pipe(duplex=False)
    sys.stdout.flush()
    if pid := os.fork():
        theirs.close()
        return pid, ours
    try:
        settle(number)
        _play(session, files, taken, theirs)
        theirs.send(None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _play(session: pytest.Session, files: Files, taken: int, tell: Connection) -> None:
    config, hook = session.config, session.config.hook
    captured = config.pluginmanager.getplugin("capturemanager")
    captured.stop_global_capturing()  # its files are those of the parent: all would write there
    captured.start_global_capturing()
    config.pluginmanager.unregister(name="terminalreporter")

    class Tell:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            tell.send(hook.pytest_report_to_serializable(config=config, report=report))

    config.pluginmanager.register(Tell())
    while number := os.read(taken, WIDTH):
        tests = files[int.from_bytes(number, "little")]
        for test, after in zip_longest(tests, tests[1:]):
            tell.send(test.nodeid)
            hook.pytest_runtest_protocol(item=test, nextitem=after)
