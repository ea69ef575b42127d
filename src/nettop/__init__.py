"""nettop: find, fix and prove what limits the network performance of a Linux host."""

__version__ = "0.1.0"
SCHEMA = 1  # version of the JSON documents that commands print: `schema` in each of them

ENOMEM = 12  # errno(3)


def scarce(error: BaseException | None) -> bool:
    """Whether an exception or one before it comes from a lack of memory.

    The dynamic linker fails without an errno; Python itself loses an exception that it cannot
    allocate (SystemError) and cannot start a thread (RuntimeError).
    """
    while error is not None:
        said = str(error)
        if isinstance(error, (MemoryError, SystemError)) or getattr(error, "errno", 0) == ENOMEM:
            return True
        if isinstance(error, ImportError) and ("map segment" in said or "annot allocate" in said):
            return True
        if isinstance(error, RuntimeError) and "start new thread" in said:
            return True
        error = error.__cause__ or error.__context__
    return False
