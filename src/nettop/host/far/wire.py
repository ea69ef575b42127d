"""Messages between a reader and nettop: a length, then bytes of one deflate stream each way.

A request is a list of records `kind, length, payload`. An answer has a number, two clocks, the
processes that were looked into, and a record for each answer that changed. Numbers are little
endian.
"""

import struct
import zlib
from typing import Iterable, Iterator, List, Tuple

LENGTH = struct.Struct("<I")
_ASK = struct.Struct("<cI")
_HEAD = struct.Struct("<IddI")
_PID = struct.Struct("<I")
_CHANGE = struct.Struct("<IBII")
FORGOTTEN = (1 << 32) - 1  # instead of the number of a request: kind and payload are not kept
PACKED = 128 << 20  # bytes of a compressed message
LOOKED_INTO = 64  # processes that `!` stands for
MATCHES = 8192  # of one pattern
LINES = 1 << 20  # lines of an answer of which only the changed ones are sent

Ask = Tuple[bytes, bytes]  # kind, payload
Change = Tuple[int, int, bytes, bytes]  # number of the request, form, path of a match, body


class UnreadableError(ValueError):
    """A message is damaged or larger than its bound."""


class Packer:
    """Compresses messages; a later one refers to earlier ones."""

    def __init__(self) -> None:
        """A new stream."""
        self._stream = zlib.compressobj(3, zlib.DEFLATED, -15, 8)

    def pack(self, data: bytes) -> bytes:
        """The message as it is sent."""
        body = self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        return LENGTH.pack(len(body)) + body


class Unpacker:
    """Expands messages, each to `most` bytes."""

    def __init__(self, most: int) -> None:
        """A new stream."""
        self._stream = zlib.decompressobj(-15)
        self._most = most

    def unpack(self, body: bytes) -> bytes:
        """The message without its length; UnreadableError."""
        try:
            data = self._stream.decompress(body, self._most)
        except zlib.error as error:
            raise UnreadableError(str(error)) from None
        if self._stream.unconsumed_tail or self._stream.eof:
            raise UnreadableError("a message of more than {:,} bytes".format(self._most))
        return data


def pack_asks(asks: Iterable[Ask]) -> bytes:
    """The requests as bytes."""
    parts = []
    for kind, payload in asks:
        parts.append(_ASK.pack(kind, len(payload)))
        parts.append(payload)
    return b"".join(parts)


def unpack_asks(data: bytes) -> List[Ask]:
    """The requests; UnreadableError."""
    asks = []
    at = 0
    while at < len(data):
        if len(data) - at < _ASK.size:
            raise UnreadableError("a request is cut off")
        kind, length = _ASK.unpack_from(data, at)
        at += _ASK.size
        if length > len(data) - at:
            raise UnreadableError("a request is cut off")
        asks.append((kind, data[at : at + length]))
        at += length
    return asks


def pack_answer(
    number: int, monotonic: float, wall: float, pids: List[int], changes: Iterable[Change]
) -> bytes:
    """The answer to the batch `number` as bytes."""
    parts = [_HEAD.pack(number, monotonic, wall, len(pids))]
    parts += [_PID.pack(pid) for pid in pids]
    for ref, form, name, body in changes:
        parts.append(_CHANGE.pack(ref, form, len(name), len(body)))
        parts.append(name)
        parts.append(body)
    return b"".join(parts)


def unpack_head(data: bytes) -> Tuple[int, float, float, List[int], int]:
    """Number, clocks, processes, and where the changes begin; UnreadableError."""
    if len(data) < _HEAD.size:
        raise UnreadableError("an answer is cut off")
    number, monotonic, wall, count = _HEAD.unpack_from(data)
    if count > LOOKED_INTO:
        raise UnreadableError("it looked into {:,} processes".format(count))
    end = _HEAD.size + count * _PID.size
    if end > len(data):
        raise UnreadableError("an answer is cut off")
    pids = [_PID.unpack_from(data, at)[0] for at in range(_HEAD.size, end, _PID.size)]
    return number, monotonic, wall, pids, end


def unpack_changes(data: bytes, at: int) -> Iterator[Change]:
    """The changes of an answer from `at` on; UnreadableError."""
    while at < len(data):
        if len(data) - at < _CHANGE.size:
            raise UnreadableError("an answer is cut off")
        ref, form, named, length = _CHANGE.unpack_from(data, at)
        at += _CHANGE.size
        if named + length > len(data) - at:
            raise UnreadableError("an answer is cut off")
        yield ref, form, data[at : at + named], data[at + named : at + named + length]
        at += named + length
