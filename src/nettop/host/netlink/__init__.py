"""Netlink and the ethtool ioctl, written for few calls and exact errors.

`codec` turns bytes into dicts by tables and back; `kernel` holds the sockets; `route`, `diag` and
`ethtool` know the three families; `driver` and `legacy` are what only the ioctl gives.
"""
