"""The other end of a recording that is one of a pair (`record --peer`)."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ..terms.errors import Refused
from ..terms.text import safe

if TYPE_CHECKING:
    from ..host.recording import Replay


def other(args: argparse.Namespace, here: Replay) -> Replay | None:
    """The file of --peer, else the one that `record --peer` wrote beside this one.

    None for a recording of one host, and where that file is missing, which is said on stderr. The
    file of the other end is shown by itself. Refused where the files are no pair.
    """
    from ..host.recording import RecordingError, mark_of, other_end, other_file

    mark = mark_of(here.comment)
    if args.peer is None and mark is None:
        return None
    path = args.peer or other_file(args.replay, here=mark is None or mark.here)
    known = os.path.exists(path)
    if args.peer is None and mark is not None and not (known and mark.here):
        why = f"{path} shows both ends" if known else f"the other one, {path}, is not there"
        print(safe(f"nettop: {args.replay} is one end of a pair; {why}"), file=sys.stderr)
        return None
    try:
        return other_end(here, path, mark)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror or error}", 3) from None
    except RecordingError as error:
        raise Refused(f"{path}: {error}", 3) from None
