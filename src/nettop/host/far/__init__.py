"""The reader that runs at another host; its source is sent over standard input.

It needs only Python 3.6 and its standard library, writes no file, and ends with its standard
input. `reader` answers requests; `allowed` is the list of what it may read; `mirror` and `wire` run
at both ends.
"""
