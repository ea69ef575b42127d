"""Any frame is joined, whatever its values; test_facts_varied leaves each table out."""

from typing import Any

from flow_tables import frames
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettop import collect
from nettop.facts.joined import NEEDS, Joiner
from nettop.frame.fields import type_of

VALUES: dict[str, list[Any]] = {
    "str": ["", "eth0", "eth0-rx-0", "rx-0", "50", "established", "a b", "fe80::1%x", "1 2 3"],
    "text": ["eth0", "toeplitz", "6d:5a", "zz", "sdfn", "bond", "bridge", "0000:03:00.0", "net"],
    "int": [0, 1, 2, 3, 50, 2**63],
    "float": [0.0, 1.5, 1e12],
    "bool": [True, False],
    "tuple[int, ...]": [(), (0,), (0, 1, 9)],
    "tuple[str, ...]": [(), ("eth0",), ("50",), ("a", "b")],
}


def values_of(field: Any) -> st.SearchStrategy[Any]:
    """Ordinary and absurd values of a row's field; None where its type allows it."""
    kind, optional = type_of(field)
    if field.metadata.get("kind") == "vector":
        return st.dictionaries(st.integers(0, 3), st.integers(0, 9), max_size=2)
    if field.metadata.get("kind") == "counter" and kind == "int":
        some: st.SearchStrategy[Any] = st.integers(0, 2**64)
    else:
        some = st.sampled_from(VALUES[kind] + (VALUES["text"] if kind == "str" else []))
    return st.none() | some if optional else some


def rows_of(name: str) -> st.SearchStrategy[list[Any]]:
    kind = collect.collector(name).Row
    fields = {field.name: values_of(field) for field in kind.__dataclass_fields__.values()}
    return st.lists(st.builds(kind, **fields), max_size=3)


@settings(suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_frame_is_too_odd(data: st.DataObject) -> None:
    names = data.draw(st.sets(st.sampled_from(NEEDS)))
    tables = {name: data.draw(rows_of(name)) for name in sorted(names)}
    joiner = Joiner(ssh_peer="10.0.0.9")
    for frame in frames(tables, tables):
        facts = joiner.build(frame)
        assert len({nic.name for nic in facts.nics}) == len(facts.nics)


def test_every_needed_table_has_a_collector() -> None:
    assert set(NEEDS) <= set(collect.names())
