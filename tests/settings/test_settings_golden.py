"""What every kind of setting says of recorded hosts, as golden text: values, limits, commands.

`pytest tests/settings/test_settings_golden.py --update` writes the files anew. A line that ends
with an error is a setting or a value that the host does not have or does not take.
"""

from collections.abc import Callable, Container, Iterator
from pathlib import Path

import pytest
from golden_text import same

from nettop import settings
from nettop.host.recording import Replay, load
from nettop.host.source import Source

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden/settings"
# an interface of each host, and the kinds that differ there; None: all
HOSTS = {"guest-transfer": ("eth0", None), "vm-virtio-rss": ("enp0s12", ("irq", "sysctl"))}
# values to try, each as a user writes it: fit, at the edge, and wrong
WHOLE = ("0", "1", "64", "4096", "99999999", "-1", "4294967295", "4294967296", "x", " 7 ")
SWITCH = ("on", "off", "1", "maybe")
CPUS = ("0", "0-1", "1,0", "0-9999", "", "x")
TRIED = {
    "channels": WHOLE, "coalesce": (*WHOLE, *SWITCH), "cpufreq": ("performance", "powersave", "x"),
    "feature": SWITCH, "irq": CPUS, "irqbalance": SWITCH,
    "link": (*WHOLE, "68", "67", "1280", *SWITCH),
    "napi": (*WHOLE, *SWITCH), "nice": ("-20", "19", "20", "-21", "x"), "pause": SWITCH,
    "privflag": SWITCH, "process": CPUS, "ring": WHOLE, "rps": (*WHOLE, *CPUS, "1000", "1024"),
    "route": (*WHOLE, *SWITCH, "none", "cubic", "a b"), "service": SWITCH, "thread": CPUS,
    "xps": CPUS, "ntuple": ("none", "tcp4 dst-port 5201 queue 1", "tcp4 queue 1", "x"),
    "qdisc": ("fq", "mq", "noqueue", "FQ limit 100p", "fq_codel target 5ms", "pfifo limit 10",
              "tbf rate 1500kbit", "tbf rate 3gbit", "-x", "", "nosuch"),
    "rss": ("default", "equal 2", "equal 1", "equal 0", "equal 999", "weight 1 2", "weight 0 0",
            "sd", "sdfn", "x", "0 1 0 1", "01:02", "toeplitz"),
    "sysctl": ("0", "1", "2", "-1", "4096 87380 6291456", "6291456 1 1", "1 2", "cubic", "bbr",
               "fq", "99999999999", "x"),
}  # fmt: skip
SYSCTLS = (
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_sack", "net.ipv4.tcp_congestion_control",
    "net.core.rmem_max", "net.core.netdev_max_backlog", "net.core.default_qdisc",
    "net.ipv4.tcp_timestamps", "net.ipv4.ip_local_port_range", "net.absent",
)  # fmt: skip
PLACES = {
    "irq": ("@{nic}/rx-0", "@{nic}/tx-1", "@{nic}/irq:{nic}", "@1"),
    "rps": ("@{nic}/rx-0", "@{nic}/rx-99"), "xps": ("@{nic}/tx-0", "@{nic}/tx-99"),
    "ntuple": ("@{nic}/0", "@{nic}/7"), "cpufreq": ("@cpu0", "@all", "@999"), "nice": ("@1",),
    "process": ("@1",), "thread": ("@1/1",), "service": ("@irqbalance", "@a b"),
    "route": ("@default", "@default6", "@10.0.0.0/8", "@fe80::/64",
              "@10.0.0.0/33"),
}  # fmt: skip
NAMES = {
    "feature": ("rx-gro", "tx-tcp-segmentation", "tx-generic-segmentation", "rx-lro", "absent"),
    "privflag": ("some-flag",), "sysctl": SYSCTLS,
    "route": ("mtu", "rto_min", "quickack", "congctl"),
}  # fmt: skip


def addresses(nic: str, only: Container[str]) -> Iterator[tuple[str, settings.Address]]:
    for name in settings.kinds():
        if name not in TRIED or name not in only:
            continue
        module = settings.kind(name)
        for one in NAMES.get(name, getattr(module, "NAMES", ())):
            gone = ("@gone0",) if one == getattr(module, "NAMES", ("rx-gro",))[0] else ()
            places = ("",) if name == "sysctl" else PLACES.get(name, ("@{nic}", *gone))
            for place in places:
                text = f"{name}.{one}{place.format(nic=nic)}"
                try:
                    yield text, settings.parse(text)
                except LookupError as error:
                    yield f"{text}: {error}", settings.Address("", "")


def attempt(call: Callable[[], object]) -> str:
    """The result as text, or the error."""
    try:
        return str(call())
    except (OSError, ValueError, LookupError) as error:
        return f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"


def lines(commands: tuple[settings.Command, ...]) -> str:
    """The commands in one line; of a long script its two ends."""
    text = "; ".join(one.shell() for one in commands).replace("\n", " ")
    return text if len(text) < 200 else f"{text[:40]} … {text[-80:]}"


def told(source: Source, address: settings.Address) -> Iterator[str]:
    """What one setting is, and what becomes of each value; equal answers in one line."""
    now = attempt(lambda: settings.read(source, address))
    yield f"  now {now} · {attempt(lambda: settings.limits(source, address))}"
    effects = attempt(lambda: settings.side_effects(source, address))
    shown = attempt(lambda: settings.shows(source, address))
    yield f"  {settings.risk(address)} {effects} {shown[:200]}" + "".join(
        f" {getattr(settings, name)(address)}" for name in ("namespaced", "runtime", "rounds")
    )
    answers: dict[str, list[str]] = {}
    for value in TRIED[address.kind]:
        canonical = attempt(lambda: settings.check(source, address, value))  # noqa: B023
        if "Error" in canonical:
            error = canonical.removeprefix("ValueError: ").replace(repr(value), "it", 1)
            answers.setdefault(error, []).append(repr(value))
            continue
        here = attempt(lambda: lines(settings.commands(source, address, canonical)))  # noqa: B023
        there = attempt(lambda: lines(settings.portable(source, address, canonical)))  # noqa: B023
        text = f"{canonical}: {here}" + (f" | {there}" if there != here else "")
        kept = settings.keep(address, canonical), settings.rank(address, canonical)
        text += f"; {kept[0]} {kept[1]}" if kept != (settings.Keep("unit"), 0) else ""
        answers.setdefault(text, []).append("" if value == canonical else repr(value))
    for text, values in answers.items():
        yield f"  {', '.join([*filter(None, values), ''])}{text}"


@pytest.mark.parametrize("host", HOSTS)
def test_golden(host: str, update: bool) -> None:
    source = Replay(load(str(TESTS / f"hosts/{host}.host")))
    out: list[str] = []
    nic, kinds = HOSTS[host]
    for text, address in addresses(nic, kinds or TRIED):
        out.append(text)
        if not address.kind:
            continue
        found = list(told(source, address))
        absent = found[0].startswith("  now ") and "Error" in found[0].partition(" · ")[0]
        out += found[:2] if absent else found
    answer = "\n".join(out) + "\n"
    path = GOLDEN / f"{host}.txt"
    same(path, answer, update)
    assert "Traceback" not in answer
