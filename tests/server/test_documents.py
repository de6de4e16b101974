"""Edits in the units of each encoding, against the plainest way to make them; and the pace of looking."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from moelint.linter.model import Region
from moelint.linter.server.documents import Documents, Text, path_of, uri_of
from moelint.linter.server.pace import Pace
from moelint.linter.server.positions import characters, region_of, to_range, units

ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
SIZES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
TEXTS = st.text(st.sampled_from("ab\u00e9\u20ac\U0001f9ea\x0c\u2028\x85\n\r"), max_size=30)


def place_of(text: str, offset: int, encoding: str) -> types.Position:
    """The position of a character, by definition: encode what stands before it on its line and count."""
    before = re.split(r"\r\n|\n|\r", text[:offset])
    inside_end = offset and text[offset - 1 : offset + 1] == "\r\n"
    lines = before[:-1] if inside_end else before
    size = len(lines[-1].encode(ENCODINGS[encoding])) // SIZES[encoding]
    return types.Position(len(lines) - 1, size)


@given(
    text=TEXTS, new=TEXTS, start=st.integers(0, 30), length=st.integers(0, 30), encoding=st.sampled_from([*ENCODINGS])
)
def test_an_edit_replaces_exactly_its_range(text: str, new: str, start: int, length: int, encoding: str) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    for cut in (start, end):
        if text[cut - 1 : cut + 1] == "\r\n" and cut:
            return  # no position stands for the middle of a line end
    span = types.Range(place_of(text, start, encoding), place_of(text, end, encoding))
    edited = Text(text).edited(types.TextDocumentContentChangePartial(span, new), encoding)
    assert edited.text == text[:start] + new + text[end:]


@given(line=st.text(max_size=20), encoding=st.sampled_from([*ENCODINGS]))
def test_units_and_characters_are_inverse(line: str, encoding: str) -> None:
    assert [characters(line, units(line[:n], encoding), encoding) for n in range(len(line) + 1)] == [
        *range(len(line) + 1)
    ]


@pytest.mark.parametrize("encoding", [*ENCODINGS])
def test_regions_and_ranges_are_inverse(encoding: str) -> None:
    lines = ["x = '\U0001f9ea' + b", "\u00e9 = 1"]
    region = Region(1, 6, 2, 2)
    assert region_of(lines, to_range(lines, region, encoding), encoding) == region


def test_positions_behind_the_end_are_the_end() -> None:
    lines = ["ab"]
    beyond = types.Range(types.Position(0, 99), types.Position(7, 0))
    assert region_of(lines, beyond, "utf-16") == Region(1, 3, 1, 3)
    assert to_range(lines, Region(5, 1, 9, 1), "utf-16").start == types.Position(0, 2)


def test_changes_are_made_one_after_the_other() -> None:
    documents = Documents()
    documents.open(types.TextDocumentItem("file:///a.py", "python", 1, "one\ntwo\n"))
    first = types.TextDocumentContentChangePartial(types.Range(types.Position(0, 0), types.Position(1, 0)), "")
    second = types.TextDocumentContentChangePartial(types.Range(types.Position(0, 3), types.Position(0, 3)), "!")
    document = documents.change("file:///a.py", 2, [first, second])
    assert document is not None and (document.text, document.version) == ("two!\n", 2)


def test_a_text_is_saved_in_the_encoding_that_it_declares() -> None:
    assert Text("# coding: latin-1\nx = '\u00e9'\n").data == b"# coding: latin-1\nx = '\xe9'\n"
    assert Text("# coding: latin-1\nx = '\u20ac'\n").data.endswith("'\u20ac'\n".encode())


def test_addresses_and_paths() -> None:
    assert path_of(uri_of("/tmp/a b/\u00e9.py")) == "/tmp/a b/\u00e9.py"
    assert path_of("untitled:Untitled-1").endswith("/untitled_Untitled-1")


def test_the_first_edit_is_looked_at_at_once_and_the_next_after_a_pause() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    assert pace.delay("a", 0.2) == 0.0
    pace.changed("a")
    assert pace.delay("a", 0.2) == 0.0
    now = 0.1
    pace.changed("a")
    assert pace.delay("a", 0.2) == pytest.approx(0.2)
    now = 0.25
    assert pace.delay("a", 0.2) == pytest.approx(0.05)
    now = 0.4
    pace.changed("a")
    assert pace.delay("a", 0.2) == 0.0
