"""Read fields of a stored document, which another version or a text editor may have written.

A field of an unexpected type raises TypeError or ValueError, as `report` says.
"""

import shlex
import time
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Final

Document = Mapping[str, object]


def number(value: object) -> float:
    """A finite number; TypeError or ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    if not isfinite(value):
        raise ValueError("a number is not finite")
    return float(value)


def mapping(value: object) -> Document:
    """An object; {} if it is missing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not an object")
    return value


def rows(value: object) -> list[Document]:
    """A list of objects; [] if it is missing."""
    return [mapping(item) for item in sequence(value)]


def sequence(value: object) -> Sequence[object]:
    """A list; [] if it is missing."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return value


def numbers(value: object) -> list[float]:
    """A list of finite numbers; [] if it is missing."""
    return [number(item) for item in sequence(value)]


def pair(value: object) -> tuple[float, float]:
    """Two numbers, such as an interval or a bin."""
    low, high = numbers(value)
    return low, high


def when(document: Document) -> str:
    """The time of the measurement in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(number(document["at"])))


def conditions(document: Document, changed: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """The conditions of an experiment: time, hosts, tool, drivers and settings in force.

    Those that the experiment `changed` had several values.
    """
    names = {
        "host": "this host", "to": "to", "peer": "behind", "tool": "tool", "version": "version",
        "streams": "streams", "run_seconds": "seconds of a run", "kernel": "kernel",
    }  # fmt: skip
    facts = [("measured", when(document))]
    facts += [(label, str(document[key])) for key, label in names.items() if document.get(key)]
    netns = mapping(document.get("options")).get("netns")
    facts += [("network namespace", str(netns))] if netns else []
    facts += [(f"driver of {nic}", str(d)) for nic, d in mapping(document.get("drivers")).items()]
    settings = mapping(document.get("settings")).items()
    facts += [(name, str(value)) for name, value in settings if name not in changed]
    return tuple(facts)


def headed(text: str) -> str:
    """A text as a heading: its first letter is a capital."""
    return text[:1].upper() + text[1:]


def share(value: object) -> str:
    """A gain as percent with its sign: `+9.3 %`."""
    return f"{100 * number(value):+.1f} %"


def span(value: object) -> str:
    """An interval of a gain: `+8.1 to +10.2 %`."""
    low, high = pair(value)
    return f"{100 * low:+.1f} to {100 * high:+.1f} %"


def unit_of(unit: str, values: Sequence[float]) -> tuple[str, float]:
    """The unit to draw these values in, and its factor: `Gbit/s` and 1e-9 for large bit/s."""
    if not unit.startswith("bit/s"):
        return unit, 1.0
    most = max(map(abs, values), default=0.0)
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if most >= size:
            return unit.replace("bit/s", f"{prefix}bit/s"), 1 / size
    return unit, 1.0


TOLD: Final = ("to", "peer", "seconds", "streams", "no_ends")  # fields of an experiment itself


def again_trial(document: Document) -> str:
    """The `nettop test` of this result."""
    options = mapping(document.get("options"))
    return shlex.join(["nettop", "test", str(document["tool"]), *_flags(options)])


def _flags(options: Document) -> list[str]:
    """The words of options as the command line has them."""
    words = []
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, list | tuple):
            words.append(",".join(map(_plain, value)))
        elif value is False:
            words[-1] = f"--no-{name}"
        elif value is not True:
            words.append(_plain(value))
    return words


def again_study(document: Document) -> str:
    """The `nettop study run` of this result."""
    options = mapping(document.get("options")) or {"to": document["to"]}
    repeats = {"repeats": document["repeats"]} if document.get("repeats", 1) != 1 else {}
    words = ["nettop", "study", "run", str(document["study"])]
    return shlex.join([*words, *_flags({**options, **repeats})])


def again_experiment(document: Document, words: Sequence[str]) -> str:
    """The command `nettop WORDS…` with the tool, address and length of this experiment."""
    options = ["--tool", str(document["tool"]), "--to", str(document["to"])]
    if document.get("peer") is not None:
        options += ["--peer", str(document["peer"])]
    if document.get("run_seconds"):
        options += ["--seconds", _plain(document["run_seconds"])]
    if document.get("streams", 1) != 1:
        options += ["--streams", _plain(document["streams"])]
    options += ["--no-ends"] if document.get("no_ends") else []
    more = mapping(document.get("options"))
    options += _flags({name: value for name, value in more.items() if name not in TOLD})
    return shlex.join(["nettop", *words, *options])


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
