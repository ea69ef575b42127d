"""The kernel's packet generator: one device on one thread (Documentation/networking/pktgen.rst)."""

import os
from typing import TYPE_CHECKING

from nettop.trials.far.protocol import send, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

FOLDER = "/proc/net/pktgen"


def write(name: str, *commands: str) -> None:
    """Give commands to a pktgen file, one write each."""
    for command in commands:
        handle = os.open(FOLDER + "/" + name, os.O_WRONLY)
        try:
            os.write(handle, command.encode() + b"\n")
        finally:
            os.close(handle)


def main(options: "HelperOptions") -> None:
    """Send `count` datagrams of `size` bytes (without FCS) from `interface` to `to` and `mac`."""
    if not os.path.isdir(FOLDER):
        send(error="the kernel module pktgen is not loaded (modprobe pktgen)")
        return
    watch_input()
    device = options["interface"]
    thread = "kpktgend_{}".format(int(options.get("cpu") or 0))
    try:
        write(thread, "rem_device_all", "add_device " + device)
        write(
            device, "count {}".format(int(options["count"] or 0)), "clone_skb 0",
            "pkt_size {}".format(int(options["size"])), "delay 0", "dst " + options["to"],
            "dst_mac " + options["mac"], "udp_dst_min 9", "udp_dst_max 9",
        )  # fmt: skip
        send(running=device)
        write("pgctrl", "start")
        with open(FOLDER + "/" + device) as file:
            send(result=file.read())
    except OSError as error:
        send(error="pktgen on {}: {}".format(device, error.strerror))
    finally:
        try:
            write("pgctrl", "stop")
            write(thread, "rem_device_all")
        except OSError:
            pass
