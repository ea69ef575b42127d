"""Files of the user and of the host: which may be trusted, how much is read, writing whole.

`trust` says which files and programs root may rely on, `bounds` the most that is read of anything,
`draft` writes a file whole or not at all, `streams` guards the standard streams. Takes paths, gives
bytes.
"""
