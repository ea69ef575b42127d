"""argparse types of command-line arguments. An empty argument is refused.

An unset shell variable gives an empty argument: `--netns "$NS"`. An empty argument must never mean
this host, every target or a default. `word` is the type of every argument that declares no other
type; only the values of settings may be empty, and declare `type=str`.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..terms import irqname
from ..terms.errors import Refused
from ..terms.text import safe

if TYPE_CHECKING:
    from ..host.recording import Replay


def word(text: str) -> str:
    """Any text that is not empty or blank."""
    if not text or text.isspace():
        raise ArgumentTypeError(f"{text!r} is empty: is a shell variable unset?")
    return text


def interface(text: str) -> str:
    """An interface's own or alternative name, in the form that the kernel accepts."""
    if not irqname.valid(word(text), irqname.ALTERNATIVE):
        raise ArgumentTypeError(f"{text!r} is not a valid interface name")
    return text


def namespace(text: str) -> str:
    """A network namespace by its `ip netns` name; a path is refused."""
    if "/" in word(text) or text in (".", ".."):
        raise ArgumentTypeError(f"no network namespace {text!r}: give a name, not a path")
    return text


def host(text: str) -> str:
    """A host name or an address."""
    if text.startswith("-") or word(text).split() != [text]:
        raise ArgumentTypeError(f"{text!r} is not an address")
    return text


def prefix(text: str) -> str:
    """The command prefix that runs a command on the other host: `ssh host`."""
    from ..trials.end import parse

    try:
        words = parse(word(text)).prefix
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    word(words[0] if words else "")
    return text


def ip_address(text: str) -> str:
    """An IP address."""
    try:
        ipaddress.ip_address(word(text))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not an IP address") from None
    return text


def destination(text: str) -> tuple[str, int]:
    """`ADDRESS` or `ADDRESS:PORT`, an IPv6 address with a port in brackets; port 0: none."""
    name, colon, port = word(text), "", ""
    if "]" in text or text.count(":") == 1:
        name, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    try:
        found = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not ADDRESS or ADDRESS:PORT") from None
    if colon and not (port.isdecimal() and 0 < int(port) <= 65_535):
        raise ArgumentTypeError(f"{text!r}: a port is a number from 1 to 65535")
    return str(getattr(found, "ipv4_mapped", None) or found), int(port or 0)


def mark(text: str) -> int:
    """A packet mark: a number of 32 bits, decimal or hexadecimal (0x…)."""
    try:
        number = int(word(text), 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 32:
        raise ArgumentTypeError(f"{text!r} is not a mark: a number of 32 bits")
    return number


def target(text: str) -> str:
    """A rule, or a rule and its target: `RULE` or `RULE@TARGET`."""
    name, at, rest = word(text).partition("@")
    word(name)
    if at:
        word(rest)
    return text


def assignment(text: str) -> tuple[str, str]:
    """A setting and its value, `SETTING=VALUE`.

    Interface names and values may contain `=` too; an ambiguous text is refused.
    """
    from ..settings import UnknownError, normal, parse

    named: list[tuple[str, str]] = []  # the setting exists
    valid: list[tuple[str, str]] = []  # and its value is valid
    error_text = ""
    for cut in (place for place, char in enumerate(text) if char == "="):
        pair = text[:cut], text[cut + 1 :]
        try:
            address = parse(pair[0], irqname.ALTERNATIVE)
            named.append(pair)
            normal(address, pair[1])
            valid.append(pair)
        except UnknownError as error:
            error_text = error_text or str(error)
        except ValueError:  # an invalid value: the plan reports the reason
            continue
    pairs = valid or named
    if not pairs:
        raise ArgumentTypeError(error_text or f"{text!r} is not SETTING=VALUE")
    if len(pairs) > 1:
        ways = " or ".join(f"{setting!r} = {value!r}" for setting, value in pairs)
        raise ArgumentTypeError(f"{text!r} is ambiguous: {ways}")
    return pairs[0]


def assigns(text: str) -> bool:
    """Whether the text is `SETTING=VALUE`; the target of a finding may contain `=` too."""
    head, at, _ = text.partition("@")
    return "=" in text and (not at or "." in head)


def change(text: str) -> str:
    """A finding `RULE@TARGET`, or `SETTING=VALUE`."""
    if assigns(text):
        assignment(text)
        return text
    return target(text)


def amount(text: str, step: float = 1000.0, units: Sequence[str] = ()) -> float:
    """The number in a text with a prefix, such as `2.5G` or `1.5 TiB`; NaN for any other text.

    `step` is that of K, M, G, T, P and E, and 1024 before an i; `units` are what may follow.
    """
    short = text.strip().lower()
    unit = next((one for one in units if short.endswith(one)), "")
    short = short.removesuffix(unit).rstrip()
    if short.endswith("i"):
        step, short = 1024.0, short[:-1]
    power = "kmgtpe".find(short[-1:]) + 1 if short else 0
    try:
        return float(short[: len(short) - bool(power)]) * step**power
    except ValueError:
        return float("nan")


def size(least: int) -> Callable[[str], int]:
    """A number of bytes of at least `least`, with a binary unit: `200M`, `1.5G`."""

    def number(text: str) -> int:
        value = amount(text, 1024.0)
        if not least <= value < 1 << 50:
            raise ArgumentTypeError(f"{text!r} is not a size of at least {least >> 20}M")
        return int(value)

    return number


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A whole number from `least` to `most`, in decimal digits."""

    def number(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) < 19
        if not digits or int(text) < least or (most is not None and int(text) > most):
            bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise ArgumentTypeError(f"{text!r} is not a number {bounds}")
        return int(text)

    return number


_ALONE: Final = re.compile(r"()([^@/]+)(?=/|$)")  # an interface, or a part of it
_BEHIND: Final = re.compile(r"([^@]*@)([^/=]+)")  # RULE@INTERFACE, SETTING@INTERFACE=VALUE
_FORMS: Final = dict.fromkeys(("interface", "target"), _ALONE) | dict.fromkeys(
    ("setting", "second", "more", "finding", "rule", "what"), _BEHIND
)


def own_names(args: argparse.Namespace, source: Source) -> None:
    """Replace the alternative names in the arguments that may have one."""
    typed = {key: value for key in _FORMS if (value := getattr(args, key, None))}
    words = {key: [value] if isinstance(value, str) else value for key, value in typed.items()}
    names = {m[2] for key, each in words.items() for one in each if (m := _FORMS[key].match(one))}
    names = {name for name in names if not name.isdecimal()}  # a process or an interrupt
    if not names:
        return
    from ..host.netlink import route  # most commands name no interface

    try:
        own = route.alternatives(source)
    except (OSError, ValueError):  # not in this recording: the command says what is unknown
        return
    for key, each in words.items():
        new = [_FORMS[key].sub(lambda m: m[1] + own.get(m[2], m[2]), one, count=1) for one in each]
        setattr(args, key, new[0] if isinstance(typed[key], str) else new)


def other(args: argparse.Namespace, here: Replay) -> Replay | None:
    """The file of --peer, else the one that `record --peer` wrote beside this one.

    None for a recording of one host, and where that file is missing, which is said on stderr. The
    file of the other end is shown by itself. Refused where the files are no pair.
    """
    from ..host.recording import RecordingError, mark_of, other_end, other_file

    mark = mark_of(here.comment)
    if args.peer is None and mark is None:
        return None
    path = args.peer or other_file(args.replay, here=mark is None or mark.here)
    known = os.path.exists(path)
    if args.peer is None and mark is not None and not (known and mark.here):
        why = f"{path} shows both ends" if known else f"the other one, {path}, is not there"
        print(safe(f"nettop: {args.replay} is one end of a pair; {why}"), file=sys.stderr)
        return None
    try:
        return other_end(here, path, mark)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror or error}", 3) from None
    except RecordingError as error:
        raise Refused(f"{path}: {error}", 3) from None
