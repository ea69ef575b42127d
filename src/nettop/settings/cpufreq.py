"""Frequency scaling of a CPU: `cpufreq.governor@cpu0`, `cpufreq.epp@cpu0`, or `@all`.

/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor and energy_performance_preference
(Documentation/admin-guide/pm/cpufreq.rst).
"""

import re

from ..host.source import Source
from ..terms.errors import absent
from . import Address, Command, Host, Limits

RISK = "none"
NAMES = ("governor", "epp")
TARGETS = re.compile("(cpu)?[0-9]{1,5}|all")
EXAMPLE = "cpu0"
KEEP = "unit"
_FILES = {"governor": "scaling_governor", "epp": "energy_performance_preference"}
_CHOICES = {
    "governor": "scaling_available_governors",
    "epp": "energy_performance_available_preferences",
}
_CPUS = "/sys/devices/system/cpu"


def folders(source: Source, address: Address) -> list[str]:
    """The cpufreq folders of the target; FileNotFoundError when the CPU has none."""
    target = address.target
    if target != "all" and not target.removeprefix("cpu").isdigit():
        raise LookupError(f"{address} needs a CPU, such as cpu0, or all")
    names = [f"cpu{target.removeprefix('cpu')}"]
    if target == "all":
        names = [n for n in source.listing(_CPUS) if n.removeprefix("cpu").isdigit()]
        names.sort(key=lambda n: int(n[3:]))
    policies = []
    for name in names:
        try:
            source.text(f"{_CPUS}/{name}/cpufreq/{_FILES[address.name]}")
        except OSError as error:
            if not absent(error):
                raise
            continue
        policies.append(f"{_CPUS}/{name}/cpufreq")
    if not policies:
        raise FileNotFoundError(2, f"{target} has no {address.name}: its clock cannot be set here")
    return policies


def read(source: Source, address: Address) -> str:
    """The word of the CPU; for `all`, the common word, or `mixed`."""
    file = _FILES[address.name]
    words = {source.text(f"{folder}/{file}").strip() for folder in folders(source, address)}
    return words.pop() if len(words) == 1 else "mixed"


def write(host: Host, address: Address, value: str) -> None:
    """Write it for each CPU; nothing for `mixed`, because undo restores the setting of each CPU."""
    if value == "mixed":
        return
    for folder in folders(host.source, address):
        host.write(f"{folder}/{_FILES[address.name]}", value)


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """`echo` for each CPU; for `mixed`, the current word of each CPU."""
    file = _FILES[address.name]
    try:
        where = folders(source, address)
    except OSError:
        where = [f"{_CPUS}/{address.target}/cpufreq"]
    paths = [f"{folder}/{file}" for folder in where]
    if value == "mixed":
        return tuple(Command(path=path, text=source.text(path).strip()) for path in paths)
    return tuple(Command(path=path, text=value) for path in paths)


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """The other of governor and energy preference; for `all`, also the setting of each CPU."""
    others = []
    if address.target == "all":
        where = folders(source, address)
        others = [f"cpufreq.{address.name}@{folder.split('/')[-2]}" for folder in where]
    other = "epp" if address.name == "governor" else "governor"
    return (*others, f"cpufreq.{other}@{address.target}")


def limits(source: Source, address: Address) -> Limits:
    """The words that the driver offers."""
    folder = folders(source, address)[0]
    return Limits(choices=tuple(source.text(f"{folder}/{_CHOICES[address.name]}").split()))
