"""Rows, rates and frames: what collectors return and facts are built from.

Takes rows (instances of frozen dataclasses) and returns them with the rates of their counters. The
folder holds values only and does not read the host. A new row class belongs in its collector.
"""
