"""ib-send-bw: RDMA send bandwidth with perftest's ib_send_bw, one message size."""

from typing import Final

from ..result import Measured, Options
from ..run import Trial
from ._client_server import failed, number, run_both

TOOL: Final = "ib-send-bw"
PACKAGE: Final = "perftest"
HELP: Final = "RDMA bandwidth with ib_send_bw"
TAKES: Final = "length count"
PORT: Final = 18515


def words(o: Options, port: str) -> list[str]:
    """The arguments that both ends need."""
    argv = ["ib_send_bw", "-p", port, "-s", str(o.length or 65536), "--report_gbits", "-F"]
    if o.count is not None:
        return [*argv, "-n", str(o.count)]
    return [*argv, "-D", f"{max(1, round(o.seconds + o.warmup))}"]


def measure(trial: Trial) -> Measured:
    """The server on the other host, the client here."""
    o = trial.options
    output, _ = run_both(trial, words(o, "{port}"), lambda port: [*words(o, str(port)), o.to], PORT)
    return parse(output)


def parse(output: str) -> Measured:
    """The row under `#bytes #iterations BW peak BW average MsgRate`; TrialError without one."""
    for line in output.splitlines():
        values = [number(word) for word in line.split()]
        row = [value for value in values if value is not None]
        if len(values) == len(row) == 5:
            return Measured(
                bits_per_second=1e9 * row[3],
                details={"bytes": row[0], "iterations": row[1], "peak_gbit": row[2],
                         "msg_rate_mpps": row[4]},
            )  # fmt: skip
    raise failed("ib_send_bw", output)
