"""The version of the JSON documents that commands print: `schema` in each document."""

from typing import Final

SCHEMA: Final = 1
