"""Hold a built-in profile against a release: every name it declares must occur there, every module must exist.

`python tools/check_profile.py vllm path/to/vllm-0.33.0` prints what does not, and how often each name occurs with `-v`.
The exit code is 1 if something is missing.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from moelint.linter.profile_extend import bare_name
from moelint.linter.profile_fields import profile_fields
from moelint.linter.profile_symbols import dead_symbols
from moelint.linter.registry import profile_data

_WORD = re.compile(rb"[A-Za-z_]\w*")


def declared_names(data: dict[str, object]) -> dict[str, str]:
    """Every identifier that a profile declares -> the field that does."""
    names: dict[str, str] = {}
    for key, field in profile_fields().items():
        value = data.get(key, ())
        if (field.kind == "names" and key != "packages") or field.is_table:
            names.update((bare_name(str(item)), key) for item in value)  # type: ignore[attr-defined]
    return names


def occurrences(tree: Path, names: set[bytes]) -> Counter[bytes]:
    """How often each of `names` occurs in the Python files below `tree`, as a whole word."""
    found: Counter[bytes] = Counter()
    for path in tree.rglob("*.py"):
        data = path.read_bytes()
        if any(name in data for name in names):
            found.update(word for word in _WORD.findall(data) if word in names)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("profile", help="the name of a built-in profile")
    parser.add_argument("tree", type=Path, help="the folder that holds the framework's package")
    parser.add_argument("-v", "--verbose", action="store_true", help="print how often each name occurs")
    options = parser.parse_args()
    data = dict(profile_data()[options.profile])
    names = declared_names(data)
    found = occurrences(options.tree, {name.encode() for name in names})
    missing = dead_symbols(data, "", str(options.tree))
    for name, field in names.items():
        count = found[name.encode()]
        if options.verbose:
            print(f"{count:7} {field}: {name}")
        if not count:
            missing.append(f"{field}: {name} does not occur")
    print("\n".join(missing) or f"all {len(names)} names of {options.profile} occur in {options.tree}")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
