"""`moelint new-rule`: the files of a new rule, to be filled in."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from moelint.linter.errors import UsageError
from moelint.linter.families import FAMILIES, numbers
from moelint.linter.suggest import did_you_mean

_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_CODE = re.compile(r"^ +code(?:: [^=\n]+)? = \"MOE(\d{3})\"", re.MULTILINE)
_DEFAULT_FAMILY = "factor-flow"

_RULE = '''"""{code}."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.analysis.events import Scale
from moelint.linter.rule import Draft, Module, Rule


class {class_name}(Rule):
    """Reports FILL IN: one sentence.

    ## What it does
    FILL IN: what is looked at, and when it is reported.

    ## Why is this bad?
    FILL IN: what goes wrong, and where.

    ## Example
    ```python
    # profile: generic
    FILL_IN = "code that this rule reports"
    ```

    ## Use instead
    ```python
    # profile: generic
    FILL_IN = "the same code, repaired"
    ```

    ## Limits
    FILL IN: what is not seen, or not reported on purpose.
    """

    code = "{code}"
    family = "{family}"
    tokens = (("@factor",),)
    help = "FILL IN: one line that says what to do"

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if isinstance(event, Scale) and self._is_wrong(event):
                yield Draft(
                    event.node,
                    "FILL IN: what is done here, what goes wrong, and what to do instead.",
                    event.qualname,
                    statement=event.statement,
                )

    def _is_wrong(self, event: Scale) -> bool:
        """FILL IN: the condition. Until then nothing is reported and the fixture test fails."""
        return False
'''

_WRONG = """# profile: generic
# FILL IN: the smallest code of real shape that breaks the rule.
class Block:
    def forward(self, x):
        return self.experts(x)  # expect: {slug}
"""

_RIGHT = """# profile: generic
# FILL IN: the twin of wrong_first.py, different by the repair alone.
class Block:
    def forward(self, x):
        return self.experts(x)
"""


def main(argv: Sequence[str]) -> int:
    """Write the files and say what to do next. Raises UsageError and writes nothing if one of them exists."""
    from argparse import ArgumentParser

    parser = ArgumentParser("moelint new-rule", description="Write the files of a new rule into this checkout.")
    parser.add_argument("slug", metavar="SLUG", help="the rule's name in lower case, for example bias-in-weights")
    parser.add_argument(
        "--family", default=_DEFAULT_FAMILY, help=f"one of {', '.join(FAMILIES)} (default: %(default)s)"
    )
    options = parser.parse_args(argv)
    sys.stdout.write(create(checkout(Path.cwd()), options.slug, options.family))
    return 0


def checkout(folder: Path) -> Path:
    """The root of the moelint checkout that `folder` is in. Raises UsageError."""
    for root in (folder, *folder.parents):
        if all((root / part).is_dir() for part in ("linter", "rules", "fixtures")) and _is_moelint(root):
            return root
    raise UsageError("new-rule writes into a checkout of moelint, and this folder is not in one")


def create(root: Path, slug: str, family: str) -> str:
    """Write the files of a new rule below `root` and return the next steps. Raises UsageError."""
    slug = slug.replace("_", "-")
    module = slug.replace("-", "_")
    if not _SLUG.fullmatch(slug) or keyword.iskeyword(module):
        raise UsageError(f"{slug!r} is no rule name: use words in lower case with hyphens, for example bias-in-weights")
    if family not in FAMILIES:
        raise UsageError(f"unknown family {family!r}{did_you_mean(family, FAMILIES)}; there are {', '.join(FAMILIES)}")
    names = {
        "code": next_code(family, _used_numbers(root)),
        "family": family,
        "slug": slug,
        "class_name": "".join(word.capitalize() for word in slug.split("-")),
    }
    files = {
        root / "rules" / f"{module}.py": _RULE.format(**names),
        root / "fixtures" / "rules" / slug / "wrong_first.py": _WRONG.format(**names),
        root / "fixtures" / "rules" / slug / "right_first.py": _RIGHT,
    }
    taken = [path for path in (root / "rules" / module, *files) if path.exists()]
    if taken:
        raise UsageError(f"refusing to overwrite {', '.join(path.relative_to(root).as_posix() for path in taken)}")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return _next_steps(names["code"], slug, [path.relative_to(root).as_posix() for path in files])


def next_code(family: str, used: Iterable[int]) -> str:
    """The code after the family's highest, so that the code of a removed rule is not given again. Raises UsageError."""
    own = numbers(family)
    number = max((number for number in used if number in own), default=own.start - 1) + 1
    if number not in own:
        raise UsageError(f"family {family} has no free code left")
    return f"MOE{number:03}"


def _used_numbers(root: Path) -> set[int]:
    """The numbers of all codes that a class in `root` declares."""
    paths = [*(root / "rules").glob("*.py"), *(root / "linter").glob("*.py")]
    return {int(number) for path in paths for number in _CODE.findall(path.read_text(encoding="utf-8"))}


def _is_moelint(root: Path) -> bool:
    file = root / "pyproject.toml"
    return file.is_file() and 'name = "moelint"' in file.read_text(encoding="utf-8")


def _next_steps(code: str, slug: str, files: Sequence[str]) -> str:
    rule, wrong, right = files
    return f"""{code} {slug}
  {rule}
  {wrong}
  {right}

Next:
  1. Write the wrong shape in wrong_first.py, with `# expect: {slug}` on the line where a finding starts,
     and its repair in right_first.py.
  2. Fill in every FILL IN of {rule} until this passes:
     python -m pytest tests/rules/test_fixtures.py -k {slug}
  3. python tools/make_index.py && python tools/make_rule_docs.py
"""
