"""Files of the user and of the host: trust, limits of size, atomic writes.

`trust` decides which files and programs root may use, `bounds` limits the size of all input,
`draft` writes files atomically, `streams` guards the standard streams. Takes paths, gives bytes.
"""
