"""Fixtures of the tests of changes."""

from risky import risky_device

__all__ = ["risky_device"]
