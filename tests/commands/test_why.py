"""`nettop why`: its text, its targets and its exit codes, on recordings and a copied /proc."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import flow_tables
import pytest
from flow_tables import joined, moving
from folded import folded
from limit_frames import moment

from nettop.cli import main
from nettop.collect import qdiscs, sockets_udp
from nettop.commands._target import bare, chosen
from nettop.commands.why import look, text
from nettop.facts.limits import KINDS, Limit
from nettop.facts.limits.stages import declared
from nettop.facts.limits.words import document as limit_document
from nettop.frame.rates import Frame
from nettop.host.source import Source
from nettop.sampling.sampler import SAMPLES, Sampler
from nettop.terms.errors import Refused

HOSTS = Path(__file__).parents[1] / "hosts"
SENDER = "10.77.2.1:60370"
PEER = "10.77.2.2:5201"


def why(capsys: pytest.CaptureFixture[str], host: str, *words: str) -> tuple[int, str, str]:
    code = main(["why", *words, "--replay", str(HOSTS / host)])
    out, err = capsys.readouterr()
    return code, out, err


def limits(capsys: pytest.CaptureFixture[str], host: str, *words: str) -> list[dict[str, Any]]:
    code, out, err = why(capsys, host, *words, "--json")
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)["limits"]
    return found


def test_a_flow_and_its_interface_have_the_same_limit(capsys: pytest.CaptureFixture[str]) -> None:
    found = limits(capsys, "vm-send-buffer.host")
    flow = next(one for one in found if one["over"] == "flow")
    nic = next(one for one in found if (one["target"], one["direction"]) == ("enp0s12", "tx"))
    assert flow["target"] == f"{SENDER}>{PEER}"
    for one in (flow, nic):
        assert (one["limit"]["stage"], one["limit"]["end"]) == ("sndbuf", "here")
    assert flow["limit"]["capacity"][0] <= flow["rate"] <= flow["limit"]["capacity"][1]
    assert flow["next"] is None  # its thread ran 17%: it is not known whether that fills the link


@pytest.mark.parametrize(
    "host", ["vm-send-buffer.host", "vm-vmxnet3-drops.host", "guest-udp-loss.host"]
)
def test_every_stage_is_one_of_the_list(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = limits(capsys, host)
    assert found
    for one in found:
        for step in one["ladder"]:
            assert step["stage"] in declared()
            assert step["kind"] in KINDS
            assert step["end"] in ("here", "there")
            if step["capacity"] is not None:
                assert step["capacity"][1] <= 2 * step["capacity"][0]


def test_the_text_has_the_limit_its_measurement_and_the_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = why(capsys, "vm-send-buffer.host", PEER)
    assert code == 0
    assert "limited by the send buffer" in out
    assert "next: not known, at most 940.6 Mb/s (the link)" in " ".join(out.split())
    assert "64 KiB buffer full" in out


@folded("target", ["enp0s12", "440", SENDER, PEER, f"::ffff:{PEER}"])
def test_a_target_is_an_interface_a_process_or_either_end(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = limits(capsys, "vm-send-buffer.host", target)
    assert any(one["limit"]["stage"] == "sndbuf" for one in found)
    assert len(found) < len(limits(capsys, "vm-send-buffer.host"))


@folded("target", ["eth9", "99999", "10.77.2.2:1", "[::1]:5", "x:y"])
def test_an_unknown_target_is_a_usage_error(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = why(capsys, "vm-send-buffer.host", target)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@folded("target", ["x:y", ":", "[::1", "10.77.2.2:99999", "10.77.2.2:", ":99999"])
def test_what_is_no_address_with_a_port_is_called_so(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, err = why(capsys, "vm-send-buffer.host", target)
    assert f"no interface, process, ADDRESS, ADDRESS:PORT or :PORT '{target}'" in err


@folded(("target", "address"), [
    ("10.0.0.2", "10.0.0.2"), ("[2001:db8::1]", "[2001:db8::1]"), ("::ffff:10.0.0.2", ""),
    ("2001:db8:0:0:0:0:0:1", "[2001:db8::1]"), ("2001:db8::1", ""), ("10.0.0.2:80", ""),
])  # fmt: skip
def test_an_address_without_a_port_is_one_where_its_end_is_no_port(
    target: str, address: str
) -> None:
    assert bare(target) == address


def test_an_address_alone_names_the_flows_of_that_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    every = {
        one["target"] for one in limits(capsys, "vm-send-buffer.host") if one["over"] == "flow"
    }
    address = next(iter(every)).split(">")[1].rpartition(":")[0]
    found = {one["target"] for one in limits(capsys, "vm-send-buffer.host", address)}
    assert found == {one for one in every if f"{address}:" in one.replace(">", " ")} != set()


def test_a_port_alone_names_the_flows_of_that_port(capsys: pytest.CaptureFixture[str]) -> None:
    every = limits(capsys, "vm-send-buffer.host")
    flow = next(one["target"] for one in every if one["over"] == "flow")
    for end in flow.split(">"):
        port = ":" + end.rpartition(":")[2]
        found = {one["target"] for one in limits(capsys, "vm-send-buffer.host", port)}
        assert flow in found
        flows = {one["target"] for one in every}
        assert found == {one for one in flows if any(e.endswith(port) for e in one.split(">"))}
    code, _, err = why(capsys, "vm-send-buffer.host", ":9")
    assert (code, "no limit was seen of a flow from or to :9;" in err) == (2, True)


@pytest.mark.parametrize("target", ["::1:5", "[::1]:5", "0:0:0:0:0:0:0:1:5", "[0::1]:5"])
def test_an_address_of_ipv6_has_several_forms(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, err = why(capsys, "vm-send-buffer.host", target)
    assert "no limit was seen of a flow from or to [::1]:5;" in err


def test_a_process_whose_flows_only_root_sees() -> None:
    """Without root the processes of other users' sockets are not known."""
    hidden = Limit("flow", "10.0.0.1:80>10.0.0.2:4", "tx", 1e9)
    facts = replace(joined(*moving()), limits=(hidden,))
    with pytest.raises(Refused, match="; the processes of 1 flow are not known"):
        chosen(facts, "8")


def test_a_ring_that_drops_limits_the_interface(capsys: pytest.CaptureFixture[str]) -> None:
    found = limits(capsys, "vm-vmxnet3-drops.host", "enp0s12")
    nic = next(one for one in found if one["over"] == "nic" and one["direction"] == "rx")
    assert nic["limit"]["stage"] == "ring"


def test_a_udp_socket_that_drops_has_no_rate(capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = (one for one in limits(capsys, "guest-udp-loss.host") if one["over"] == "socket")
    assert (one["rate"], one["limit"]["stage"]) == (None, "application")
    assert one["limit"]["joint"] == ["rcvbuf"]


def test_one_reading_of_a_host_is_not_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/stat").write_text("cpu0 1 0 1 1 0 0 0 0 0 0\n")
    (tmp_path / "proc/net/dev").write_text("a|b\nc|d\neth0: " + "1 " * 16 + "\n")
    assert main(["why", "--root", str(tmp_path), "--seconds", "100ms"]) == 3
    assert "not enough was seen" in capsys.readouterr().err


def test_sockets_that_are_all_new_were_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [sockets_udp.Row(inode, "10.0.0.1", inode, "10.0.0.9", 123, False, 0, 0, 0, 0)
            for inode in (40001, 40002)]  # fmt: skip
    first, last = flow_tables.frames(
        *({**moment(float(second)), "sockets_udp": [row]} for second, row in enumerate(rows))
    )
    taken = iter((first, last))
    monkeypatch.setattr(Sampler, "take", lambda *_: next(taken))
    waits = iter((True, False))
    host = SimpleNamespace(ends=True, now=lambda: 0.0, wait=lambda _: next(waits))
    assert look(cast(Source, host), 0.05)[0] is last


@pytest.mark.parametrize("again", [True, False], ids=["read twice", "read once"])
def test_a_table_of_rates_that_was_read_once_is_not_enough(
    again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The qdiscs are read less often than the sockets: a short look has none of their rates."""
    queue = qdiscs.Row("eth0", "root", "1:", "tbf", True, 90_000, 9, 1, rate=1e9)
    first, last = flow_tables.frames(*(moment(second, queue=queue) for second in (0.0, 1.0)))
    if not again:
        once = {**last.tables, "qdiscs": first.tables["qdiscs"]}
        last = Frame(last.at, last.wall, once)
    taken = iter((first, last))
    monkeypatch.setattr(Sampler, "take", lambda *_: next(taken))
    waits = iter((True, False))
    host = SimpleNamespace(ends=True, now=lambda: 0.0, wait=lambda _: next(waits))
    if again:
        assert look(cast(Source, host), 0.05)[0] is last
        return
    with pytest.raises(Refused, match="qdiscs: read only once; observe for 1 s") as refused:
        look(cast(Source, host), 0.05)
    assert refused.value.code == 3


def test_on_a_slow_host_the_look_takes_some_samples_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample takes longer than an interval: after the time alone there would be two."""
    clock = [0.0]
    every = flow_tables.frames(*(moment(float(second)) for second in range(9)))
    taken = iter(every)

    def take(*_: object) -> Frame:
        clock[0] += 1.8
        return next(taken)

    monkeypatch.setattr(Sampler, "take", take)
    host = SimpleNamespace(ends=False, live=True, now=lambda: clock[0], wait=lambda _: True)
    frame, _ = look(cast(Source, host), 4.0)
    assert every.index(frame) == SAMPLES


@pytest.mark.parametrize("target", ["10.0.0.2:40001", "7", None])
def test_a_flow_that_ends_while_it_is_observed_has_its_last_limit(
    target: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [moment(second) for second in (0.0, 1.0, 2.0)]
    tables.append({**moment(3.0), "sockets_tcp": [], "socket_owners": []})
    taken = iter(flow_tables.frames(*tables))
    monkeypatch.setattr(Sampler, "take", lambda *_: next(taken))
    waits = iter((True, True, True, False))
    host = SimpleNamespace(ends=True, now=lambda: 0.0, wait=lambda _: next(waits))
    _, facts = look(cast(Source, host), 3.0, target)
    (ended,) = (one for one in chosen(facts, target) if one.over == "flow")
    assert ended.ended
    assert ", ended meanwhile" in text([ended], every=True)[1]
    assert limit_document(ended)["ended"] is True
    assert "ended" not in limit_document(replace(ended, ended=False))


def test_what_is_no_target_is_refused_after_the_first_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = iter(flow_tables.frames(moment(0.0)))
    monkeypatch.setattr(Sampler, "take", lambda *_: next(taken))
    host = SimpleNamespace(ends=True, now=lambda: 0.0, wait=lambda _: pytest.fail("it waits"))
    with pytest.raises(Refused, match="did you mean eth0") as refused:
        look(cast(Source, host), 3.0, "eth00")
    assert refused.value.code == 2


def test_advise_has_the_same_limits(capsys: pytest.CaptureFixture[str]) -> None:
    host = "vm-send-buffer.host"
    main(["advise", "--json", "--replay", str(HOSTS / host)])
    assert json.loads(capsys.readouterr().out)["limits"] == limits(capsys, host)


def test_a_flow_of_a_container_stands_with_its_namespace() -> None:
    limit = Limit("flow", "10.0.0.1:80>10.0.0.2:4", "tx", 1e9, pid=8, process="nginx",
                  namespace="web-7f")  # fmt: skip
    assert "10.0.0.1:80>10.0.0.2:4 nginx[8] in web-7f sends 1 Gb/s" in text([limit], every=True)


def test_a_table_that_was_read_in_part_is_named_even_if_most_hosts_lack_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = (HOSTS / "vm-send-buffer.host").read_text()
    first, mark, rest = archive.partition("\n-- @")
    closed = "-- /proc/self/ns/net@ --\nnet:[7]\n-- /proc/1/ns/net@ --\n!13 Permission denied\n"
    head, newline, tail = rest.partition("\n")
    recording = tmp_path / "closed.host"
    recording.write_text(f"{first}{mark}{head}{newline}{closed}{tail}")
    assert main(["why", "--replay", str(recording)]) == 0
    output = capsys.readouterr().out
    assert "not read: namespaces: the network namespace of 1 process cannot be read" in output


BLACKHOLE = str(Path(__file__).parents[1] / "advice" / "blackhole-route.host.gz")


def test_what_the_kernel_refused_meanwhile_stands_below(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = why(capsys, BLACKHOLE)
    assert code == 0
    assert "sendto" in out
    assert "(EINVAL): The route is a blackhole" in " ".join(out.split())
    document = json.loads(why(capsys, BLACKHOLE, "--json")[1])
    (call,) = document["failed_calls"]
    assert (call["call"], call["error"]) == ("sendto", "EINVAL")
    assert call["calls"] > 0


def test_a_recording_without_these_counts_has_no_part_for_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "dropped and refused" not in why(capsys, "vm-send-buffer.host")[1]
