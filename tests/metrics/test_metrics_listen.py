"""`nettop metrics --listen`: formats, looks counted, TLS, refusals and its end."""

import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from folded import folded
from hang import HANG

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as classic

from nettop.cli import main
from nettop.host.recording import Replay, load
from nettop.metrics import families, listen
from nettop.metrics.families import Sample
from nettop.views.observer import Observation, Observer

HOST = str(Path(__file__).parents[1] / "hosts/guest-transfer.host")
OPEN = "application/openmetrics-text; version=1.0.0"


class Listening(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    url: str


def free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def words(port: int, *more: str) -> list[str]:
    listen = ["metrics", "--listen", f"127.0.0.1:{port}", "--replay", HOST, *more]
    return [sys.executable, "-m", "nettop", *listen]


@contextmanager
def listening(*more: str) -> Iterator[Listening]:
    port = free()
    with subprocess.Popen(
        words(port, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield Listening(process, port, process.stdout.readline().strip())
        finally:
            process.kill()


def get(url: str, accept: str = "", context: ssl.SSLContext | None = None) -> tuple[str, str]:
    """The content type and the body."""
    request = Request(url, headers={"Accept": accept} if accept else {})
    with urlopen(request, timeout=HANG, context=context) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_both_formats_are_negotiated_and_a_signal_ends_it() -> None:
    for end in (signal.SIGTERM, signal.SIGINT):
        with listening() as one:
            assert one.url == f"http://127.0.0.1:{one.port}/metrics"
            kind, body = get(one.url)
            assert kind.startswith("text/plain; version=0.0.4")
            names = {metric.name for metric in classic(body)}
            kind, body = get(one.url, OPEN)
            assert kind.startswith("application/openmetrics-text")
            parsed = open_metrics(body)  # type: ignore[no-untyped-call]
            assert {metric.name for metric in parsed} == names
            one.process.send_signal(end)
            assert one.process.wait(HANG) == 0
            assert one.process.stderr is not None
            assert one.process.stderr.read() == ""


def source() -> tuple[Replay, Observer]:
    replay = Replay(load(HOST), loop=True)
    return replay, Observer(replay)


def test_a_hundred_scrapes_within_a_second_are_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    one = families.Looks(*source())
    with ThreadPoolExecutor(10) as pool:
        every = [pool.submit(one.samples) for _ in range(100)]
        assert len({id(task.result()) for task in every}) == 1
    assert one.count == 1
    now[0] += 0.9
    one.samples()
    assert one.count == 1
    now[0] += 0.2
    one.samples()
    assert one.count == 2


def test_a_scrape_reads_each_table_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    replay, observer = source()
    one = families.Looks(replay, observer)
    steps: list[float] = []
    whole = observer.step

    def step() -> Observation:
        steps.append(now[0])
        return whole()

    monkeypatch.setattr(observer, "step", step)
    for _ in range(5):
        now[0] += 15
        for _ in range(4):
            one.samples()
    assert steps == [115.0, 130.0, 145.0, 160.0, 175.0]


def test_a_recording_starts_again_at_its_end_without_a_look_that_has_no_rates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    replay, observer = source()
    one = families.Looks(replay, observer)
    one.observe(1.0, to_end=False)
    for _ in range(2 * len(replay.moments)):
        now[0] += 2
        one.samples()
        assert one.judged


def test_a_busy_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        again = subprocess.run(
            words(port), capture_output=True, text=True, timeout=HANG, check=False
        )
    assert (again.returncode, again.stdout) == (3, "")
    assert again.stderr == (f"nettop: cannot listen on 127.0.0.1:{port}: Address already in use\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("9469", "127.0.0.1:9469"),
        (":9469", "127.0.0.1:9469"),
        ("0.0.0.0:9469", "0.0.0.0:9469"),
        ("[::1]:9469", "[::1]:9469"),
    ],
)
def test_a_port_alone_is_on_loopback(text: str, shown: str) -> None:
    assert listen.parse_place(text).shown == shown


@folded(
    "text",
    ["", "x", "host:9469", "1.2.3:9469", "1.2.3.4", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536",
     "::1:9", "[::1:9", "::1]:9", "[1.2.3.4]:9", "[::1]", "-1", "1.2.3.4:９", "[fe80::1%x y]:\n9",
     " 9469", "[[::1]]:9", "1.2.3.4:99999999999999999999999"],
)  # fmt: skip
def test_a_bad_address_is_a_usage_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", f"--listen={text}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


@folded(
    "more",
    [
        ["--unit"],
        ["--key", "k"],
        ["--listen", "9", "--key", "k"],
        ["--listen", "9", "--certificate", "c"],
        ["--textfile", "x", "--certificate", "c", "--key", "k"],
        ["--textfile", "x", "--listen", "9"],
        ["--alerts", "--board"],
        ["--listen", "192.0.2.1:9469", "--replay", HOST],
    ],
)
def test_options_that_do_not_belong_together_are_a_usage_error(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metrics", *more]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("nettop")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = str(folder / "cert.pem"), str(folder / "key.pem")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
    more = ["subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    return files


def test_tls_serves_and_a_client_that_sends_nothing_delays_nobody(pair: tuple[str, str]) -> None:
    trust = ssl.create_default_context(cafile=pair[0])
    with listening("--certificate", pair[0], "--key", pair[1]) as one:
        assert one.url == f"https://127.0.0.1:{one.port}/metrics"
        idle = [socket.create_connection(("127.0.0.1", one.port)) for _ in range(3)]
        with socket.create_connection(("127.0.0.1", one.port)) as other:
            other.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")  # not TLS
            other.recv(1000)
        _, body = get(one.url, context=trust)
        assert "nettop_judged 1.0" in body
        for connection in idle:
            connection.close()
        one.process.terminate()
        assert one.process.wait(HANG) == 0
        assert one.process.stderr is not None
        assert one.process.stderr.read() == ""


def test_a_certificate_that_cannot_be_used_is_one_sentence(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    for certificate, key in ((str(tmp_path / "no"), pair[1]), (pair[0], str(tmp_path / "empty"))):
        more = ("--certificate", certificate, "--key", key)
        done = subprocess.run(
            words(free(), *more), capture_output=True, text=True, timeout=HANG, check=False
        )
        assert done.returncode == 3
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith(f"nettop: cannot use {certificate} and {key}: ")


def test_the_sentence_says_what_is_wrong_with_a_certificate_or_key(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    certificate, key = pair
    der, other, locked = (str(tmp_path / name) for name in ("der", "other", "locked"))
    openssl("x509", "-in", certificate, "-outform", "der", "-out", der)
    openssl("genrsa", "-out", other, "2048")
    openssl("rsa", "-aes128", "-passout", "pass:secret", "-in", key, "-out", locked)
    for files, why in (
        ((der, key), "has no certificate in PEM form"),
        ((key, certificate), f"{key} has no certificate in PEM form"),
        ((certificate, certificate), "has no private key in PEM form"),
        ((certificate, locked), "has a passphrase"),
        ((certificate, other), "the key is not that of the first certificate"),
    ):
        with pytest.raises(OSError, match=re.escape(why)):
            listen.tls(*files)


def test_a_look_that_fails_is_one_line_and_status_500(capsys: pytest.CaptureFixture[str]) -> None:
    def samples() -> list[Sample]:
        raise OSError(5, "Input/output error", "/proc/net/dev")

    server = listen.Server(listen.Place("127.0.0.1", free()), samples, None)
    thread = threading.Thread(target=server._server.serve_forever, args=(0.05,))
    thread.start()
    try:
        with pytest.raises(HTTPError, match="500"):
            get(server.url)
    finally:
        server._server.shutdown()
        thread.join()
        server._server.server_close()
    assert capsys.readouterr().err == "nettop: no metrics: Input/output error: /proc/net/dev\n"


def test_only_reading_is_answered() -> None:
    with listening() as one:
        connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=HANG)
        connection.request("POST", "/metrics", b"x")
        assert connection.getresponse().status == 405
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(HANG) == 0


def test_the_text_file_is_replaced_whole_and_readable(tmp_path: Path) -> None:
    target = tmp_path / "nettop.prom"
    target.write_text("old")
    target.chmod(0o640)
    before = target.stat().st_ino
    assert main(["metrics", "--textfile", str(target), "--replay", HOST]) == 0
    assert target.stat().st_ino != before
    assert target.stat().st_mode & 0o777 == 0o640
    assert {m.name for m in classic(target.read_text())} >= {"nettop_judged", "nettop_looks"}
    assert os.listdir(tmp_path) == ["nettop.prom"]


def test_a_text_file_that_cannot_be_written_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["metrics", "--textfile", "/nowhere/nettop.prom", "--replay", HOST]) == 3
    message = "nettop: cannot write /nowhere/nettop.prom: No such file or directory\n"
    assert capsys.readouterr().err == message


def test_a_host_that_cannot_be_judged_is_written_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metrics", "--root", str(tmp_path)]) == 3
    out = capsys.readouterr().out
    assert "nettop_judged 0.0" in out
    assert "nettop_findings" not in out
