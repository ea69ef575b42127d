"""The socket that a call works on: its file of the running process, and the other end of it.

include/linux/fdtable.h, include/net/sock.h, net/unix/af_unix.c. Offsets are those of the running
kernel.
"""

import socket
from typing import Final

from . import assembler as a
from . import btf
from .counting import copied, read

_IS: Final = 0xF000, 0xC000  # S_IFMT and S_IFSOCK, of the mode of its inode


def found(types: btf.Types, label: str) -> a.Parts:
    """R6 = the socket (struct sock) of the file descriptor R7, R8 = its type.

    It goes to the label, R8 being 0, where the descriptor is no socket.
    """
    place = types.offset
    return (
        *a.move(a.R6, a.R7), *a.low_half(a.R6), *a.change(a.R6, "<<", 3),
        *a.call(a.TASK), *a.move(a.R7, a.R0),
        *read(a.R7, a.R7, place("task_struct", "files")),
        *read(a.R7, a.R7, place("files_struct", "fdt")),
        *read(a.R7, a.R7, place("fdtable", "fd")), *a.add(a.R6, a.R7),
        *read(a.R7, a.R6, 0), *of_file(types, label),
    )  # fmt: skip


def of_file(types: btf.Types, label: str) -> a.Parts:
    """As `found`, of the file (struct file) R7."""
    place = types.offset
    return (
        *a.number(a.R8, 0), *a.when(a.R7, "==", 0, label),
        *read(a.R6, a.R7, place("file", "f_inode")),
        *read(a.R6, a.R6, place("inode", "i_mode"), 2), *a.change(a.R6, "&", _IS[0]),
        *a.when(a.R6, "!=", _IS[1], label),
        *read(a.R7, a.R7, place("file", "private_data")),
        *read(a.R6, a.R7, place("socket", "sk")), *a.when(a.R6, "==", 0, label),
        *read(a.R8, a.R7, place("socket", "type"), 2),
    )  # fmt: skip


def given(
    family: int, port: int, address: int, scratch: int, long: a.Parts = (), tail: a.Parts = (),
    by: int = a.READ_USER,
) -> a.Parts:  # fmt: skip
    """Store family, port and address of the sockaddr that the program gave, at R7.

    Of a Unix socket the first 16 bytes of its path, then what `tail` stores. `long` takes the
    length of the sockaddr to R8, because no zero ends an abstract name (unix(7)). All are stack
    offsets; `scratch` of 32 bytes. By READ_ANY the sockaddr may be of the kernel.
    """
    return (
        *(part for at in range(0, 32, 8) for part in a.put(a.R10, scratch + at, 0)),
        *a.when(a.R7, "==", 0, "no address"),
        *copied(scratch, a.R7, 0, 8, by),
        *a.load(a.R8, a.R10, scratch, 2), *a.store(a.R10, family, a.R8, 2),
        *a.when(a.R8, "==", socket.AF_INET, "inet"),
        *a.when(a.R8, "==", socket.AF_UNIX, "path"),
        *a.when(a.R8, "!=", socket.AF_INET6, "no address"),
        *copied(address, a.R7, 8, 16, by), *a.go("port"),
        "path", *a.number(a.R8, 18), *long, *a.change(a.R8, "&", 0xFF),
        *a.when(a.R8, "<=", 2, "no address"), *a.when(a.R8, "<=", 18, "begin"),
        *a.number(a.R8, 18), "begin", *a.change(a.R8, "+", -2), *a.stack(a.R1, address),
        *a.move(a.R2, a.R8), *a.move(a.R3, a.R7), *a.change(a.R3, "+", 2), *a.call(by),
        *tail, *a.go("no address"),
        "inet", *a.load(a.R8, a.R10, scratch + 4, 4), *a.store(a.R10, address, a.R8, 4),
        "port", *a.load(a.R8, a.R10, scratch + 2, 2), *a.swapped(a.R8),
        *a.store(a.R10, port, a.R8, 2),
        "no address",
    )  # fmt: skip


def other_inode(types: btf.Types, to: int) -> a.Parts:
    """Store the inode of the socket at the other end of the Unix socket R6, on the stack at `to`.

    Nothing where the kernel has Unix sockets as a module, or the other end is gone.
    """
    try:
        peer = types.offset("unix_sock", "peer")
    except KeyError:
        return ()
    number = types.offset("socket_alloc", "vfs_inode") + types.offset("inode", "i_ino")
    return (
        *read(a.R7, a.R6, peer), *a.when(a.R7, "==", 0, "nobody"),
        *read(a.R7, a.R7, types.offset("sock", "sk_socket")), *a.when(a.R7, "==", 0, "nobody"),
        *read(a.R7, a.R7, number), *a.store(a.R10, to, a.R7), "nobody",
    )  # fmt: skip


def space(types: btf.Types, to: int) -> a.Parts:
    """Store the network namespace of the socket R6, 4 bytes."""
    return (
        *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_net.net")),
        *read(a.R7, a.R7, types.offset("net", "ns.inum"), 4), *a.store(a.R10, to, a.R7, 4),
    )  # fmt: skip


def inode(types: btf.Types, to: int) -> a.Parts:
    """Store the inode of the socket R6, 8 bytes."""
    number = types.offset("socket_alloc", "vfs_inode") + types.offset("inode", "i_ino")
    return (
        *read(a.R7, a.R6, types.offset("sock", "sk_socket")), *a.when(a.R7, "==", 0, "no inode"),
        *read(a.R7, a.R7, number), *a.store(a.R10, to, a.R7), "no inode",
    )  # fmt: skip


def destination(types: btf.Types, family: int, port: int, address: int) -> a.Parts:
    """Store family, port and address of the other end of the socket R6, at these stack offsets."""
    number = types.offset("sock", "__sk_common.skc_dport")
    return _end(types, (*read(a.R7, a.R6, number, 2), *a.swapped(a.R7)), "daddr",
                family, port, address)  # fmt: skip


def own(types: btf.Types, family: int, port: int, address: int) -> a.Parts:
    """As `destination`, of its own end."""
    number = types.offset("sock", "__sk_common.skc_num")
    return _end(types, read(a.R7, a.R6, number, 2), "rcv_saddr", family, port, address)


def _end(
    types: btf.Types, number: a.Parts, name: str, family: int, port: int, address: int
) -> a.Parts:  # fmt: skip
    where, four = (types.offset("sock", f"__sk_common.skc_{one}{name}") for one in ("v6_", ""))
    return (
        *number, *a.store(a.R10, port, a.R7, 2),
        *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_family"), 2),
        *a.store(a.R10, family, a.R7, 2),
        *a.when(a.R7, "==", socket.AF_INET, f"{name} of four"),
        *read(a.R7, a.R6, where), *a.store(a.R10, address, a.R7),
        *read(a.R7, a.R6, where + 8), *a.store(a.R10, address + 8, a.R7),
        *a.go(f"{name} there"),
        f"{name} of four", *read(a.R7, a.R6, four, 4), *a.store(a.R10, address, a.R7, 4),
        f"{name} there",
    )  # fmt: skip


def confined(types: btf.Types, to: int) -> a.Parts:
    """Store the mode of seccomp of the running task, four bytes; 2: a filter. It uses R7."""
    try:
        place = types.offset("task_struct", "seccomp.mode")
    except KeyError:  # a kernel without it
        return ()
    return (
        *a.call(a.TASK), *a.move(a.R7, a.R0), *read(a.R7, a.R7, place, 4),
        *a.store(a.R10, to, a.R7, 4),
    )  # fmt: skip
