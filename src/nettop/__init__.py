"""nettop: why a Linux host does not move the packets it should."""

__version__ = "0.1.0"
