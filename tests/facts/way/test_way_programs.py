"""Routes with BPF programs on the way."""

from dataclasses import replace

from folded import folded
from way_tables import NEAR, SOUND, frame, route, went

from nettop.collect import drop_reasons
from nettop.facts.way import SUSPECT


def test_a_program_of_the_route_may_drop() -> None:
    encap = [replace(route("10.2.0.0/24", "a0"), programs="acl at xmit"), *SOUND["fib"]]
    (step,) = [one for one in went("10.2.0.5", frame(fib=encap)).steps if one.outcome == SUSPECT]
    assert step.saw == (
        "BPF program acl at xmit of route 10.2.0.0/24 (encap bpf) sees these packets, and may drop "
        "them"
    )


@folded(("to", "by", "place"), [
    ("10.2.0.5", "sd_fw_egress@/system.slice/db.service", "groups"),
    ("10.2.0.6", "sd_fw_egress@/system.slice/db.service", None), ("10.2.0.5", "", None),
])  # fmt: skip
def test_a_program_of_a_control_group_that_rejected_such_packets_is_a_doubt(
    to: str, by: str, place: str | None
) -> None:
    row = drop_reasons.Row(
        "BPF_CGROUP_EGRESS", "ip_finish_output", "here", "2", "tcp", "40000", 3, 1000, NEAR,
        40_000, "10.2.0.5", 443, by=by,
    )  # fmt: skip
    way = went(to, frame(**{**SOUND, "drop_reasons": [row]}), port=443)
    assert (way.suspect and way.suspect.place) == place
    if way.suspect is not None:
        assert "IPAddressDeny= of db.service (sd_fw_egress) rejects" in way.suspect.saw
        assert way.suspect.command == "systemctl show -p IPAddressDeny db.service"
