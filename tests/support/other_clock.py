"""A prefix for a far reader whose clock is wrong: `other_clock.py SECONDS python3 … -c CODE`."""

import os
import sys

if __name__ == "__main__":
    seconds, *words = sys.argv[1:]
    shifted = f"import time;now=time.time;time.time=lambda:now()+{float(seconds)};"
    os.execvp(words[0], [*words[:-1], shifted + words[-1]])
