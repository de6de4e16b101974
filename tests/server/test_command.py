"""The command line of the server, and what editors and documents say of its settings."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from moelint.linter.server.client import Abilities, UserSettings

ROOT = Path(__file__).parents[2]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_without_the_extra_there_is_one_line_and_exit_code_2() -> None:
    done = run(
        "import sys; sys.modules['pygls'] = None\nfrom moelint.linter.cli import main\nsys.exit(main(['server']))"
    )
    assert done.returncode == 2
    assert done.stderr == "moelint: the server needs pygls: pip install 'moelint[lsp]'\n"


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run(
            f"import sys\nfrom moelint.linter.cli import main\nsys.exit(main(['server', '--tcp', '--port', '{port}']))"
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"moelint: cannot listen on 127.0.0.1:{port}: ") and done.stderr.count("\n") == 1


def settings() -> dict[str, Any]:
    """The server's settings as editors spell them, with their defaults."""
    names: dict[str, Any] = {}
    for field in UserSettings.__dataclass_fields__.values():
        first, *rest = field.name.split("_")
        names[first + "".join(word.capitalize() for word in rest)] = field.default
    return names


def test_the_extension_offers_the_settings_of_the_server() -> None:
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text("utf-8"))
    offered = {
        key.removeprefix("moelint."): entry["default"]
        for key, entry in package["contributes"]["configuration"]["properties"].items()
    }
    own = {"importStrategy", "path", "interpreter"}
    assert {name: value for name, value in offered.items() if name not in own} == {
        name: value for name, value in settings().items() if name != "status"
    }
    code = (ROOT / "editors" / "vscode" / "src" / "extension.js").read_text("utf-8")
    handed = re.search(r"SERVER_SETTINGS = \[(.*?)\]", code)
    assert handed is not None and set(re.findall(r'"(\w+)"', handed[1])) == set(settings()) - {"status"}


def test_the_page_lists_the_settings_with_their_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs" / "server.md").read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == {name: str(value).lower() for name, value in settings().items()}


def test_settings_of_the_wrong_kind_are_named_and_the_others_hold() -> None:
    user, problems = UserSettings().updated({"debounceMs": True, "codeLens": False, "path": ["x"], "inlayHints": "yes"})
    assert user == UserSettings(code_lens=False)
    assert problems == ["moelint.debounceMs: True is no number", "moelint.inlayHints: 'yes' is no truth value"]
    assert UserSettings().updated([1]) == (UserSettings(), ["the settings of moelint are no table"])


def test_a_client_that_says_nothing_can_do_nothing() -> None:
    from lsprotocol import types

    assert Abilities.of(types.ClientCapabilities()) == Abilities()
