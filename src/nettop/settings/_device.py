"""The device behind an interface, independent of its present name and network namespace.

An identity is text: words and values in turn, `ifindex 3 node 40201 device virtio2 port 0`.

    ifindex  the index; unique in a namespace only, and anyone may ask for a free one
    node     the inode of the device's directory in sysfs
    device   the bus address of the hardware, and `port` its number there
    address  the permanent MAC address

The directory stays the same when the interface is renamed or moved (device_rename() in
drivers/base/core.c, kernfs_rename_ns() in fs/kernfs/dir.c). kernfs numbers its nodes in turn since
Linux 4.14, so that the number of a device that is gone does not come back in the same boot.
"""

import errno
import os

from ..host.source import Source
from ..terms.errors import absent


def identity(source: Source, nic: str) -> str:
    """The identity of the device behind an interface.

    OSError if there is no such interface, or if it cannot be read (`errors.absent`).
    """
    folder = f"/sys/class/net/{nic}"
    shown = _text(source, f"{folder}/ifindex")
    if not source.live:
        if not shown:
            raise FileNotFoundError(2, "No such file or directory", f"{folder}/ifindex")
        return _words(ifindex=shown, **_hardware(source, folder))
    index, permanent = _asked(source, nic)
    if shown != str(index):  # sysfs was mounted in another network namespace
        return _words(ifindex=str(index), address=permanent)
    node = str(os.stat(folder).st_ino)
    return _words(ifindex=shown, node=node, **_hardware(source, folder), address=permanent)


def same(then: str, now: str) -> bool:
    """Whether two identities are of one target; a word that only one has is ignored."""
    old, new = parts(then), parts(now)
    if "ifindex" not in old or "ifindex" not in new:
        return then == now
    both = old.keys() & new.keys()
    if "node" in both:  # a move to another namespace may change the index
        both -= {"ifindex", "address"}
    return all(old[key] == new[key] for key in both)


def hardware(identity: str) -> str:
    """Bus address and port in an interface's identity; empty for a virtual device."""
    words = parts(identity)
    return f"{words['device']} port {words.get('port', '0')}" if "device" in words else ""


def certain(identity: str) -> bool:
    """Whether an identity names one device only, in whatever namespace it is."""
    return "node" in parts(identity)


def parts(text: str) -> dict[str, str]:
    """The values of an identity by word: ifindex, node, device, port, address."""
    words = text.split(" ")
    return dict(zip(words[::2], words[1::2], strict=False))


def _words(**values: str) -> str:
    return " ".join(f"{key} {value}" for key, value in values.items() if value)


def _hardware(source: Source, folder: str) -> dict[str, str]:
    """Bus address and port; empty for a virtual device."""
    try:
        name = os.path.basename(source.link(f"{folder}/device"))
    except OSError as error:
        if not absent(error) and error.errno != errno.EINVAL:  # in a copy of sysfs it is no link
            raise
        return {}
    return {"device": name.replace(" ", "_"), "port": _text(source, f"{folder}/dev_port")}


def _asked(source: Source, nic: str) -> tuple[int, str]:
    """Index and permanent address by rtnetlink, in the namespace of this process."""
    from ..host.netlink import route  # the screen paints before it needs them
    from ..host.netlink.codec import Field, decode, messages

    permanent = {54: Field("permanent", "raw")}  # IFLA_PERM_ADDRESS, Linux 5.6
    reply = route.link(source, nic)
    for kind, start, end in messages(reply):
        if kind == route.NEWLINK and end - start >= route.IFINFO.size:
            index = route.IFINFO.unpack_from(reply, start)[2]
            fields = decode(reply, start + route.IFINFO.size, end, permanent)
            return index, route.mac(fields.get("permanent", b""))
    raise OSError(19, f"no interface {nic}")


def _text(source: Source, path: str) -> str:
    try:
        return source.text(path).strip()
    except OSError as error:
        if not absent(error):
            raise
        return ""
