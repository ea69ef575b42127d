"""Interrupt commands at each of their imports: `python interrupted.py REPORT`, commands on stdin.

stdin has a JSON list of command lines. Each runs in a process of its own, which forks a child at
the first import of each module: the child gets SIGINT there and ends as nettop ends, the parent
goes on to the next import. A module that an earlier command has imported is not tried again. REPORT
gets a line of JSON for each child: the command, the module, the exit code as `subprocess` gives it,
stdout and stderr.
"""

import json
import os
import signal
import sys
import tempfile
from typing import IO, NoReturn

from hang import HANG

from nettop import __main__ as program


class Interrupts:
    """A finder of modules that finds none, and interrupts a child at each name."""

    def __init__(self, words: list[str], tried: set[str], report: IO[str]) -> None:
        self.words, self.tried, self.report = words, tried, report
        self.process = os.getpid()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Called by the import system for each module that is not imported yet."""
        if name in self.tried or os.getpid() != self.process:
            return
        self.tried.add(name)
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            child = os.fork()
            if child == 0:
                signal.alarm(int(HANG))  # SIGALRM ends a child that hangs
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.kill(os.getpid(), signal.SIGINT)
                return
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            line = [self.words, name, code, out.read(), err.read()]
        print(json.dumps(line), file=self.report, flush=True)


def run(words: list[str], tried: set[str], report: IO[str]) -> NoReturn:
    """Run the command and end this process as nettop ends."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.argv = [program.__file__, *words]
        sys.meta_path.insert(0, Interrupts(words, tried, report))
        code = program.main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        raise
    finally:
        os._exit(code)


if __name__ == "__main__":
    path = sys.argv[1]
    for line in json.load(sys.stdin):
        with open(path, "a+") as file:
            file.seek(0)
            known = {json.loads(row)[1] for row in file}
            child = os.fork()
            if child == 0:
                run(line, known, file)
            os.waitpid(child, 0)
