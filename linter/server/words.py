"""Which words a text holds that is being edited: of the last text, what the edit did not touch is known."""

from __future__ import annotations

from collections import OrderedDict

_KEPT = 8
"""Files that are remembered."""


class Words:
    """The words that were asked for in one file."""

    def __init__(self) -> None:
        self._data = b""
        self._found: dict[bytes, int] = {}
        """Word -> a place where it is, -1 for none."""

    def renewed(self, data: bytes) -> Words:
        """These words for the next text of the file."""
        old = self._data
        if data != old:
            same = _common(old, data)
            end = len(old) - _common(old[same:][::-1], data[same:][::-1])
            more = len(data) - len(old)
            for word, place in self._found.items():
                if place < 0 or (same < place + len(word) and place < end):
                    near = data.find(word, max(0, same - len(word) + 1), end + more + len(word) - 1)
                    self._found[word] = near if near >= 0 or place < 0 else data.find(word)
                elif place >= end:
                    self._found[word] = place + more
            self._data = data
        return self

    def __contains__(self, word: bytes) -> bool:
        place = self._found.get(word)
        if place is None:
            place = self._found[word] = self._data.find(word)
        return place >= 0


class WordsOfFiles:
    """The words of the files that are being edited."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Words] = OrderedDict()

    def of(self, path: str, data: bytes) -> Words:
        """The words of the file's present text."""
        known = self._known.pop(path, None) or Words()
        self._known[path] = known
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return known.renewed(data)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes the two have in common at their start."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least
