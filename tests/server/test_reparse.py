"""The tree of an edited text, put together from old pieces, against the tree that the whole text has."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from moelint.linter.analysis.walk import walk
from moelint.linter.engine import parse
from moelint.linter.server.reparse import Reparser

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "linter" / "add_ignore.py", ROOT / "rules" / "_calls.py", ROOT / "tests" / "server" / "editor.py"]
PIECES = (
    "\n", "\n\n", "    ", "        x = 1\n", "    def more(self):\n        return 1\n", "@decorated\n",
    "    @property\n", "x = 1; y = 2\n", "class A:\n    b = 1\n\n    def c(self): pass\n", '"""', "(", ")", "\\\n",
    "# coding: latin-1\n", "    else:\n        pass\n", "else:\n    pass\n", "\t", "if x:\n    pass\n", "\u20ac",
    "'\U0001f9ea'", ":", "async ", "    # a comment\n", "# a comment\n", "\x0c", "class B: c = 1; d = 2\n",
)  # fmt: skip


def dumped(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=True)


def functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


class Counting:
    """A parser of whole files that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: bytes) -> ast.Module:
        self.calls += 1
        return parse(data)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
@pytest.mark.parametrize("seed", range(2))
def test_random_edits_give_the_tree_of_the_whole(path: Path, seed: int) -> None:
    chance = random.Random(f"{path.name}{seed}")
    text = original = path.read_text("utf-8")
    whole = Counting()
    reparser = Reparser(whole)
    parsed = 0
    for _ in range(90):
        lines = text.split("\n")
        number = chance.randrange(len(lines) + 1)
        if chance.random() < 0.6:
            lines[number:number] = [chance.choice(PIECES).removesuffix("\n")]
        elif chance.random() < 0.6:
            del lines[number : number + chance.randrange(4)]
        elif number < len(lines):
            column = chance.randrange(len(lines[number]) + 1)
            lines[number] = lines[number][:column] + chance.choice(PIECES) + lines[number][column:]
        before, text = text, "\n".join(lines)
        try:
            expected = dumped(parse(text.encode()))
        except SyntaxError:
            with pytest.raises(SyntaxError):
                reparser.parse("f", text.encode())
            text = before if chance.random() < 0.7 else original
            continue
        tree = reparser.parse("f", text.encode())
        assert dumped(tree) == expected, text
        for node in walk(tree):  # what others note on nodes must not outlive them
            list(walk(node))
        assert {id(node) for node in walk(tree)} <= {id(node) for node in ast.walk(tree)}
        parsed += 1
    assert parsed > 12


def test_an_edit_in_a_method_parses_that_method_alone() -> None:
    text = SOURCES[1].read_text("utf-8")
    whole = Counting()
    reparser = Reparser(whole)
    kept = functions(reparser.parse("f", text.encode()))
    edited = text.replace("        return self._functions.get(node)\n", "        return self._functions[node]\n\n")
    assert edited != text
    tree = reparser.parse("f", edited.encode())
    assert whole.calls == 1
    now = functions(tree)
    assert {name for name in now if now[name] is not kept[name]} == {"function_of"}
    assert dumped(tree) == dumped(parse(edited.encode()))
