"""Sampling: which collectors run now, and the frame of what they read.

Takes a source and the names of tables. Returns a `Frame` with rates, and a sentence for each table
that could not be read.
"""
