"""Files of the user and of the host: trust, limits of size, atomic writes.

`trust` decides which files and programs root may use, `bounds` limits the size of all input,
`draft` writes files atomically, `streams` guards the standard streams, `own` is the command line
that starts this nettop again. Takes paths, gives bytes.
"""
