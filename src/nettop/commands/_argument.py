"""The kinds of words on the command line, as argparse types: what names nothing is refused.

A shell variable that is not set leaves an empty word: `--netns "$NS"`. It must never mean this
host, every target, or a default. So `word` is the type of every argument that names no other one;
only the values of settings may be empty, and say `type=str`.
"""

from __future__ import annotations

import ipaddress
from argparse import ArgumentTypeError
from collections.abc import Callable

from ..terms import devname


def word(text: str) -> str:
    """Anything but nothing."""
    if not text or text.isspace():
        raise ArgumentTypeError(f"{text!r} names nothing: is a variable of the shell not set?")
    return text


def interface(text: str) -> str:
    """What the kernel takes for the name of an interface."""
    if not devname.valid(word(text)):
        raise ArgumentTypeError(f"{text!r} cannot be the name of an interface")
    return text


def namespace(text: str) -> str:
    """A network namespace as `ip netns` names it: a file in one folder, never a path."""
    if "/" in word(text) or text in (".", ".."):
        raise ArgumentTypeError(f"no network namespace {text!r}: a name, not a path, is needed")
    return text


def host(text: str) -> str:
    """A host by its name or its address."""
    if text.startswith("-") or word(text).split() != [text]:
        raise ArgumentTypeError(f"{text!r} is not an address")
    return text


def prefix(text: str) -> str:
    """What is typed before a command to run it elsewhere: `ssh host`."""
    from ..trials.peer import parse

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


def target(text: str) -> str:
    """A rule, or a rule and its target: `RULE` or `RULE@TARGET`."""
    name, at, rest = word(text).partition("@")
    word(name)
    if at:
        word(rest)
    return text


def assignment(text: str) -> tuple[str, str]:
    """A setting and its value, `SETTING=VALUE`.

    Names of interfaces and values may have an `=` too: what can be read in two ways is refused.
    """
    from ..settings import UnknownError, normal, parse

    named: list[tuple[str, str]] = []
    sensible: list[tuple[str, str]] = []
    why = ""
    for cut in (place for place, char in enumerate(text) if char == "="):
        pair = text[:cut], text[cut + 1 :]
        try:
            address = parse(pair[0])
            named.append(pair)
            normal(address, pair[1])
            sensible.append(pair)
        except UnknownError as error:
            why = why or str(error)
        except ValueError:  # no such value: whoever plans the change says why
            continue
    found = sensible or named
    if not found:
        raise ArgumentTypeError(why or f"{text!r} is not SETTING=VALUE")
    if len(found) > 1:
        ways = " or ".join(f"{setting!r} = {value!r}" for setting, value in found)
        raise ArgumentTypeError(f"{text!r} can be read in more than one way: {ways}")
    return found[0]


def assigns(text: str) -> bool:
    """Whether it is written as `SETTING=VALUE`; the target of a finding may have an `=` too."""
    head, at, _ = text.partition("@")
    return "=" in text and (not at or "." in head)


def change(text: str) -> str:
    """A finding `RULE@TARGET`, or `SETTING=VALUE`."""
    if assigns(text):
        assignment(text)
        return text
    return target(text)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A number of decimal digits, from `least` to `most`."""

    def number(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) < 19
        if not digits or int(text) < least or (most is not None and int(text) > most):
            bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise ArgumentTypeError(f"{text!r} is not a number {bounds}")
        return int(text)

    return number
