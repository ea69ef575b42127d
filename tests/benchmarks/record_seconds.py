"""Record the rate of each second of real traffic between two namespaces; root.

    record_seconds.py FILE [--seconds 7200]

One TCP connection (cubic) over a veth pair sends as fast as it can for 10 ms of every 250 ms; the
figure of a second is the rate over its four bursts, in Mbit/s. It takes about 3 % of a core, so
that it can run for hours beside other work, whose noise is what it records. FILE is appended to:
one figure a line, for `verdict_errors.py --seconds FILE`.
"""

import argparse
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from veth import pair

BURST, EVERY, BURSTS = 0.01, 0.25, 4  # seconds, seconds, bursts of a second
PORT = 7777
AMOUNT = bytes(128 << 10)


def receive() -> None:
    """Take one connection and read it to its end."""
    with socket.create_server(("", PORT)) as listening:
        print("ready", flush=True)
        taken, _ = listening.accept()
        room = bytearray(1 << 20)
        while taken.recv_into(room):
            pass


def burst(sock: socket.socket) -> tuple[int, float]:
    """Send for `BURST` seconds: bytes and the time that they took."""
    begun = now = time.monotonic()
    sent = 0
    while now < begun + BURST:
        sent += sock.send(AMOUNT)
        now = time.monotonic()
    return sent, now - begun


def transmit(to: str, seconds: int) -> None:
    """Print the rate of each second, in Mbit/s."""
    with socket.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        sock.connect((to, PORT))
        due = time.monotonic()
        for _ in range(seconds):
            total, took = 0, 0.0
            for _ in range(BURSTS):
                due += EVERY
                time.sleep(max(0.0, due - time.monotonic()))
                sent, spent = burst(sock)
                total, took = total + sent, took + spent
            print(f"{total * 8 / took / 1e6:.0f}", flush=True)


def main() -> None:
    """Make the namespaces and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--seconds", type=int, default=7200)
    args = parser.parse_args()
    if args.file == "receive":
        return receive()
    if args.file.startswith("to:"):
        return transmit(args.file[3:], args.seconds)
    this = [sys.executable, __file__]
    with (
        pair("seconds") as place,
        open(args.file, "a", encoding="ascii") as out,
        subprocess.Popen([*place.far, *this, "receive"], stdout=subprocess.PIPE) as receiving,
    ):
        assert receiving.stdout is not None
        receiving.stdout.readline()
        words = [*place.near, *this, f"to:{place.to}", "--seconds", f"{args.seconds}"]
        subprocess.run(words, stdout=out, check=True)
    return None


if __name__ == "__main__":
    main()
