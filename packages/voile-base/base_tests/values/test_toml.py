"""Our own lists of words, read as ``tomllib`` reads any TOML."""

import tomllib

import pytest

from voile_base.values.toml import words_document

TRICKY = """
# words = ["commented", "out"]
title = "no = [list]"  # words = ["neither"]
words = [
    "a", "b # no comment", "c,d", 'single',  # ["comment"]
]
plain   = ["x", "y # no comment", "[z]",   # "a comment", with "words"
    # another "comment"
    "ü*", ]
empty   = []
blank   = ["", "a"]
escaped = ["a\\"b", "c"]
numbers = [0, 120]
share   = 1.5
[[meaning]]
words = ["one"]
inline = { words = ["two"] }
"""


def lists(value: object) -> object:
    """The value with lists for tuples."""
    if isinstance(value, dict):
        return {key: lists(held) for key, held in value.items()}
    return list(map(lists, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("text", [TRICKY, *TRICKY.strip().split("\n[[")[:1], "a = ['b']", ""])
def test_lists_of_words_are_read_as_tomllib_reads_them(text: str) -> None:
    """Comments, quotes, empty lists, escapes and numbers mean what they mean in TOML."""
    assert lists(words_document(text)) == tomllib.loads(text)
