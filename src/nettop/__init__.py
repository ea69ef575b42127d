"""nettop: find, fix and prove what limits the network performance of a Linux host."""

__version__ = "0.1.0"
