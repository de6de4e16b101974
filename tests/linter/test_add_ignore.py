"""`--add-ignore`: the comments hide what they are meant to hide, and nothing else in the file is another byte."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter import add_ignore, check
from moelint.linter.add_ignore import add_ignores, logical_lines, with_comments
from moelint.linter.cli import main
from moelint.linter.errors import UsageError
from moelint.linter.model import Finding
from moelint.linter.options import parse
from moelint.linter.plan import Plan, plan_for

REASON = "nobody folds here"
SCALE = "y *= self.routed_scaling_factor"
SHAPES = (
    f"{SCALE}",
    f"{SCALE}; z = 1",
    f"z = 1; {SCALE}",
    f"{SCALE}  # a comment",
    "y = y * \\\n  self.routed_scaling_factor",
    "y = y.mul(\n    # inside\n    self.routed_scaling_factor,\n)",
    "y = (y\n* self.routed_scaling_factor)",
    f"if x is None: {SCALE}",
    f"if x is None:\n\t{SCALE}",
    f"if x is None:\n    pass\nelif y is None:\n    {SCALE}\nelse:\n    {SCALE}",
    f"try:\n    {SCALE}\nexcept ValueError:\n    pass",
    f'z = """\n{SCALE}\n"""\n{SCALE}',
    f"\f{SCALE}",
    f"\n\f\n{SCALE}\n\f",
    f"# moelint: ignore[guards-x] -- other\n{SCALE}",
    f"with a as b, \\\n    c as d:\n    {SCALE}",
    "z = f'''\n{y * self.routed_scaling_factor}\n'''\n" + SCALE,
    f"match x:\n    case 1:\n        {SCALE}",
)
ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


def orders(*more: str) -> Plan:
    return plan_for(
        parse(["--isolated", "--no-cache", "--jobs", "1", "--profile", "sglang", "--select", "epilogue", *more])
    )


def source(shapes: list[str], *, last: str = "        return y\n") -> str:
    """A method with these shapes in it. A form feed sets the column back, so it goes in front of the indent."""
    lines = [line for shape in shapes for line in shape.split("\n")]
    body = "".join(re.sub(r"^(\f?)(.+)", r"\1        \2", line) + "\n" for line in lines)
    return f"class Block:\n    def forward(self, x):\n        y = self.experts(x, self.topk(x))\n{body}{last}"


def findings(path: Path, plan: Plan) -> tuple[Finding, ...]:
    report = check.check([str(path)], plan)
    assert report.diagnostics == ()
    return tuple(finding for finding in report.findings if finding.family != "suppression")


def without_comments(data: bytes) -> bytes:
    return re.sub(rb"[ \t]*# moelint: ignore\[[a-z, -]+\] -- nobody folds here(?:\r\n|\n|\r|\Z)", b"", data)


@given(
    st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3),
    st.sampled_from([*ENDS]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "latin-1", "utf-8", "cp1252", "shift_jis"]),
)
@settings(max_examples=120, deadline=None)
def test_the_findings_are_hidden_and_the_rest_is_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[str], end: str, bom: bool, ends: bool, encoding: str | None
) -> None:
    head = f"# -*- coding: {encoding} -*-\n" if encoding else ""
    text = head + source(shapes)
    if not ends:
        text = text.removesuffix("\n")
    data = text.replace("\n", ENDS[end]).encode(encoding or "utf-8")
    if bom and encoding in (None, "utf-8"):
        data = b"\xef\xbb\xbf" + data
    path = tmp_path_factory.mktemp("f") / "m.py"
    path.write_bytes(data)
    plan = orders()
    found = findings(path, plan)
    added = add_ignores(found, plan, REASON)
    assert (added.findings, added.refused) == (len(found), ())
    assert found, "a shape without a finding shows nothing"
    assert findings(path, plan) == ()
    assert without_comments(path.read_bytes()) == data
    assert path.read_bytes().count(REASON.encode()) <= len(found)
    assert add_ignores(findings(path, plan), plan, REASON).files == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_a_finding(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(source([shape]), newline="")
    assert findings(path, orders())


def test_a_file_may_end_in_the_statement_itself(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(source([], last=f"        {SCALE}").replace("\n", "\r\n").encode())
    plan = orders()
    assert add_ignores(findings(path, plan), plan, REASON).files == 1
    assert path.read_bytes().endswith(
        b"        # moelint: ignore[epilogue-unguarded] -- nobody folds here\r\n        " + SCALE.encode()
    )


def test_rules_on_one_statement_share_a_comment_and_decorators_stay_with_theirs(tmp_path: Path) -> None:
    text = "@a\n@b(\n  1)\ndef f(x):\n    pass\n"
    made = [Finding("M1", name, "f", "error", "m.py", region, "m", "h", "f") for name, region in (
        ("z-rule", _region(4)), ("a-rule", _region(4)), ("c-rule", _region(3)),
    )]  # fmt: skip
    assert with_comments(text.encode(), made, "why").decode() == (
        "@a\n# moelint: ignore[c-rule] -- why\n@b(\n  1)\n"
        "# moelint: ignore[a-rule, z-rule] -- why\ndef f(x):\n    pass\n"
    )


def _region(line: int):  # type: ignore[no-untyped-def]
    from moelint.linter.model import Region

    return Region(line, 1, line, 2)


def test_logical_lines() -> None:
    text = "'''doc\nstring'''\n\n# c\nif x: y = [\n1,\n]\nelse:\n    z = \\\n1; w = 2\n"
    assert logical_lines(text) == [1, 5, 8, 9]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("--", "says something"),
        ("a\x1bb", "cannot be printed"),
        ("coding: latin-1", "encoding"),
        (" ", "says something"),
    ],
)
def test_a_bad_reason_is_refused(reason: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        add_ignore.checked_reason(reason)


def test_a_reason_is_one_line_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(source([SCALE]))
    plan = orders()
    add_ignores(findings(path, plan), plan, "see\nissue 12: [x] -- # y")
    [hidden] = check.check([str(path)], plan).suppressed
    assert hidden.excuse is not None and hidden.excuse.reason == "see issue 12: [x] -- # y"


def test_a_reason_that_the_encoding_cannot_hold_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    data = b"# coding: latin-1\n" + source([SCALE]).encode()
    path.write_bytes(data)
    plan = orders()
    added = add_ignores(findings(path, plan), plan, "日本")
    assert (added.findings, added.files, len(added.refused)) == (0, 0, 1)
    assert path.read_bytes() == data
    path.write_text(source([SCALE]))
    assert add_ignores(findings(path, plan), plan, "日本").files == 1


def test_what_cannot_be_proven_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.py"
    path.write_text(source([SCALE]))
    plan = orders("--extend-select", "suppression")
    found = findings(path, plan)
    before = path.read_bytes()
    for wrong in (
        lambda data, findings, reason: data,
        lambda data, findings, reason: with_comments(data, findings, reason) + b"x = 1\n",
        lambda data, findings, reason: b"# moelint: ignore[nonsense] -- x\n" + with_comments(data, findings, reason),
        lambda data, findings, reason: b"def (:\n",
    ):
        monkeypatch.setattr(add_ignore, "with_comments", wrong)
        added = add_ignores(found, plan, REASON)
        assert (added.files, added.refused) == (0, (f"{path}: not changed: a comment there has no or another effect",))
        assert path.read_bytes() == before


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.py"
    path.write_text(source([SCALE]))
    plan = orders()
    found = findings(path, plan)
    real = add_ignore._proven

    def meddle(*arguments: object) -> set[str]:
        path.write_text("x = 1\n")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(add_ignore, "_proven", meddle)
    assert "changed in the meantime" in add_ignores(found, plan, REASON).refused[0]
    assert path.read_text() == "x = 1\n"


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text(source([SCALE]))
    real.chmod(0o755)
    os.symlink("real.py", link)
    plan = orders()
    both = (*findings(link, plan), *findings(real, plan))
    assert len(both) == 2
    assert add_ignores(both, plan, REASON).files == 1
    assert link.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o755
    assert real.read_text().count("# moelint") == 1


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moelint.toml").write_text(
        'profile = "sglang"\nselect = ["epilogue", "suppression"]\nrequire-reason = true\n'
    )
    (tmp_path / "m.py").write_text(source([SCALE]))
    (tmp_path / "n.py").write_text(source(["y = 2", "x = 1  # moelint: ignore"]))
    assert main(["check", "--add-ignore", "known"]) == 1
    said = capsys.readouterr()
    assert "n.py:5:16: MOE901" in said.out and "MOE301" not in said.out
    assert "moelint: 1 finding ignored in 1 file" in said.err
    assert "# moelint: ignore[epilogue-unguarded] -- known\n" in (tmp_path / "m.py").read_text()
    assert main(["check", "m.py"]) == 0
    assert main(["check", "-", "--add-ignore", "known"]) == 2
    assert main(["check", "--add-ignore", "--"]) == 2


def test_only_what_counts_gets_a_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moelint.toml").write_text('profile = "sglang"\nselect = ["epilogue"]\n')
    (tmp_path / "m.py").write_text(source([SCALE]))
    main(["baseline", "create", "--baseline", "old.jsonl"])
    (tmp_path / "m.py").write_text(source([SCALE, "y = y * self.routed_scaling_factor"]))
    assert main(["check", "--baseline", "old.jsonl", "--add-ignore", "new"]) == 0
    lines = (tmp_path / "m.py").read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if "# moelint" in line] == [5]


def test_of_the_suppression_rules_nothing_is_hidden(tmp_path: Path) -> None:
    finding = Finding("MOE901", "malformed-suppression", "suppression", "error", "m.py", _region(1), "m", "h", "f")
    assert add_ignores([replace(finding, path=str(tmp_path / "none.py"))], orders(), REASON) == (0, 0, ())
