"""/proc/net/wireless and /proc/net/tls_stat, written as the kernel writes them."""

from pathlib import Path

import pytest

from nettop.collect import tls, wireless
from nettop.host.source import Live

RADIO = """\
Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE
 face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22
 wlan0: 0000   41.  -69.  -256        0      0      0    318     21        0
wlp3s0: 0000   70.  196   -256        0      0      0      0      0        0
"""
TLS = """\
TlsCurrTxSw                     \t2
TlsCurrRxSw                     \t1
TlsCurrTxDevice                 \t0
TlsCurrRxDevice                 \t4
TlsDecryptError                 \t7
TlsRxDeviceResync               \t90
"""


def host(folder: Path, file: str, text: str) -> Live:
    (folder / "proc/net").mkdir(parents=True)
    (folder / "proc/net" / file).write_text(text)
    return Live(str(folder))


def test_signal_and_lost_frames_of_each_radio(tmp_path: Path) -> None:
    assert wireless.read(host(tmp_path, "wireless", RADIO)) == [
        wireless.Row("wlan0", -69, 318, 21),
        wireless.Row("wlp3s0", -60, 0, 0),
    ]


def test_a_line_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="not a line of an interface"):
        wireless.parse("a\nb\n wlan0: 0000 41.\n")


def test_counters_of_tls_that_this_kernel_has(tmp_path: Path) -> None:
    (row,) = tls.read(host(tmp_path, "tls_stat", TLS))
    assert row == tls.Row(2, 1, 0, 4, 7, 90, None)


def test_another_format_of_tls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a name and a count"):
        tls.read(host(tmp_path, "tls_stat", "TlsCurrTxSw\n"))
