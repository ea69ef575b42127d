"""Routes with BPF programs on the way."""

from dataclasses import replace

from way_tables import SOUND, frame, route, went

from nettop.facts.way import SUSPECT


def test_a_program_of_the_route_may_drop() -> None:
    encap = [replace(route("10.2.0.0/24", "a0"), programs="acl at xmit"), *SOUND["fib"]]
    (step,) = [one for one in went("10.2.0.5", frame(fib=encap)).steps if one.outcome == SUSPECT]
    assert step.saw == (
        "BPF program acl at xmit of route 10.2.0.0/24 (encap bpf) sees these packets, and may drop "
        "them"
    )
