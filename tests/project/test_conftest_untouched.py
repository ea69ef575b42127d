"""The tests leave the settings of this machine alone."""

from __future__ import annotations

import pytest

from nettop import settings
from nettop.settings import Host


def test_a_write_to_this_machine_fails_the_test_and_not_the_machine() -> None:
    host, name = Host.at(), settings.parse("sysctl.net.ipv4.tcp_fin_timeout")
    before = settings.read(host.source, name)
    with pytest.raises(pytest.fail.Exception, match="would be set to"):
        settings.write(host, name, str(int(before) - 1))
    assert settings.read(host.source, name) == before
