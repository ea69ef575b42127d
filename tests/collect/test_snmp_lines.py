"""Lines of /proc/net/snmp and netstat whose figures and names do not match."""

import pytest

from nettop.collect._lines import sections

ASKED = frozenset({"Tcp.InSegs", "Tcp.OutSegs", "Tcp.RetransSegs"})


@pytest.mark.parametrize(("figures", "found"), [
    ("Tcp: 5 6 7", {"Tcp.InSegs": 5, "Tcp.OutSegs": 6, "Tcp.RetransSegs": 7}),
    ("Tcp: 5 6", {"Tcp.InSegs": 5, "Tcp.OutSegs": 6}), ("Tcp: 5", {"Tcp.InSegs": 5}),
    ("Tcp:", {}), ("Tcp: 5 6 7 8", {"Tcp.InSegs": 5, "Tcp.OutSegs": 6, "Tcp.RetransSegs": 7}),
])  # fmt: skip
def test_names_without_a_figure_are_unknown(figures: str, found: dict[str, int]) -> None:
    assert sections(f"Tcp: InSegs OutSegs RetransSegs\n{figures}\n", ASKED) == found


@pytest.mark.parametrize("text", ["Tcp: InSegs\nUdp: 5\n", "InSegs\nTcp: 5\n", "Tcp: InSegs\n5\n"])
def test_figures_of_another_section_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="names without figures"):
        sections(text, ASKED)
