"""Rows, rates and frames: what collectors give and facts take.

Takes rows of frozen dataclasses and gives them back with rates. Values only: nothing here reads
the host. A newcomer adds nothing here: a new row class stands in its collector.
"""
