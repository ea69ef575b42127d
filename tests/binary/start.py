"""bin/nettop of the one file: what the launcher tells Python to run."""

import sys

from nettop.__main__ import main

sys.exit(main())
