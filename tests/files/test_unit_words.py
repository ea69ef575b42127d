"""Words of unit files."""

from nettop.host.systemd import quoted


def test_words_of_a_command_are_quoted_as_systemd_reads_them() -> None:
    assert quoted("/a/b") == "/a/b"
    assert quoted("/a b") == '"/a b"'
    assert quoted('/a"$x%h\\') == '"/a\\"$$x%%h\\\\"'
    assert quoted("/a$x", dollar="$") == "/a$x"
