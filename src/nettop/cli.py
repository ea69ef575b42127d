"""The command line: parse arguments and run one command, a module of `commands/`.

Exit codes: 0 no finding, or done; 1 findings at or above --fail-on, or a verdict other than better;
2 usage error or unknown name; 3 the host could not be read or judged, or a write to stdout failed;
4 not done (refused, conflict, not permitted); 5 reverted; 130 interrupted; 141 the reader closed
the pipe.
"""

import argparse
import codecs
import errno
import gc
import os
import sys
from collections.abc import Sequence

from . import __version__, commands, scarce
from .commands._argument import word
from .files import interrupt
from .files.streams import UNREAD, Unwritten, abandon
from .files.trust import path
from .terms.errors import Refused, nearest, sentence
from .terms.text import ascii_only, lacking, safe

DRAWING = ("top", "show")  # for these the configuration decides whether output is ASCII
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota or file size limit exceeded
WHERE = ("--host", "--netns", "--replay", "--root")
OVERVIEW = """\
nettop shows what limits the network performance of this Linux host, changes it safely, and
measures the effect.

usage: nettop [OPTION …]              open the screen
       nettop COMMAND [OPTION …]      run a command; `nettop COMMAND --help` describes it"""


class _UsageError(Refused):
    """Arguments that are not valid; `prog` is the command that they were for."""

    def __init__(self, prog: str, sentence: str) -> None:
        super().__init__(sentence, 2)
        self.prog = prog


class _Parser(argparse.ArgumentParser):
    """A usage error is one sentence and exit code 2. Empty arguments are refused by default."""

    def __init__(self, prog: str, description: str | None = None, *, add_help: bool = True) -> None:
        super().__init__(prog, description=description, add_help=add_help, allow_abbrev=False)
        self.register("type", None, word)

    def error(self, message: str) -> None:  # type: ignore[override]
        raise _UsageError(self.prog, f"{message}; see {self.prog} --help")

    def parse_args(self, words: Sequence[str]) -> argparse.Namespace:  # type: ignore[override]
        """The parsed arguments; a clear error for an option of sources that this command lacks."""
        for option in WHERE:
            given = any(word.partition("=")[0] == option for word in words)
            if given and option not in self._option_string_actions:
                there = ""
                if option == "--host":
                    from .host.prefix import installed

                    there = f" (there, after --install: PREFIX {installed(self.prog)})"
                self.error(f"this command has no {option}: it works on this host only{there}")
        return super().parse_args(words)


def _report(message: str) -> None:
    """Print one message to stderr; control characters are made visible."""
    print(safe(message), file=sys.stderr)


def _command(name: str) -> _Parser:
    module = commands.command(name)
    parser = _Parser(prog=f"nettop {name}", description=module.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    module.arguments(parser)
    return parser


def _overview() -> str:
    from .commands import _manual as manual

    every = manual.every()
    lines = [OVERVIEW]
    for group in manual.GROUPS:
        lines += ["", f"{group}:"]
        lines += [f"  {one.name:<10} {one.help}" for one in every if one.group == group]
    lines += ["", "examples:"]
    for typed, meaning in manual.EXAMPLES:
        gap = f"\n{'':<42}" if len(typed) > 38 else " " * (40 - len(typed))
        lines.append(f"  {typed}{gap}{meaning}")
    lines += ["", "options of the screen:"]
    screen = _Parser(prog="nettop", add_help=False)
    commands.command("top").arguments(screen)
    lines += screen.format_help().partition("options:\n")[2].splitlines()
    return "\n".join(lines) + "\n"


def _command_first(words: list[str]) -> list[str]:
    """`nettop --netns NAME undo 3` is `nettop undo 3 --netns NAME`."""
    at = 0
    while at < len(words) and words[at].partition("=")[0] in WHERE:
        at += 1 if "=" in words[at] else 2
    if at and at < len(words) and words[at] in commands.names():
        return [words[at], *words[:at], *words[at + 1 :]]
    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    # Values are immutable and have no cycles, so reference counting frees them. With the default
    # threshold of 700 the cycle collector takes half the time of a frame with 10,000 sockets.
    gc.set_threshold(50_000)
    os.environ["PATH"] = path()  # for programs that libraries start
    words = _command_first(list(sys.argv[1:] if argv is None else argv))
    drawn = not words or words[0] in DRAWING or words[0].startswith("-")
    _streams("ascii" if ascii_only() and not drawn else None)
    try:
        try:
            code = _run(words)
        except Refused as refused:
            code = _refused(words, refused)
        sys.stdout.flush()
    except Unwritten as error:
        abandon()
        if error.code != UNREAD:
            _report(f"nettop: {error}")
        return error.code
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # Python replaced the interrupt while a refusal was reported
        if interrupt.replaced(error):
            return 130
        raise
    return code


def _run(words: list[str]) -> int:
    if words[:1] in (["--help"], ["-h"], ["help"]):
        if len(words) > 1 and words[1] in commands.names():
            words = [words[1], "--help"]
        else:
            print(_overview(), end="")
            return 0
    if words[:1] == ["--version"]:
        print(f"nettop {__version__}")
        return 0
    name = "top" if not words or words[0].startswith("-") else words.pop(0)
    if name not in commands.names(hidden=True):
        near = nearest(name, commands.names())
        raise _UsageError("nettop", f"unknown command {name!r}{near}; see nettop --help")
    try:
        return int(commands.run(name, _command(name).parse_args(words)))
    except SystemExit as end:
        return int(end.code or 0)
    except (Refused, Unwritten):
        raise
    except BrokenPipeError:  # the reader of the screen's output closed the pipe
        abandon()
        return UNREAD
    except Exception as error:
        if interrupt.replaced(error):
            raise KeyboardInterrupt from error
        if scarce(error):
            raise
        raise _fault(name, error) from error


def _refused(words: Sequence[str], refused: Refused) -> int:
    """Report what was refused; the exit code, which a monitoring plugin takes for a state."""
    from .commands import _nagios

    if _nagios.wanted(words):
        return _nagios.unknown(str(refused))
    _report(f"{refused.prog if isinstance(refused, _UsageError) else 'nettop'}: {refused}")
    return refused.code


def _fault(name: str, error: Exception) -> Refused:
    """The sentence for an exception of a command: an invalid file of the user, or a bug."""
    if _of_a_file(error):
        return Refused(str(error), 2)
    if isinstance(error, ModuleNotFoundError) and error.name and error.name[:6] != "nettop":
        message = f"{name} needs the Python package {error.name}, which is not installed here"
        return Refused(message, 3)
    debug = bool(os.environ.get("NETTOP_DEBUG"))
    if isinstance(error, OSError) and (error.errno in FULL or not debug):
        return Refused(sentence(error), 3)  # such as a file that this host does not have
    if debug:
        raise error
    message = f"internal error in {name}: {type(error).__name__}: {error}"
    return Refused(f"{message} (NETTOP_DEBUG=1 prints a traceback)", 3)


def _of_a_file(error: Exception) -> bool:
    """Whether the error is in a configuration or rule file; its message names the file."""
    from .advice.rules.written import RuleError
    from .config import ConfigError

    return isinstance(error, (ConfigError, RuleError))


def _streams(encoding: str | None) -> None:
    """Replace characters that the encoding lacks with ASCII text."""
    codecs.register_error("nettop", lacking)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=encoding, errors="nettop")
