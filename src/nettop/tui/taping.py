"""Key r: what the engine reads is recorded to a file, sample by sample, names replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ..host.archive import RecordingError, Tape
from ..host.pseudonyms import Names
from ..host.recording import Record
from ..host.scrub import scrub
from ..host.source import Source
from ..terms.errors import sentence
from ..views.observer import Observer
from ..views.scene import Note, Scene


class Taping:
    """One recording from its first sample to the file. OSError if there can be no such file."""

    def __init__(self, path: str, observer: Observer, post: Callable[[Scene], None]) -> None:
        """From now on the observer reads through the recording."""
        self.path, self.observer, self.post = path, observer, post
        self.tape = Tape(path)
        self.outcome = ""  # how the recording ended; empty while it runs
        self.names = Names()
        self.source = observer.sampler.source
        self.record = Record(self.source)
        observer.sampler.source = cast("Source", self.record)  # its name and kind are read only
        observer.sampler.memory.clear()  # what is read once must be in the recording too
        observer.sampler.refresh()

    def add(self) -> bool:
        """Append the sample that was just read; False where the recording ended with it.

        It ends with all earlier samples at the bounds that reading enforces. Where the disk is
        full there is no file.
        """
        try:
            self.tape.write(scrub(self.record.taken(), self.names))
        except RecordingError as full:
            self.end(f"{full}: ")
        except OSError as error:
            self._leave()
            self.tape.drop()
            self._note(f"cannot write {self.path}: {sentence(error)}", "bad")
        else:
            return True
        return False

    def end(self, why: str = "") -> None:
        """Give the file its name."""
        self._leave()
        try:
            self.tape.keep()
        except OSError as error:
            self._note(f"cannot write {self.path}: {sentence(error)}", "bad")
        else:
            self._note(f"{why}recorded to {self.path}, names scrubbed", "warn" if why else "good")
        finally:
            self.tape.drop()

    def _leave(self) -> None:
        self.observer.sampler.source = self.source

    def _note(self, text: str, role: str) -> None:
        self.outcome = text
        self.post(Scene(notes=(Note(text, role),)))
