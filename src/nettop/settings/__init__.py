"""Settings: everything nettop can tune, one kind a module, found by listing this folder.

A setting is written `kind.name@target`: `ring.rx@eth0`, `irq.affinity@eth0/rx-0`,
`sysctl.net.ipv4.tcp_rmem`. Its value is canonical text: `on`/`off`, a decimal number, a CPU list
(`0-3,8`, or `none`), words joined by single spaces.

A kind module has

    RISK                                none | queues | link, or a risk by name
    read(source, address)               the value now; OSError if it is absent

one of each
    write(host, address, value)         write to the kernel; OSError or ValueError, one sentence
    file(address)                       or the file that has the value, written as `raw`
    commands(source, address, value)    the equivalent commands: a tuple of `Command`
    COMMAND     or its words, `{nic} {part} {target} {name} {value}` replaced; default: of `file`
    limits(source, address)             what may be written: `Limits`
    LIMITS      or the limits themselves, or by name: those of each host that has the setting

and may have
    NAMES       the names of the kind; default: any
    TARGET      False: `kind.name` without a target
    NIC         True: the target is an interface, or `INTERFACE/PART`
    TARGETS     compiled pattern of the target; with NIC, of what follows the interface
    EXAMPLE     a valid target, for messages; default: eth0
    NETNS       True: no interface, but each network namespace has its own
    TEXT        names whose values stay text in JSON even if they look like numbers (CPU lists)
    RUNTIME     False: a file, so a reboot does not reset it
    ROUNDS      True: drivers may take a value near the requested one
    SIDE        rx or tx, or either by name: what it acts on; default: the word in name or queue
    FORGETS     why the change may be gone, if not because the interface is another one
    VALUE       the canonical form of a text: a function, or by name; ValueError. Default: spaces
    normal(address, value)              the same, where it depends on the name
    raw(address, value)                 the value as the file has it; default: as it is
    validate(source, address, value)    ValueError for what `limits` cannot express
    KEEP        where it is kept across reboots: unit; default: it cannot survive
    LINKS       or by name the keys of a systemd .link file; a name without one: unit
    keep(address, value)                instead: `Keep`, or None, where it depends on the value
    portable(source, address, value)    commands that hold after a reboot; default: `commands`
    SHOWS       words of the command that shows the value; Ansible compares its output
    shows(source, address)              the same, where it depends on the host
    side_effects(source, address)       settings that the kernel or driver may change with it
    warns(source, address, value)       sentences on what this value may do here besides
    asked(source, address)              the requested value, if the value in effect may differ
    identity(source, address)           what must be the same at undo; default: of the device
    device(address), on(address, nic)   the interface in the address, and the address with another
    rank(address, value)                the place in a plan; lower is first; default: 0
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, cast

from ..host.source import Live, Source
from ..terms import irqname
from ..terms.dataclass import dataclass
from ..terms.errors import absent, nearest
from ..terms.modules import modules
from . import _device
from ._device import certain, hardware, same
from ._host import Command, Host

T = TypeVar("T")
_NO_PART = re.compile("")
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
RISKS = ("none", "queues", "link")
_YES_OR_NO = {"on": "yes", "off": "no"}  # as systemd writes them


class UnknownError(LookupError):
    """There is no such setting; the sentence names the nearest that exists."""


@dataclass(frozen=True, slots=True)
class Address:
    """A setting taken apart. `target` is empty for sysctls."""

    kind: str
    name: str
    target: str = ""

    def __str__(self) -> str:
        """The text it was parsed from."""
        return f"{self.kind}.{self.name}" + (f"@{self.target}" if self.target else "")

    @property
    def nic(self) -> str:
        """The interface of a target such as `eth0` or `eth0/rx-0`."""
        return self.target.partition("/")[0]

    @property
    def part(self) -> str:
        """What follows the interface: `rx-0` of `eth0/rx-0`."""
        return self.target.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be written. None or empty: the kernel does not report it."""

    default: str | None = None
    min: int | None = None
    max: int | None = None
    choices: tuple[str, ...] = ()
    settable: bool = True
    because: str = ""  # why it is not settable, or what bounds it


@dataclass(frozen=True, slots=True)
class Keep:
    """How a setting survives a reboot.

    `where` is `sysctl`, `link` (a key of a systemd .link file) or `unit` (a command at boot).
    """

    where: str
    key: str = ""
    value: str = ""


@cache
def kinds() -> tuple[str, ...]:
    """Every kind there is, without importing any."""
    return modules(__path__[0])


@cache
def kind(name: str) -> ModuleType:
    """The module of a kind; UnknownError otherwise."""
    if name not in kinds():
        raise UnknownError(f"{name!r} is no kind of setting{_similar(name, kinds())}")
    return import_module(f"{__name__}.{name}")


@lru_cache(maxsize=1024)
def parse(text: str, longest: int = irqname.LONGEST) -> Address:
    """The parts of `kind.name@target`; UnknownError for no such kind or name, or a bad target.

    `longest`: bytes of the interface's name.
    """
    first, dot, rest = text.partition(".")
    module = kind(first)
    if not dot or not rest:
        raise UnknownError(f"{text!r} is not of the form {first}.name@target")
    if not getattr(module, "TARGET", True):
        address = Address(first, rest)
        if "@" in rest and hasattr(module, "NAMES"):  # a parameter's name may have it
            raise UnknownError(f"{first} takes no target: {first}.{rest.partition('@')[0]}")
    else:
        name, at, target = rest.partition("@")
        if not at or not name or not target:
            raise UnknownError(f"{text!r} lacks its target: {first}.{name or 'name'}@target")
        address = Address(first, name, target)
    if any(c in text for c in "\0\n"):
        raise UnknownError("a setting's name is one line")
    _targets(module, address, longest)
    known = getattr(module, "NAMES", ())
    if address.name.replace("_", "-") in known:  # as the kernel's file may spell it
        address = replace(address, name=address.name.replace("_", "-"))
    if known and address.name not in known:
        raise UnknownError(f"{first} has no {address.name!r}{_similar(address.name, known)}")
    return address


def _targets(module: ModuleType, address: Address, longest: int) -> None:
    """UnknownError if the target of the address is not valid for this kind."""
    form = getattr(module, "TARGETS", None)
    called = address.target
    if getattr(module, "NIC", False) and not (form is not None and called.isdecimal()):
        if not irqname.valid(address.nic, longest):
            raise UnknownError(f"{address.nic!r} cannot be an interface")
        called = address.target[len(address.nic) :]
        form = form or _NO_PART
    if form is not None and not form.fullmatch(called):
        name, example = f"{address.kind}.{address.name}", getattr(module, "EXAMPLE", "eth0")
        raise UnknownError(f"{name} takes a target such as {example}, not {address.target!r}")


def read(source: Source, address: Address) -> str:
    """The value now, canonical; OSError when the host has no such thing."""
    return str(kind(address.kind).read(source, address))


def write(host: Host, address: Address, value: str) -> None:
    """Write to the live kernel; OSError or ValueError. Success does not mean an effect."""
    module = kind(address.kind)
    if hasattr(module, "write"):
        module.write(host, address, value)
    else:
        host.write(module.file(address), _optional(address, "raw", value, address, value))


def limits(source: Source, address: Address) -> Limits:
    """What may be written there."""
    module = kind(address.kind)
    if not hasattr(module, "LIMITS"):
        return cast("Limits", module.limits(source, address))
    read(source, address)
    return cast("Limits", _named(module.LIMITS, address))


def risk(address: Address) -> str:
    """What a write may cost: none, queues or link."""
    module = kind(address.kind)
    return str(_named(module.RISK, address) or "none")


def normal(address: Address, value: str) -> str:
    """The canonical text of a value that a user wrote; ValueError where it is no such value."""
    module = kind(address.kind)
    if hasattr(module, "VALUE"):
        return str(_named(module.VALUE, address)(value))
    return _optional(address, "normal", " ".join(value.split()), address, value)


def data(address: Address, value: str) -> int | str | list[int]:
    """The value for JSON: a decimal number, a list of them (a triple), else text."""
    parts = value.split()
    textual = address.name in getattr(kind(address.kind), "TEXT", ())
    if textual or not parts or not all(_NUMBER.fullmatch(part) for part in parts):
        return value
    return [int(part) for part in parts] if len(parts) > 1 else int(value)


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """The commands that write the value, as an administrator would type them."""
    module = kind(address.kind)
    if hasattr(module, "COMMAND"):
        return (Command(_filled(module.COMMAND, address, value)),)
    if hasattr(module, "file"):
        raw = _optional(address, "raw", value, address, value)
        return (Command(path=module.file(address), text=raw),)
    return cast("tuple[Command, ...]", module.commands(source, address, value))


def portable(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """Commands that still hold after a reboot or on another host of the same make."""
    own = getattr(kind(address.kind), "portable", commands)
    return cast("tuple[Command, ...]", own(source, address, value))


def shows(source: Source, address: Address) -> tuple[str, ...]:
    """The command that shows the value; empty where only a file shows it."""
    words = _filled(getattr(kind(address.kind), "SHOWS", ""), address)
    return words or _optional(address, "shows", (), source, address)


def _filled(words: str, address: Address, value: str = "") -> tuple[str, ...]:
    """The words of a command, for this setting and value."""
    known = {"nic": address.nic, "part": address.part, "target": address.target}
    named = {**known, "name": address.name, "value": value}
    return tuple(word.format(**named) for word in words.split())


def shell(address: Address, value: str, source: Source | None = None) -> str:
    """The commands in one line for a shell."""
    return "; ".join(one.shell() for one in commands(source or Live(), address, value))


def keep(address: Address, value: str) -> Keep | None:
    """How the value can survive a reboot; None where it cannot (the affinity of a process)."""
    module = kind(address.kind)
    if hasattr(module, "keep"):
        return cast("Keep | None", module.keep(address, value))
    if hasattr(module, "LINKS"):
        key = module.LINKS.get(address.name)
        return Keep("link", key, _YES_OR_NO.get(value, value)) if key else Keep("unit")
    return Keep(module.KEEP) if hasattr(module, "KEEP") else None


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """The settings that the kernel or driver may change when this one is written."""
    return _optional(address, "side_effects", (), source, address)


def warns(source: Source, address: Address, value: str) -> tuple[str, ...]:
    """What this value may do on this host besides, a sentence each."""
    return _optional(address, "warns", (), source, address, value)


def rank(address: Address, value: str) -> int:
    """Its place in a plan: lower is written first."""
    return _optional(address, "rank", 0, address, value)


def identity(source: Source, address: Address) -> str:
    """What the target is, beyond its name (device, process); empty: none. OSError: unknown."""
    module = kind(address.kind)
    if hasattr(module, "identity"):
        return _found(module.identity, source, address)
    nic = device(address)
    return _found(_device.identity, source, nic) if nic else ""


def device(address: Address) -> str:
    """The interface that the setting is of; empty if it is not of one."""
    module = kind(address.kind)
    if hasattr(module, "device"):
        return str(module.device(address))
    # a plain interrupt number is no interface
    return address.nic if getattr(module, "NIC", False) and not address.target.isdigit() else ""


def on(address: Address, nic: str) -> Address:
    """The same setting of the interface `nic`, if it is a setting of an interface."""
    if not device(address):
        return address
    module = kind(address.kind)
    if hasattr(module, "on"):
        return cast("Address", module.on(address, nic))
    return replace(address, target=nic + ("/" + address.part if address.part else ""))


def namespaced(address: Address) -> bool:
    """Whether each network namespace has its own."""
    if address.kind == "sysctl":
        return address.name.startswith("net.")
    return bool(device(address) or getattr(kind(address.kind), "NETNS", False))


def asked(source: Source, address: Address) -> str:
    """The requested value, where that in effect may differ; empty: none is stored. OSError."""
    return _found(_optional, address, "asked", "", source, address)


def runtime(address: Address) -> bool:
    """Whether a reboot resets it; False for files."""
    return bool(getattr(kind(address.kind), "RUNTIME", True))


def rounds(address: Address) -> bool:
    """Whether a driver may take a value near the one asked for."""
    return bool(getattr(kind(address.kind), "ROUNDS", False))


def check(source: Source, address: Address, value: str) -> str:
    """The canonical value, if the limits let it be written; ValueError in one sentence."""
    value = normal(address, value)
    bounds = limits(source, address)
    if not bounds.settable:
        raise ValueError(f"{address} cannot be set: {bounds.because or 'the driver refuses'}")
    if bounds.choices and value not in bounds.choices:
        raise ValueError(f"{address} takes one of {', '.join(bounds.choices)}, not {value!r}")
    _between(address, value, bounds)
    _optional(address, "validate", None, source, address, value)
    return value


def _between(address: Address, value: str, bounds: Limits) -> None:
    if bounds.min is None and bounds.max is None:
        return
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"{address} is a number, not {value!r}") from None
    why = f" ({bounds.because})" if bounds.because else ""
    if bounds.min is not None and number < bounds.min:
        raise ValueError(f"{address} cannot be below {bounds.min}{why}")
    if bounds.max is not None and number > bounds.max:
        raise ValueError(f"{address} cannot exceed {bounds.max}{why}")


def _optional(address: Address, name: str, default: T, *args: object) -> T:
    """The result of a function that a kind module may lack; `default` where it does."""
    function = getattr(kind(address.kind), name, None)
    return default if function is None else cast("T", function(*args))


def _named(declared: Any, address: Address) -> Any:
    """What a kind declares for all its names, or for this one; None: for others only."""
    return declared.get(address.name) if isinstance(declared, dict) else declared


def _found(function: Callable[..., object], *args: object) -> str:
    """What a function finds, as text; empty where it is absent. Any other OSError is raised."""
    try:
        return str(function(*args))
    except (ValueError, LookupError):
        return ""
    except OSError as error:
        if absent(error):
            return ""
        raise


def _similar(word: str, known: tuple[str, ...]) -> str:
    return nearest(word, known) or f"; there are: {', '.join(known)}"


__all__ = [
    "RISKS", "Address", "Command", "Host", "Keep", "Limits", "UnknownError", "asked", "certain",
    "check", "commands", "data", "device", "hardware", "identity", "keep", "kind", "kinds",
    "limits", "namespaced", "normal", "on", "parse", "portable", "rank", "read", "risk", "rounds",
    "runtime", "same", "shell", "shows", "side_effects", "write",
]  # fmt: skip
