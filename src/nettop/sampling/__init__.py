"""Sampling: which collectors run now, and the frame of what they read.

Takes a source and the names of tables, gives a `Frame` with rates and the tables that could not
be read.
"""
