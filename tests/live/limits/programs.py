"""The programs of a staged limit: writer, reader and link, each run by `python -c`.

Options are words `NAME=VALUE`; `set=LEVEL:OPTION:VALUE,…` sets options of the socket. `cost` is the
CPU time that a megabyte takes, in seconds; `first` runs it before other work of the machine. `how`
is `tls`, `sendfile`, `splice` or `proxy`; with `proxy` the data comes from, or goes to, another
process by a Unix socket, and that process sleeps. SIGUSR1 removes what slows a writer or reader.
"""

from typing import Final

WRITE: Final = r"""
import hashlib, os, signal, socket, ssl, sys, tempfile, threading, time
options = dict(word.split("=") for word in sys.argv[3:])
if "first" in options:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
how = options.get("how", "")
kind = socket.SOCK_DGRAM if "datagrams" in options else socket.SOCK_STREAM
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
piece, pause = b"x" * int(options.get("size", 131072)), float(options.get("sleep", 0))
times = int(options.get("times", 1))  # pieces between two pauses
answer = int(options.get("answer", 0))  # bytes that the reader answers to each piece
doors = []
def opened():
    door = socket.socket(family, kind, int(options.get("protocol", 0)))
    if "sndbuf" in options:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(options["sndbuf"]))
    if "pace" in options:  # 8 bytes: 17 Gb/s and more have no room in an int
        door.setsockopt(socket.SOL_SOCKET, 47, int(options["pace"]).to_bytes(8, sys.byteorder))
    try:  # cubic, whatever the kernel's default is
        door.setsockopt(socket.IPPROTO_TCP, 13, options.get("congestion", "cubic").encode())
    except OSError:
        if "congestion" in options:
            raise
    for word in options.get("set", "").split(",") if "set" in options else ():
        door.setsockopt(*map(int, word.split(":")))
    door.connect((sys.argv[1], int(sys.argv[2])))
    if how == "tls":
        door = secret.wrap_socket(door)
    doors.append(door)
    return door
if how == "tls":  # without a certificate
    secret = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    secret.check_hostname, secret.verify_mode = False, ssl.CERT_NONE
    secret.maximum_version = ssl.TLSVersion.TLSv1_2
    secret.set_ciphers("AECDH:@SECLEVEL=0")
cost = float(options.get("cost", 0)) / 1e6
def work(count):  # a fixed CPU time for each byte, on a machine of any speed
    until = time.thread_time() + count * cost
    while time.thread_time() < until:
        hashlib.sha256(bytes(4096))
def hand(door):
    if cost:
        work(len(piece))
    if how == "sendfile":
        os.sendfile(door.fileno(), file.fileno(), 0, len(piece))
    elif how == "proxy":
        door.sendall(near.recv(131072))
    else:
        door.sendall(piece)
if how == "sendfile":
    file = tempfile.TemporaryFile()
    file.write(piece)
    file.flush()
if how == "proxy":
    near, far = socket.socketpair()
    if os.fork() == 0:
        near.close()
        while True:
            far.sendall(piece)
            time.sleep(pause)
    pause = 0
    far.close()
def move(door):
    while True:
        try:
            for _ in range(times):
                hand(door)
                if answer and not door.recv(answer, socket.MSG_WAITALL):
                    return
        except ConnectionRefusedError:
            pass
        if pause:
            time.sleep(pause)
def lift(*_):
    global piece, pause
    piece, pause = b"x" * 131072, 0
    for door in doors:
        door.setsockopt(socket.SOL_SOCKET, 47, b"\xff" * 8)
        if "sndbuf" in options:
            door.setsockopt(socket.SOL_SOCKET, 32, 4 << 20)
signal.signal(signal.SIGUSR1, lift)
idle = [opened() for _ in range(int(options.get("idle", 0)))]
for _ in range(int(options.get("flows", 1)) - 1):
    threading.Thread(target=move, args=(opened(),), daemon=True).start()
move(opened())
"""
READ: Final = """
import hashlib, os, select, signal, socket, ssl, sys, time
options = dict(word.split("=") for word in sys.argv[2:])
if "first" in options:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
how = options.get("how", "")
plain = "datagrams" in options
listener = socket.socket(
    socket.AF_INET6, socket.SOCK_DGRAM if plain else socket.SOCK_STREAM,
    int(options.get("protocol", 0)),
)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try:  # cubic, as the writer
    listener.setsockopt(socket.IPPROTO_TCP, 13, options.get("congestion", "cubic").encode())
except OSError:
    pass  # a socket for datagrams
if "rcvbuf" in options:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(options["rcvbuf"]))
for word in options.get("set", "").split(",") if "set" in options else ():
    listener.setsockopt(*map(int, word.split(":")))
listener.bind(("::", int(sys.argv[1])))
if not plain:
    listener.listen()
print("ready", flush=True)
doors = [listener] if plain else [listener.accept()[0] for _ in range(int(options.get("flows", 1)))]
piece, pause = bytearray(int(options.get("size", 131072))), float(options.get("sleep", 0))
if how == "tls":
    secret = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secret.set_ciphers("AECDH:@SECLEVEL=0")
    doors = [secret.wrap_socket(door, server_side=True) for door in doors]
if how == "splice":
    out, into = os.pipe()
    null = os.open("/dev/null", os.O_WRONLY)
if how == "proxy":
    near, far = socket.socketpair()
    if os.fork() == 0:
        near.close()  # so that it ends with the reader
        while far.recv_into(piece):
            time.sleep(pause)
        os._exit(0)
    pause = 0
cost = float(options.get("cost", 0)) / 1e6
def work(count):
    until = time.thread_time() + count * cost
    while time.thread_time() < until:
        hashlib.sha256(bytes(4096))
def take(door):
    if how == "splice":
        count = os.splice(door.fileno(), into, len(piece))
        return count and os.splice(out, null, count)
    count = door.recv_into(piece, len(piece), whole)
    if count and how == "proxy":
        near.sendall(piece[:count])
    if cost:
        work(count)
    return count
answer = b"x" * int(options.get("answer", 0))
shrink = int(options.get("shrink", 0))  # bytes of the receive buffer while it does not read
whole = socket.MSG_WAITALL if answer or shrink else 0
def lift(*_):
    global piece, pause
    piece, pause = bytearray(131072), 0
signal.signal(signal.SIGUSR1, lift)
while True:
    for door in doors if len(doors) == 1 else select.select(doors, [], [])[0]:
        if not take(door):
            sys.exit()
        if answer:
            door.sendall(answer)
    for size in (shrink, 1 << 20) if shrink else (0,):
        if size:
            doors[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        if pause and size == shrink:
            time.sleep(pause)
"""
# A link between two tun devices. Each packet arrives `delay` seconds later. Of full packets, every
# `lose`th is lost, every `reorder`th arrives `late` seconds later than the others, every `double`th
# arrives twice, every `damage`th has a wrong byte, and those above `police` bytes/s are lost. Each
# end sends `rate` bytes/s, and what would wait more than `hold` seconds for that is lost. The file
# of the third word has the number of lost packets.
LINK: Final = """
import ctypes, fcntl, heapq, os, select, struct, sys, time
options = {name: float(value) for name, value in (word.split("=") for word in sys.argv[4:])}
if "first" in options:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
count_file, never = os.open(sys.argv[3], os.O_WRONLY), 0
def lost():
    global never
    never += 1
    os.pwrite(count_file, struct.pack("Q", never), 0)
delay, police = options.get("delay", 0.0), options.get("police", 0.0)
lose, reorder = int(options.get("lose", 0)), int(options.get("reorder", 0))
double, damage = int(options.get("double", 0)), int(options.get("damage", 0))
rate, hold, free = options.get("rate", 0.0), options.get("hold", 0.1), {}
ends, libc = [], ctypes.CDLL(None)
for space in sys.argv[1:3]:
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{space}", os.O_RDONLY)
    assert libc.setns(there, 0) == 0
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x0001 | 0x1000))
    assert libc.setns(here, 0) == 0
    ends.append(end)
print("ready", flush=True)
waiting, number, count, tokens, filled = [], 0, 0, 65536.0, time.monotonic()
while True:
    left = waiting[0][0] - time.monotonic() if waiting else 1.0
    for end in select.select(ends, [], [], max(0.0, left))[0]:
        for _ in range(64):
            try:
                packet = os.read(end, 65536)
            except BlockingIOError:
                break
            now, full, number = time.monotonic(), len(packet) > 1000, number + 1
            due = now + delay
            if full:
                count += 1
                if lose and count % lose == 0:
                    lost()
                    continue
                if reorder and count % reorder == 0:
                    due += options.get("late", 0.004)
                if police:
                    tokens, filled = min(65536.0, tokens + (now - filled) * police), now
                    if tokens < len(packet):
                        lost()
                        continue
                    tokens -= len(packet)
                if damage and count % damage == 0:
                    packet = packet[:900] + bytes([packet[900] ^ 1]) + packet[901:]
            if rate:
                begins = max(now, free.get(end, now))
                if begins - now > hold:
                    lost()
                    continue
                free[end] = begins + len(packet) / rate
                due += free[end] - now
            heapq.heappush(waiting, (due, number, ends[end == ends[0]], packet))
            if full and double and count % double == 0:
                heapq.heappush(waiting, (due, number + 0.5, ends[end == ends[0]], packet))
    while waiting and waiting[0][0] <= time.monotonic():
        _, _, end, packet = heapq.heappop(waiting)
        try:
            os.write(end, packet)
        except OSError:
            pass
"""
