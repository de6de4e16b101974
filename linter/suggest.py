"""Words for messages about what a user wrote: the closest known word, and values cut to size."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that is most like `word`, ignoring case and `-` against `_`; None if none is near."""
    from difflib import get_close_matches

    plain = {_plain(candidate): candidate for candidate in sorted(known, reverse=True)}
    found = get_close_matches(_plain(word), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing."""
    found = closest(word, known)
    return f"; did you mean {found!r}?" if found is not None and found != word else ""


def show(value: object) -> str:
    """A value for a message, not longer than a line can bear."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(word: str) -> str:
    return word.lower().replace("_", "-")
