"""The full report: source frames, related places, and sources that are odd, changed or gone."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter.model import Diagnostic, Finding, Place, Region, Report
from moelint.linter.report.formats.full import render
from moelint.linter.report.frame import Row, Unreadable, cells, frame
from moelint.linter.report.page import Page, page_for
from moelint.linter.source import Source

CODE = b"""\
class Block:
    def forward(self, x):
        y = self.experts(x)
        if not _is_cuda:
            y *= self.factor
        return y
"""
MESSAGE = "The factor is multiplied in under `not _is_cuda`. A platform flag does not say whether routing folded it."


def one(region: Region, *related: Place, path: str = "m.py", message: str = MESSAGE, help: str = "ask it") -> Report:
    finding = Finding("MOE401", "guard-not-asking", "guards", "error", path, region, message, help, "Block.f", related)
    return Report((finding,), (), (), 1, 1, 0)


def shown(report: Report, source: bytes = CODE, **page: int | bool) -> list[str]:
    width = int(page.pop("width", 80))
    text = render(report, Page(width, sources={"m.py": source}, **page))  # type: ignore[arg-type]
    return text.splitlines()


def rows(line: str, start: int, end: int, width: int = 60) -> Row:
    """The one row of a frame around columns `[start, end)` of a file of one line."""
    (row,) = frame(Source("m.py", line.encode()), Region(1, start, 1, end), width, 0)
    return row


def under(row: Row) -> str:
    """What the marks of a row stand under, cell by cell."""
    wide = "".join(char + "\0" * (cells(char) - 1) for char in row.text)
    return wide[row.start : row.end].replace("\0", "")


def test_a_whole_finding() -> None:
    related = Place("m.py", Region(4, 16, 4, 24), "decided here")
    assert shown(one(Region(5, 13, 5, 29), related)) == [
        "error[MOE401] guard-not-asking",
        "  The factor is multiplied in under `not _is_cuda`. A platform flag does not say",
        "  whether routing folded it.",
        "   ╭─▶ m.py:5:13  in Block.f",
        " 3 │         y = self.experts(x)",
        " 4 │         if not _is_cuda:",
        " 5 │             y *= self.factor",
        "   │             ━━━━━━━━━━━━━━━━",
        " 6 │         return y",
        "   ├─▶ m.py:4:16  decided here",
        " 4 │         if not _is_cuda:",
        "   │                ────────",
        "   ├─▶ help: ask it",
        "   ╰─▶ moelint rule guard-not-asking",
    ]


def test_without_unicode_everything_is_ascii() -> None:
    source = CODE.replace(b"(x)\n", "(x)  # 路由 é\n".encode())
    lines = shown(one(Region(5, 13, 5, 29), Place("m.py", Region(4, 16, 4, 24), "here")), source, unicode=False)
    assert all(line.isascii() for line in lines)
    assert lines[3:8] == [
        "   --> m.py:5:13  in Block.f",
        " 3 |         y = self.experts(x)  # ???? ?",
        " 4 |         if not _is_cuda:",
        " 5 |             y *= self.factor",
        "   |             ^^^^^^^^^^^^^^^^",
    ]


def test_a_region_of_several_lines_has_a_bar_and_marks_at_both_ends() -> None:
    source = b"y = add(\n    a,\n    b,\n)\nz = 1\n"
    assert shown(one(Region(1, 5, 4, 2)), source)[4:11] == [
        " 1 ┃ y = add(",
        "   ┃     ━━━━",
        " 2 ┃     a,",
        " 3 ┃     b,",
        " 4 ┃ )",
        "   ┃ ━",
        " 5 │ z = 1",
    ]


def test_the_middle_of_a_long_region_is_left_out() -> None:
    source = b"y = add(\n" + b"    a,\n" * 100 + b")\n"
    lines = shown(one(Region(1, 5, 102, 2)), source)
    assert [line.split()[0] for line in lines[4:-2]] == ["1", "┃", "2", "3", "4", "┆", "102", "┃"]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_do_not_matter(end: str) -> None:
    source = CODE.replace(b"\n", end.encode())
    assert shown(one(Region(5, 13, 5, 29)), source) == shown(one(Region(5, 13, 5, 29)))


def test_a_byte_order_mark_takes_no_column() -> None:
    (row,) = frame(Source("m.py", b"\xef\xbb\xbfx = 1"), Region(1, 1, 1, 2), 60, 0)
    assert under(row) == "x"


@pytest.mark.parametrize(
    ("line", "start", "end", "text", "marked"),
    [
        ("\t\ty *= f", 3, 9, "        y *= f", "y *= f"),
        ("ab\ty\tz", 4, 7, "ab  y   z", "y   z"),
        ('s = "路由", factor', 11, 17, 's = "路由", factor', "factor"),
        ('s = "😀🧪", factor', 11, 17, 's = "😀🧪", factor', "factor"),
        ("e\u0301 = factor", 6, 12, "e\u0301 = factor", "factor"),
        ("x = '路'", 6, 7, "x = '路'", "路"),
        ("a\x1b[31mb\u202ec = f", 13, 14, "a\ufffd[31mb\ufffdc = f", "f"),
    ],
    ids=["tabs", "tab-inside", "wide", "non-bmp", "combining", "wide-inside", "control"],
)
def test_marks_stand_under_the_region(line: str, start: int, end: int, text: str, marked: str) -> None:
    row = rows(line, start, end)
    assert row.text == text
    if "\u0301" in line:
        assert (row.start, row.end) == (4, 10)
    else:
        assert under(row) == marked


def test_an_empty_region_gets_one_mark() -> None:
    assert (rows("abc", 2, 2).start, rows("abc", 2, 2).end) == (1, 2)


def test_columns_behind_the_end_of_the_line_are_marked_at_its_end() -> None:
    row = rows("abc", 90, 95)
    assert (row.text, row.start, row.end) == ("abc", 3, 4)


@pytest.mark.parametrize("at", [1, 30, 300, 597, 1190])
def test_a_long_line_is_cut_around_the_region(at: int) -> None:
    line = "".join(f"{number:03}," for number in range(300))
    row = rows(line, at, at + 3)
    assert cells(row.text) <= 60
    assert under(row) == line[at - 1 : at + 2]
    assert row.text.startswith("…") == (at > 50)
    assert row.text.endswith("…") == (at < 1150)


def test_a_region_longer_than_the_page_is_cut() -> None:
    row = rows("x" * 40 + "y" * 500, 41, 541)
    assert cells(row.text) <= 60
    assert row.end <= 60
    assert set(under(row)) <= {"y", "…"}


def test_neighbours_of_a_cut_line_are_left_out() -> None:
    source = b"a = 1\n" + b"x, " * 200 + b"factor\nb = 2\n"
    assert [row.number for row in frame(Source("m.py", source), Region(2, 601, 2, 607), 60, 2)] == [2]


def test_blank_lines_do_not_begin_or_end_a_frame() -> None:
    source = b"a\n\n\nx\n\nb\n\n\n"
    assert [row.number for row in frame(Source("m.py", source), Region(4, 1, 4, 2), 60, 2)] == [4, 5, 6]


@pytest.mark.parametrize(
    ("path", "region", "reason"),
    [
        ("gone.py", Region(1, 1, 1, 2), "No such file or directory"),
        (".", Region(1, 1, 1, 2), ""),
        ("a\0b.py", Region(1, 1, 1, 2), "null"),
        ("m.py", Region(9, 1, 9, 2), "changed since it was checked"),
        ("m.py", Region(0, 1, 0, 2), "changed since it was checked"),
    ],
)
def test_a_source_that_cannot_be_shown_costs_only_the_frame(path: str, region: Region, reason: str) -> None:
    lines = shown(one(Region(5, 13, 5, 29), Place(path, region, "and here")))
    assert " 5 │             y *= self.factor" in lines
    assert any("(no source: " in line and reason in line for line in lines)
    assert lines[-1].strip() == "╰─▶ moelint rule guard-not-asking"


def test_a_region_whose_end_is_gone_is_shown_to_the_end_of_the_file() -> None:
    assert [row.number for row in frame(Source("m.py", b"a\nb"), Region(1, 1, 9, 2), 60, 0)] == [1, 2]


def test_bytes_that_are_no_utf8_are_shown_as_replacements() -> None:
    (row,) = frame(Source("m.py", b"# \xe9\nx"), Region(1, 1, 1, 2), 60, 0)
    assert row.text == "# \ufffd"


def test_sources_are_read_from_disk(tmp_path: Path) -> None:
    file = tmp_path / "disk.py"
    file.write_bytes(CODE)
    text = render(one(Region(6, 9, 6, 15), path=str(file)), Page(80))
    assert " 6 │         return y\n" in text


def test_a_long_related_message_gets_lines_of_its_own() -> None:
    lines = shown(one(Region(5, 13, 5, 29), Place("m.py", Region(4, 16, 4, 24), "word " * 30)), width=60)
    start = lines.index("   ├─▶ m.py:4:16")
    assert lines[start + 1].startswith("   │   word word")
    assert all(cells(line) <= 60 for line in lines)


def test_a_long_qualified_name_gets_a_line_of_its_own() -> None:
    lines = shown(one(Region(5, 13, 5, 29), path="m.py"), width=24)
    start = lines.index("   ╭─▶ m.py:5:13")
    assert lines[start + 1] == "   │   in Block.f"


def test_help_hangs_under_itself() -> None:
    lines = shown(one(Region(5, 13, 5, 29), help="word " * 30), width=60)
    start = next(number for number, line in enumerate(lines) if "help:" in line)
    assert lines[start].startswith("   ├─▶ help: word")
    assert lines[start + 1].startswith("   │         word")


def test_square_brackets_and_emoji_names_are_not_markup() -> None:
    text = "\n".join(shown(one(Region(5, 13, 5, 29), message="x[bold]y[/] :smile: [red]")))
    assert "  x[bold]y[/] :smile: [red]" in text


def test_diagnostics() -> None:
    problems = (Diagnostic("MOE-E001", "x.py", 4, "does not parse"), Diagnostic("MOE-E000", "y.py", 1, "boom", True))
    assert render(Report((), problems, (), 1, 1, 0), Page(80)).splitlines() == [
        "not checked[MOE-E001]",
        "  does not parse",
        "   ──▶ x.py:4",
        "",
        "internal error[MOE-E000]",
        "  boom",
        "   ──▶ y.py:1",
    ]


def test_nothing_ends_in_white_space() -> None:
    related = Place("m.py", Region(2, 5, 2, 8), "word " * 30)
    lines = shown(one(Region(3, 9, 4, 12), related), b"\n\n" + CODE.replace(b"experts", b"experts" * 30))
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_page_follows_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    stream = io.TextIOWrapper(io.BytesIO(), "cp1252")
    page = page_for(stream)
    assert (page.width, page.colour, page.unicode) == (72, False, False)
    monkeypatch.delenv("COLUMNS")
    assert page_for(stream).width == 100
    assert page_for(None).unicode


_LINES = st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=90), max_size=9)


@settings(max_examples=150, deadline=None)
@given(_LINES, st.integers(1, 12), st.integers(1, 100), st.integers(0, 4), st.integers(0, 100), st.integers(20, 80))
def test_frames_fit_whatever_the_source(lines: list[str], line: int, col: int, more: int, end: int, width: int) -> None:
    source = Source("m.py", "\n".join(lines).encode())
    region = Region(line, col, line + more, end)
    if line > len(source.lines):
        with pytest.raises(Unreadable):
            frame(source, region, width, 2)
        return
    found = frame(source, region, width, 2)
    assert region.line in [row.number for row in found]
    for row in found:
        assert cells(row.text) <= width
        assert 0 <= row.start <= row.end <= width + 1
        assert row.number is None or 1 <= row.number <= len(source.lines)
