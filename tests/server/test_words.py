"""Words that are remembered over edits are those of the text."""

from __future__ import annotations

import random

from moelint.linter.server.words import WordsOfFiles

WORDS = (b"ab", b"aba", b"bb", b"abba", b"c", b"bcb", b"aaaa", b"a\nb")


def test_the_words_of_every_text() -> None:
    dice = random.Random(7)
    files = WordsOfFiles()
    data = b""
    for step in range(3000):
        place, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        more = bytes(dice.choice(b"aab\nc") for _ in range(dice.randrange(6)))
        data = data[:place] + more + data[min(end, place + 4) :]
        if len(data) > 40:
            data = data[20:]
        words = files.of("file", data)
        asked = WORDS if step % 3 else WORDS[:4]
        assert [word in words for word in asked] == [word in data for word in asked], data


def test_files_are_kept_apart() -> None:
    files = WordsOfFiles()
    for number in range(20):
        assert (b"%d" % number in files.of(f"{number}", b"%d" % number)) is True
        assert b"0" not in files.of("other", b"1")
