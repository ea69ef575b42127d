"""`python -m nettop`."""

import sys

from nettop.cli import main

sys.exit(main())
