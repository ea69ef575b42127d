"""The story of the chain, step by step. Each step prints what it saw, with its figures."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from chain.controller import Controller, Played, proof
from chain.sites import HOSTS, NETTOP, Host, cut_by_the_change, until
from chain.terminal import drawn
from chain.watching import Prometheus, instance, labels

RULES: Final = ("window-scaling-off", "offloads-off")
ALERT: Final = "NettopWindowScalingOff"
FAULTY, FIXED = ("off", "off"), ("on", "on")  # window scaling, segmentation offload


@dataclass
class Chain:
    """What takes part, and what was seen so far."""

    hosts: list[Host]
    controller: Controller
    prometheus: Prometheus
    begun: float = field(default_factory=time.monotonic)
    told: list[str] = field(default_factory=list)
    planted: float = 0.0  # when the fault was planted, monotonic

    def tell(self, text: str) -> None:
        """Print one line with the time since the beginning."""
        line = f"{time.monotonic() - self.begun:5.0f} s  {text}"
        self.told.append(line)
        print(line, flush=True)

    def settings(self) -> dict[str, tuple[str, str]]:
        """Window scaling and segmentation offload of each host."""
        return {host.name: host.settings() for host in self.hosts}

    def rollout(self, *options: str, **values: object) -> Played:
        """The playbook that fixes the findings, with the proof on the canary."""
        wanted = {"tune_rules": list(RULES), **proof(self.controller.folder), **values}
        return self.controller.play("rollout", *options, **wanted)


def audit(chain: Chain) -> None:
    """The audit makes a report of all hosts."""
    played = chain.controller.play("audit").well()
    assert played.changed() == dict.fromkeys(HOSTS, 0), played.output
    for name in HOSTS:
        found = json.loads((chain.controller.folder / f"audit/hosts/{name}.json").read_text())
        assert found["host"] == name, found["host"]
        assert not {one["rule"] for one in found["findings"]} & set(RULES), found["findings"]
    chain.tell("audit: a document of each host by the far reader, none has the fault")


def services(chain: Chain) -> None:
    """The roles box and metrics: check mode is truthful, a second run changes nothing."""
    checked = chain.controller.play("services.yml", "--check").well()
    assert all(checked.changed().values()), checked.output
    for host in chain.hosts:
        assert "nettop" not in host("ls", "/etc/systemd/system")
    played = chain.controller.play("services.yml").well()
    assert all(played.changed().values()), played.output
    again = chain.controller.play("services.yml").well()
    assert again.changed() == dict.fromkeys(HOSTS, 0), again.output
    for host in chain.hosts:
        for unit in ("nettop-box.service", "nettop-metrics.timer"):
            assert host("systemctl", "is-active", unit).strip() == "active"
            assert host("systemctl", "is-enabled", unit).strip() == "enabled"
    chain.tell(
        f"roles box and metrics on {len(HOSTS)} hosts: {played.changed()} changes, then none; "
        "check mode changed nothing"
    )


def scraped(chain: Chain) -> None:
    """Prometheus has the metrics of every host, within the bound of series; no alert of nettop."""
    chain.prometheus.until(
        'count by (instance) (nettop_build_info{job="node"})',
        lambda found: len(found) == len(HOSTS),
    )
    found = chain.prometheus.query('count by (instance) ({__name__=~"nettop_.+",job="node"})')
    series = {labels(one)["instance"]: _value(one) for one in found}
    assert all(count < 300 for count in series.values()), series
    assert chain.prometheus.alerts(ALERT) == {}
    chain.tell(f"Prometheus has {sorted(map(int, series.values()))} series of the hosts; no alert")


def _value(series: dict[str, object]) -> float:
    value = series["value"]
    assert isinstance(value, list)
    return float(value[1])


def fault(chain: Chain) -> None:
    """The fault is planted; the box of each host makes an incident, and the alert fires."""
    for host in chain.hosts:
        host.fault(there=True)
    chain.planted = time.monotonic()
    assert set(chain.settings().values()) == {FAULTY}
    with ThreadPoolExecutor() as beside:  # the timer of the metrics takes up to a minute
        linted = beside.submit(chain.controller.lint)
        _noticed(chain)
    chain.tell(f"ansible-lint: {linted.result()}")


def _noticed(chain: Chain) -> None:
    """The incidents and the alert of the fault."""
    for host in chain.hosts:
        until(120, f"no incident on {host.name}", partial(_of_the_fault, host))
    chain.tell(f"incidents on all hosts {time.monotonic() - chain.planted:.0f} s after the fault")
    everywhere = dict.fromkeys(map(instance, HOSTS), "firing")
    until(180, "the alert does not fire", lambda: chain.prometheus.alerts(ALERT) == everywhere)
    chain.tell(
        f"alert fires for all hosts {time.monotonic() - chain.planted:.0f} s after the fault"
    )
    (firing,) = chain.prometheus.query(
        f'ALERTS{{alertname="{ALERT}",instance="{instance("alpha")}"}}'
    )
    assert labels(firing) == {
        "__name__": "ALERTS", "alertname": ALERT, "alertstate": "firing",
        "instance": instance("alpha"), "job": "node", "rule": RULES[0], "severity": "warning",
        "target": "host",
    }  # fmt: skip


def _of_the_fault(host: Host) -> bool:
    return RULES[0] in map(_about, _incidents(host))


def _about(incident: dict[str, Any]) -> str:
    """The rule whose finding began."""
    return str(incident["id"]).partition("@")[0]


def _incidents(host: Host) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(host(NETTOP, "incidents", "--json"))["incidents"]
    return found


def incident(chain: Chain) -> None:
    """The incident of a host is shown, judged and opened at the moment when it began."""
    host = chain.hosts[0]
    one = next(one for one in _incidents(host) if _about(one) == RULES[0])
    shown = host(NETTOP, "incidents", "show", one["name"])
    assert RULES[0] in shown, shown
    words = host.machine.inside(NETTOP, "replay", one["name"])
    took = drawn(words, "replay of", "5", "window scaling is off")  # pane 5 lists the findings
    chain.tell(f"incident {one['name']}: shown, and opened by replay in {took:.1f} s")
    chain.told += [f"          {line}" for line in shown.splitlines()]


def checked(chain: Chain) -> None:
    """Check mode of the rollout says what would change, and changes nothing."""
    played = chain.rollout("--check").well()
    assert all(played.changed().values()), played.output
    assert set(chain.settings().values()) == {FAULTY}
    chain.tell(f"rollout --check: {played.changed()} changes, and nothing was changed")


def stopped(chain: Chain) -> None:
    """The canary proves the fix and keeps it; the second host loses its link and comes back."""
    alpha, beta, gamma = chain.hosts
    with cut_by_the_change(beta):
        begun = time.monotonic()
        played = chain.rollout()
        took = time.monotonic() - begun
        assert played.code != 0, played.output
        assert "with the changes: better" in played.output, played.output
        failed = played.hosts["beta"]
        assert failed["failed"] + failed["unreachable"] == 1, played.output
        assert gamma.name not in played.hosts, played.output
        back = until(120, "beta does not come back", lambda: beta.settings() == FAULTY)
    chain.told += _said(played, "with the changes: ")
    states = {"alpha": FIXED, "beta": FAULTY, "gamma": FAULTY}
    assert chain.settings() == states, chain.settings()
    assert _states(alpha) == ["applied", "applied"], _states(alpha)
    assert _states(beta) == ["reverted", "reverted"], _states(beta)
    assert _states(gamma) == []
    chain.tell(
        f"rollout stopped after {took:.0f} s: the canary alpha is better and confirmed, beta lost "
        f"its link and had its settings back {back:.0f} s later, gamma was not touched"
    )


def _said(played: Played, part: str) -> Iterator[str]:
    return (f"          {line.strip()}" for line in played.output.splitlines() if part in line)


def _states(host: Host) -> list[str]:
    """The states of the changes in the journal of a host, without those that were undone."""
    changes = json.loads(host(NETTOP, "journal", "--json"))["changes"]
    return [one["state"] for one in changes if one["state"] != "undone" and not one.get("undoes")]


def clears(chain: Chain) -> None:
    """The alert ends where the fix is, and stays where it is not."""
    others = dict.fromkeys(map(instance, HOSTS[1:]), "firing")
    begun = time.monotonic()
    until(180, "the alert of alpha does not end", lambda: chain.prometheus.alerts(ALERT) == others)
    chain.tell(f"alert of alpha ended after {time.monotonic() - begun:.0f} s; beta, gamma fire")


def finished(chain: Chain) -> None:
    """With the link repaired the rollout goes on where it stopped; a second run changes nothing."""
    played = chain.rollout().well()
    assert played.changed()["alpha"] == 0, played.output
    assert played.output.count("with the changes: better") >= 1, played.output
    assert set(chain.settings().values()) == {FIXED}, chain.settings()
    chain.told += _said(played, "with the changes: ")
    again = chain.rollout().well()
    assert again.changed() == dict.fromkeys(HOSTS, 0), again.output
    chain.tell(f"rollout: {played.changed()} changes; a second run: {again.changed()}")
    until(180, "the alert does not end", lambda: chain.prometheus.alerts(ALERT) == {})
    chain.tell("no alert fires")


def undone(chain: Chain) -> None:
    """The role undo takes everything back; check mode said so, and a second run changes nothing."""
    checked = chain.controller.play("undo", "--check").well()
    assert all(checked.changed().values()), checked.output
    assert set(chain.settings().values()) == {FIXED}
    played = chain.controller.play("undo").well()
    assert all(played.changed().values()), played.output
    assert set(chain.settings().values()) == {FAULTY}, chain.settings()
    again = chain.controller.play("undo").well()
    assert again.changed() == dict.fromkeys(HOSTS, 0), again.output
    chain.tell(f"undo: {played.changed()} changes, then {again.changed()}")


STEPS: Final[tuple[Callable[[Chain], None], ...]] = (
    services, audit, scraped, fault, incident, checked, stopped, clears, finished, undone,
)  # fmt: skip
