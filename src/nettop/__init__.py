"""nettop: find, fix and prove what limits the network performance of a Linux host."""

__version__ = "0.1.0"
SCHEMA = 1  # version of the JSON documents that commands print: `schema` in each of them

ENOMEM, ENFILE, EMFILE = 12, 23, 24  # errno(3)
MEMORY = "there is too little memory here, or a limit of it (ulimit -v) is too low"
FILES = "too few files can be opened here, or the limit of them (ulimit -n) is too low"


def scarce(error: BaseException | None) -> str:
    """The sentence, if an exception or one before it comes from a lack of memory or open files.

    The dynamic linker fails without an errno; Python itself loses an exception that it cannot
    allocate (SystemError) and cannot start a thread (RuntimeError).
    """
    while error is not None:
        said, number = str(error), getattr(error, "errno", 0)
        if number in (EMFILE, ENFILE):
            return FILES
        if isinstance(error, (MemoryError, SystemError)) or number == ENOMEM:
            return MEMORY
        if isinstance(error, ImportError) and ("map segment" in said or "annot allocate" in said):
            return MEMORY
        if isinstance(error, RuntimeError) and "start new thread" in said:
            return MEMORY
        error = error.__cause__ or error.__context__
    return ""
