"""Access to a host: this machine, a directory, a recording.

Takes requests (paths, directory listings, netlink messages, ioctls) and gives the raw bytes of
the answer. All other folders reach the host through `source.Source`, so a recording replaces the
machine everywhere. A new kind of source is added here.
"""
