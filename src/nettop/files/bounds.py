"""Upper bounds of all input, and the readers that enforce them.

`BOUNDS` is the only table. Each bound is far above real hosts, recordings and rules, and low enough
that reading takes seconds and less than 1 GiB of memory. `make golden` copies the table into
docs/bounds.md. Larger input is refused with one sentence that names the bound.

A reader never blocks: files are opened with O_NONBLOCK, and only regular files are accepted.
"""

import errno
import math
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..terms.dataclass import dataclass
from . import descriptors

Table = dict[str, Any]
"""A TOML table: text, numbers, booleans, dates, lists and tables, which the reader must check."""

_MIB: Final = 1 << 20
PIECE: Final = 1 << 16  # bytes per read; most kernel files are shorter
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound: number, unit, the input it applies to, and the reason for the number."""

    most: int
    unit: str
    what: str
    why: str

    def __str__(self) -> str:
        """The bound as text: `64 MiB`, `100,000 moments`."""
        if self.unit == "bytes" and self.most % _MIB == 0:
            return f"{self.most // _MIB} MiB"
        if self.unit == "bytes" and self.most % 1024 == 0:
            return f"{self.most // 1024} KiB"
        return f"{self.most:,} {self.unit}".rstrip()


_BOUNDS: Final[Mapping[str, tuple[int, str, str, str]]] = {  # as the fields of `Bound`
    "interrupts": (64 * _MIB, "bytes", "/proc/interrupts",
                   "1,024 CPUs and 5,000 interrupts are 54 MiB"),
    "counts": (8_000_000, "counts", "/proc/interrupts (lines × CPUs)",
               "1,024 CPUs and 5,000 interrupts are 5 million"),
    "host-file": (16 * _MIB, "bytes", "other files of the host",
                  "100,000 interfaces in /proc/net/dev are 12 MiB"),
    "line": (_MIB, "bytes", "a line in a file of the host or in a recording",
             "one interrupt line of 65,536 CPUs is 704 KiB"),
    "digits": (20, "digits", "a number in a file of the host",
               "a 64-bit counter has 20 decimal digits"),
    "listing": (1_000_000, "names", "a directory",
                "ten times the number of processes of a busy host"),
    "netlink": (256 * _MIB, "bytes", "the reply to one netlink request",
                "half a million TCP sockets with all attributes"),
    "messages": (2_000_000, "messages", "the reply of another host to one netlink request",
                 "a router with all routes of the Internet has 1.3 million"),
    "far": (256 * _MIB, "bytes", "what is kept of another host (`--host`)",
            "the answers of a host with 1,024 CPUs and 100,000 sockets"),
    "statistics": (1 << 17, "statistics", "driver statistics (`ethtool -S`)",
                   "mlx5 with 256 channels has 22,927"),
    "steering": (4096, "rules", "flow-steering rules of a device (`ethtool -n`)",
                 "each rule needs one ioctl"),
    "recording": (256 * _MIB, "bytes", "a recording, unpacked",
                  "a minute of a host with 256 CPUs and 1,200 interrupts"),
    "moments": (100_000, "moments", "a recording", "a day at one sample per second has 86,400"),
    "entries": (2_000_000, "entries", "all moments of a recording together",
                "20 files that change in each of 86,400 moments"),
    "name": (4096, "bytes", "the name of an entry of a recording", "PATH_MAX is 4 KiB"),
    "answer": (64 * _MIB, "bytes", "one entry of a recording", "the largest file of a host"),
    "fleet-document": (8 * _MIB, "bytes",
                       "a JSON document for `nettop fleet`, or of nettop at another host",
                       "a host with 5,000 findings"),
    "fleet-files": (200_000, "files", "one call of `nettop fleet`",
                    "500 hosts every day for a year"),
    "config": (64 * 1024, "bytes", "a configuration file, or the list of muted findings",
               "many times the size of thresholds for all rules"),
    "rule": (64 * 1024, "bytes", "a rule, a study, or a table of rules/",
             "the longest packaged file is 19 KiB"),
    "cases": (64, "cases", "a rule file",
              "each repeats what is common; packaged files have at most six"),
    "rules": (2000, "files", "a folder of rules", "ten times the number of packaged rules"),
    "toml-line": (4096, "bytes", "a line of a TOML file",
                  "a dotted key costs the parser quadratic time"),
    "depth": (64, "levels", "nesting of tables and lists (TOML, JSON)",
              "packaged files use only a few"),
    "number": (10**18, "", "a number in a rule or in the configuration",
               "larger than any counter, and exact in 64 bits"),
    "result": (16 * _MIB, "bytes", "a stored result", "a proof stores every sample of every pair"),
    "results": (10_000, "files", "stored results (the newest are read)",
                "ten per day for nearly three years"),
    "journal": (64 * _MIB, "bytes", "the journal", "a hundred thousand changes"),
    "journal-line": (512 * 1024, "bytes", "a line of the journal",
                     "a process of 5,000 threads, whose CPUs change with its own"),
    "state": (64 * 1024, "bytes", "the saved state of the screen (view.json, processor)",
              "a few choices of each pane"),
}  # fmt: skip
BOUNDS: Final[Mapping[str, Bound]] = {name: Bound(*row) for name, row in _BOUNDS.items()}


def exceeded(name: str, path: str | None = None) -> OSError:
    """The OSError (EFBIG, one sentence) for input above the bound of that name."""
    bound = BOUNDS[name]
    return OSError(errno.EFBIG, f"more than {bound}, the bound of {bound.what}", path)


def opened(path: str | os.PathLike[str]) -> int:
    """Open a regular file without blocking; OSError for any other file type.

    /dev/null counts as an empty file, because systemd masks files by such a link.
    """
    handle = descriptors.opened(os.fspath(path), _FLAGS)
    try:
        must_be_regular(handle, os.fspath(path))
    except OSError:
        descriptors.close(handle)
        raise
    return handle


def must_be_regular(handle: int, path: str) -> None:
    """OSError if the descriptor is a directory, a pipe, a socket or a device."""
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.makedev(1, 3)
    if not (stat.S_ISREG(status.st_mode) or null):
        raise OSError(errno.EINVAL, "not a regular file", path)


def rest(handle: int, name: str, path: str, first: bytes = b"") -> bytes:
    """`first` plus the rest of the file; OSError above the bound."""
    most = BOUNDS[name].most
    found = bytearray(first)
    while piece := os.read(handle, PIECE):
        found += piece
        if len(found) > most:
            raise exceeded(name, path)
    return bytes(found)


def read(path: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of a regular file; OSError above the bound of that name."""
    handle = opened(path)
    try:
        return rest(handle, name, os.fspath(path))
    finally:
        descriptors.close(handle)


def must_have_lines(data: bytes | bytearray, path: str | None = None) -> None:
    """OSError if a line is longer than the bound. The check of a short text is free."""
    most = BOUNDS["line"].most
    if len(data) <= most:
        return
    half = most // 2  # a line longer than `most` covers at least one whole block of that size
    for at in range(0, len(data), half):
        if data.find(b"\n", at, at + half) < 0:
            begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            if (len(data) if end < 0 else end) - begin > most:
                raise exceeded("line", path)


def tables(text: str) -> Table:
    """The tables of a TOML text; ValueError (one sentence) if invalid or nested too deeply."""
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > BOUNDS["toml-line"].most:
            bound = BOUNDS["toml-line"]
            raise ValueError(f"line {number}: more than {bound}, the bound of {bound.what}")
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise
        raise ValueError("a number has too many digits") from None  # int() accepts at most 4300
    _must_be_shallow(found)
    return found


def document(text: str | bytes) -> Any:
    """The value of a JSON text, which the caller must check.

    ValueError (one sentence) if invalid, nested too deeply, or with a number that is not finite or
    has too many digits.
    """
    import json

    try:
        found = json.loads(text, parse_constant=_finite, parse_float=_finite, parse_int=count)
    except RecursionError:
        raise _too_deep() from None
    _must_be_shallow(found)
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


def _must_be_shallow(value: object) -> None:
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(BOUNDS["depth"].most):
        layer = [
            inner
            for one in layer
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not layer:
            return
    raise _too_deep()


def _too_deep() -> ValueError:
    bound = BOUNDS["depth"]
    return ValueError(f"more than {bound}, the bound of {bound.what}")


def number(value: object) -> bool:
    """Whether the value is a finite number within the bound of numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -BOUNDS["number"].most <= value <= BOUNDS["number"].most  # false for NaN


def numbers(value: object) -> bool:
    """Whether all numbers in lists and tables are such."""
    if isinstance(value, (dict, list)):
        return all(map(numbers, value.values() if isinstance(value, dict) else value))
    return number(value) or isinstance(value, bool) or not isinstance(value, (int, float))


_DIGITS: Final = BOUNDS["digits"].most


def count(word: str | bytes, base: int = 10) -> int:
    """A word of a host file as a number; ValueError if it is not a number or is too long."""
    if len(word) > _DIGITS:
        raise _too_long(word)
    return int(word, base)


def counts(words: Sequence[str | bytes], base: int = 10) -> list[int]:
    """Words as numbers; ValueError as for `count`."""
    if len(longest := max(words, key=len, default="")) > _DIGITS:
        raise _too_long(longest)
    return list(map(int, words)) if base == 10 else [int(word, base) for word in words]


def _too_long(word: str | bytes) -> ValueError:
    shown = word[:12].decode("ascii", "replace") if isinstance(word, bytes) else word[:12]
    bound = BOUNDS["digits"]
    return ValueError(f"{shown}…: more than {bound}, the bound of {bound.what}")
