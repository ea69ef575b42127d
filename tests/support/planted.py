"""Delays of packets that are planted in a network namespace, and what the journey says of them.

A plant is a program: it makes packets wait at one place, and says for how long (`PLANTED`, seconds)
as it measures or computes it itself.
"""

import json
from typing import Any, Final

import veth
from changes_netns import python

COUNT: Final = 20  # packets
SLEEP: Final = 0.03  # seconds: longer than what is called long

_BEGIN: Final = f"""
import ctypes, json, os, signal, socket, struct, subprocess, sys, threading, time
from hang import until
from nettop.collect import drop_reasons, journeys
from nettop.collect._counted import moments
from nettop.facts import journey as facts
from nettop.facts import rhythm
from nettop.host.bpf import assembler as a
from nettop.host.bpf import call, drops, journey

COUNT, SLEEP, NEAR, FAR, PORT = {COUNT}, {SLEEP}, "{veth.NEAR}", "{veth.FAR}", 7001
PLANTED = 0.0
SPACE, FAR_SPACE = sys.argv[1:]
journey.SHARE = 1e9  # it never rests
counter = journey.Counter()
assert not counter.absent, counter.absent
lost = drops.Counter()


def rows(port):
    every = journeys.parse(counter.text())
    return facts.chosen(every, facts.Target(frozenset({{str(port)}})))


def stage(name, port=None):
    return next(one for one in facts.stages(rows(port or PORT), {{}}) if one.stage == name)


def udp(port, address="127.0.0.1"):
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind((address, port))
    return here


door = udp(0)
warm = udp(7000)


def ask(port=None):
    door.sendto(b"x", ("127.0.0.1", port or PORT))


def stamped():
    ask(7000)
    warm.recv(9)
    return stage("socket", 7000).packets


def told():
    names = {{str(index): name for index, name in socket.if_nameindex()}}
    found = rows(PORT)
    known = facts.stages(found, names)
    gone = facts.losses(found, drop_reasons.parse(lost.text()))
    first = facts.foremost(known)
    print(json.dumps({{
        "first": first and first.stage, "lost": [one._asdict() for one in gone],
        "rhythms": [one._asdict() for one in rhythm.rhythms(moments(lost.text()))],
        "sentences": facts.sentences(known, gone), "pid": os.getpid(), "planted": PLANTED,
        "stages": {{one.stage: [one.packets, one.long] for one in known}},
        "longest": {{one.stage: one.longest for one in known}},
        "whose": {{one.stage: [(who.name, who.long) for who in one.whose] for one in known}},
    }}))


def start(*words):
    reader = udp(PORT)
    words = [sys.executable, "-c", READER, str(reader.fileno()), *words]
    found = subprocess.Popen(words, pass_fds=[reader.fileno()], stdout=subprocess.PIPE)
    found.stdout.readline()
    return found


def state(pid):
    return open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0]


def answered():
    # the seconds until the reader answers
    begun = time.monotonic()
    ask()
    door.recv(9)
    return time.monotonic() - begun


READER = '''
import os, socket, sys
reader = socket.socket(fileno=int(sys.argv[1]))
if len(sys.argv) > 2:
    os.sched_setaffinity(0, {{int(sys.argv[2])}})
print(flush=True)
while True:
    reader.sendto(*reader.recvfrom(99))
'''
SPIN = '''
import os, sys, time
os.sched_setaffinity(0, {{int(sys.argv[1])}})
if len(sys.argv) > 3:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(sys.argv[3])))
print(flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
'''
until(stamped)
"""
_PEER: Final = """
SERVER = '''
import socket
server = socket.create_server(("", 7002))
print(flush=True)
one, _ = server.accept()
while one.recv(65536):
    pass
'''
words = ["ip", "netns", "exec", FAR_SPACE, sys.executable, "-c", SERVER]
far = subprocess.Popen(words, stdout=subprocess.PIPE)
far.stdout.readline()
client = socket.create_connection((FAR, 7002))
PORT = client.getsockname()[1]


def again():
    return [row for row in rows(PORT) if row.stage == "again"]
"""


def _crowded(*real_time: str, low: bool = False) -> str:
    """A program that spins takes the core of the reader, or a reader of SCHED_IDLE is beside it."""
    return f"""
other, core = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, {{other}})
reader = start(str(core))
ask()
door.recv(9)
if {low}:
    os.sched_setscheduler(reader.pid, os.SCHED_IDLE, os.sched_param(0))


def spun():
    global PLANTED
    until(lambda: state(reader.pid) == "S")
    words = [sys.executable, "-c", SPIN, str(core), str(2 * SLEEP), *{real_time}]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as spinner:
        spinner.stdout.readline()
        PLANTED = max(PLANTED, answered())
    return stage("woken").long  # it may have come too late


until(spun)
reader.kill()
"""


def _shaped(*lines: str) -> str:
    """Packets wait for their turn at 200 kbit/s."""
    return f"""
for line in {lines}:
    subprocess.run(["tc", *line.split()], check=True)
sender = udp(PORT, NEAR)
for _ in range(COUNT):
    sender.sendto(bytes(958), (FAR, 9))
shown = "tc -s qdisc show dev eth0 root".split()
until(lambda: b"backlog 0b" in subprocess.run(shown, stdout=subprocess.PIPE).stdout)
subprocess.run("tc qdisc del dev eth0 root".split(), check=True)
PLANTED = (COUNT - 2) * 8000 / 200_000  # two fit into the burst
"""


PLANTS: Final = {
    "datagrams": """
reader = udp(PORT)
for _ in range(COUNT):
    ask()
time.sleep(SLEEP)
begun = time.monotonic()
for _ in range(COUNT):
    reader.recv(9)
PLANTED = SLEEP + (time.monotonic() - begun) / 2
""",
    "peek": """
reader = udp(PORT)
for _ in range(COUNT):
    ask()
reader.recv(9, socket.MSG_PEEK)
reader.setblocking(False)
time.sleep(SLEEP)
for _ in range(COUNT):
    reader.recv(9)
try:
    reader.recv(9)
except BlockingIOError:
    ask()
    reader.recv(9)
""",
    "stream": """
server = socket.create_server((NEAR, PORT))
client = socket.create_connection((NEAR, PORT))
reader, _ = server.accept()
for _ in range(COUNT):
    begun = time.monotonic()
    client.sendall(b"x")
    time.sleep(SLEEP)
    assert reader.recv(9) == b"x"
    PLANTED = max(PLANTED, time.monotonic() - begun)
""",
    "stopped": """
reader = start()
ask()
door.recv(9)
reader.send_signal(signal.SIGSTOP)
until(lambda: state(reader.pid) == "T")
begun = time.monotonic()
for _ in range(COUNT):
    ask()
time.sleep(SLEEP)
reader.send_signal(signal.SIGCONT)
for _ in range(COUNT):
    door.recv(9)
PLANTED = time.monotonic() - begun
reader.kill()
""",
    "no core": _crowded("50"),
    "low priority": _crowded(low=True),
    "queue": _shaped("qdisc replace dev eth0 root tbf rate 200kbit burst 2000 limit 100000"),
    "class": _shaped(
        "qdisc replace dev eth0 root handle 1: htb default 1",
        "class add dev eth0 parent 1: classid 1:1 htb rate 200kbit burst 2000 cburst 2000",
    ),
    "softirqs": """
core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})
known = lambda: {one.name: one.packets for one in stage("softirq-rx").whose}.get(f"core {core}", 0)
before = known()
for _ in range(COUNT):
    ask(7000)
assert known() - before >= COUNT, (before, known())
""",
    "busy core": """
other, core = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, {other})
to = f"echo {1 << core:x} > /sys/class/net/lo/queues/rx-0/rps_cpus"
subprocess.run(["ip", "netns", "exec", SPACE, "sh", "-c", to], check=True)
loops = 60_000  # 13 ms in which no softirq may run there
table = call.table(8, 16, "busy", kind=call.LATEST)
code = a.assemble((
    *a.put(a.R10, -8, 1), *a.put(a.R10, -16, 1), *a.number(a.R6, loops),
    "again", *a.map_of(a.R1, "busy"), *a.stack(a.R2, -8), *a.stack(a.R3, -16), *a.number(a.R4, 0),
    *a.call(a.UPDATE), *a.change(a.R6, "+", -1), *a.when(a.R6, "!=", 0, "again"), *a.end(),
), busy=table)
body, licence = (ctypes.create_string_buffer(text, len(text)) for text in (code, b"GPL\\0"))
given = ctypes.addressof(body), ctypes.addressof(licence), 0, 0, 0
program = call._call(5, struct.pack("=IIQQIIQ", 3, len(code) // 8, *given))  # SCHED_CLS
data = ctypes.create_string_buffer(64)
run = struct.pack("=IIIIQQII", program, 0, 64, 0, ctypes.addressof(data), 0, 1, 0)


def busy():
    os.sched_setaffinity(0, {core})
    began.set()
    call._call(10, run)  # BPF_PROG_TEST_RUN


def delayed():
    global PLANTED, began
    began = threading.Event()
    thread = threading.Thread(target=busy)
    thread.start()
    began.wait()
    time.sleep(0.001)
    begun = time.monotonic()
    ask(7000)
    warm.recv(9)
    PLANTED = max(PLANTED, time.monotonic() - begun)
    thread.join()
    return stage("softirq-rx").long


until(delayed)
subprocess.run(["ip", "netns", "exec", SPACE, "sh", "-c", to.replace(f"{1 << core:x}", "0", 1)])
""",
    "rhythm": """
due = time.monotonic()
PLANTED = 0.4
for _ in range(8):
    for _ in range(200):
        ask(9)  # nobody has this port
    due += PLANTED
    time.sleep(max(0.0, due - time.monotonic()))
""",
    "dropped here": _PEER + """
shaped = "tc qdisc replace dev eth0 root tbf rate 4mbit burst 3000 limit 3000"
subprocess.run(shaped.split(), check=True)
client.sendall(bytes(300_000))
until(again)
subprocess.run("tc qdisc del dev eth0 root".split(), check=True)
far.kill()
""",
    "dropped there": _PEER + """
subprocess.run(["ip", "-n", FAR_SPACE, "addr", "del", FAR + "/24", "dev", "eth0"], check=True)
client.sendall(b"x")
until(again)
subprocess.run(["ip", "-n", FAR_SPACE, "addr", "add", FAR + "/24", "dev", "eth0"], check=True)
far.kill()
""",
}  # fmt: skip


def play(spaces: veth.Pair, plant: str) -> dict[str, Any]:
    """What the journey says of a plant."""
    here, there = spaces.near[3], spaces.far[3]
    found: dict[str, Any] = json.loads(
        python(here, f"{_BEGIN}{PLANTS[plant]}\ntold()\n", here, there)
    )
    return found
