"""Every form of a message of the helper programs, and everything that is none of them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from folded import folded

from nettop.trials import messages

STATE = {"rtt": 1, "cwnd": 2, "mss": 3, "retrans": 0}
VALID: dict[str, list[dict[str, Any]]] = {
    "udp_source": [{"point": 0, "size": 1, "sent": 2, "lasted": 0.5, "busy": 1.5}],
    "bulk": [
        {"port": 65535},
        {"start": 0.0, "seconds": 1, "received": 0, "retransmits": -1, "states": [STATE, {}]},
        {"total": 0, "poured": 0, "lasted": 0.1},
    ],
    "capture": [
        {"capturing": "eth0"},
        {"packets": 1, "bytes": 2, "lasted": 3.0, "seen": 4, "dropped": 5, "frozen": 6},
    ],
    "program": [{"out": ""}, {"err": "x"}, {"port": 0, "pid": 1}, {"exit": -9}],
    "neighbour": [{"walking": 1}],
    "pktgen": [{"running": "eth0"}, {"result": "OK"}],
    "sample": [
        {"links": {"eth0": {"mtu": 1500, "speed": 1, "driver": "x", "subsystem": "pci"}, "lo": {}},
         "kernel": "6", "host": "h", "pid": 1},
        {"at": 1.5, "cores": {"0": [0] * 8, "1023": [1] * 8}, "interfaces": {"lo": [0] * 10},
         "softnet": [[1, 2, 3]], "totals": {"Tcp": -1}, "interrupts": [1, 2]},
    ],
    "udp_latency": [
        {"port": 1},
        {"size": 1, "requests": 2, "lost": 0, "histogram": [[1, 2]], "stamped": [1.5, -2]},
        {"copying": 1e-10},
    ],
    "udp_sink": [
        {"port": 1, "room": 2},
        {"point": 0, "received": 1, "reordered": 0, "lasted": 0.0, "gaps": [], "busy": 0},
    ],
}  # fmt: skip
ODD: tuple[Any, ...] = (
       None, True, 1, -1, 1.5, "x", "1", [], [1], [[1, 2, 3]], [["x", 1]], {}, {"x": 1}, {"x": "y"},
       [{"rtt": 1}], [{**STATE, "x": -1}], {"a": [0] * 8}, {"12345678": [0] * 8}, {"٣": [0] * 8},
       {"0": [0] * 7}, {"0": [0] * 9}, {"0": [-1] * 8}, {"lo": [0] * 9}, {"lo": [0] * 11},
       [[1, 2]], {"lo": {"mtu": -1}}, {"lo": {"mtu": "1"}}, {"lo": {"driver": 1}},
       {"lo": {"other": 1}},
       65536, [1.5], [-1], [True], [[1]], [[1, 2, -3]])  # fmt: skip
# the values of ODD that a field takes
TAKES: dict[str, tuple[Any, ...]] = {
    "port": (1,), "text": ("x", "1"), "count": (1, 65536), "whole": (1, -1, 65536),
    "real": (1, -1, 1.5, 65536), "flag": (True,),
    "states": ([],), "pairs": ([], [[1, 2]]), "reals": ([], [1], [1.5], [-1]), "counts": ([], [1]),
    "links": ({},), "cores": ({},), "interfaces": ({},), "softnet": ([], [[1, 2, 3]]),
    "totals": ({}, {"x": 1}),
}  # fmt: skip
KINDS = {
    "port": "port", "watching": "flag", "states": "states", "histogram": "pairs", "gaps": "pairs",
    "stamped": "reals", "interrupts": "counts", "links": "links", "cores": "cores",
    "interfaces": "interfaces", "softnet": "softnet", "totals": "totals",
    **dict.fromkeys(("exit", "retransmits"), "whole"),
    **dict.fromkeys(("lasted", "busy", "start", "seconds", "at", "copying"), "real"),
    **dict.fromkeys(("capturing", "out", "err", "running", "result", "kernel", "host"), "text"),
}  # fmt: skip


def every() -> Iterator[tuple[str, dict[str, Any]]]:
    for script, forms in VALID.items():
        yield from ((script, form) for form in forms)


def read(script: str, value: Any) -> Any:
    return messages.message(script, json.dumps(value).encode())


def refused(script: str, value: Any) -> bool:
    try:
        read(script, value)
    except ValueError as error:
        return str(error) == "it is not a message of this program"
    return False


def test_every_program_has_its_forms() -> None:
    assert set(messages._FORMS) == set(VALID)
    for script, form in every():
        assert read(script, form) == form
        for other in VALID:
            alone = [name for name, one in every() if one.keys() == form.keys()]
            assert refused(other, form) is (other not in alone)
    for script in VALID:
        for failure in ({"error": "x"}, {"absent": "x"}):
            assert read(script, failure) == failure
            assert refused(script, {**failure, "more": 1})
            assert refused(script, dict.fromkeys(failure, 1))


@folded(("script", "form"), [*every()], ids=lambda one: str(one)[:20])
def test_a_field_too_few_too_many_or_of_another_kind_is_refused(
    script: str, form: dict[str, Any]
) -> None:
    if len(form) > 1:
        for name in form:
            assert refused(script, {n: v for n, v in form.items() if n != name}), name
    assert refused(script, {**form, "more": 1})
    for name in form:
        takes = TAKES[KINDS.get(name, "count")]
        for odd in ODD:
            fits = any(repr(odd) == repr(one) for one in takes)
            assert refused(script, {**form, name: odd}) is not fits, (name, odd)


def test_other_lines_are_no_messages() -> None:
    for line in (b"", b"motd", b"[1]", b"{}", b' {"port": 1}', b"{'port': 1}"):
        assert messages.message("bulk", line) is None
    for line in (b'{"port"', b'{"port": 1} x', b'{"port": NaN}', b'{"lasted": 1e999}'):
        with pytest.raises(ValueError, match=r"."):
            messages.message("bulk", line)


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_are_bounded(sign: str) -> None:
    most = messages.LARGEST
    fits: Any = messages.parsed(f"[{sign}{int(most)}, {sign}{float(most)}]".encode())
    assert [abs(one) for one in fits] == [int(most), float(most)]
    for text in (f"{int(most) + 1}", f"{float(most) * 1.001!r}", "1" * 22, "1e400"):
        with pytest.raises(ValueError, match="is out of range"):
            messages.parsed(f"{sign}{text}".encode())
    with pytest.raises(ValueError, match="it is nested too deeply"):
        messages.parsed(b"[" * 100_000)
    for text in ("NaN", "Infinity"):
        with pytest.raises(ValueError, match=f"{text} is not a number"):
            messages.parsed(text.encode())
