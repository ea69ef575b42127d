"""A host of a few files, and one that counts its reads."""

from nettop.host.recording import Replay


def archive(files: dict[str, str]) -> str:
    return "c\n" + "".join(f"-- {name} --\n{body}\n" for name, body in files.items())


def host(files: dict[str, str]) -> Replay:
    return Replay(archive(files))


class Counting(Replay):
    """A recording that counts the reads and remembers the names of the files."""

    asked = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.files: set[str] = set()

    def data(self, path: str) -> bytes:
        self.files.add(path)
        return super().data(path)

    def text(self, path: str) -> str:
        self.asked += 1
        self.files.add(path)
        return super().text(path)
