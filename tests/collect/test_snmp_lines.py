"""Lines of /proc/net/snmp and netstat whose figures and names do not match."""

import pytest

from nettop.collect._lines import sections

ASKED = frozenset({"Tcp.InSegs", "Tcp.OutSegs", "Tcp.RetransSegs"})


@pytest.mark.parametrize("text", ["Tcp: InSegs\nUdp: 5\n", "InSegs\nTcp: 5\n", "Tcp: InSegs\n5\n"])
def test_figures_of_another_section_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="names without figures"):
        sections(text, ASKED)
