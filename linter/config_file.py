"""Which configuration file speaks for a path, and what it says, unchecked.

On the start-up path: a TOML parser is imported only where a file may hold settings.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OWN_NAME = "moelint.toml"
SHARED_NAME = "pyproject.toml"


def find(start: str) -> tuple[str, Mapping[str, Any]] | None:
    """The nearest `moelint.toml`, or `pyproject.toml` with a table `[tool.moelint]`, in the folder of `start` or one
    above, and its settings. Raises ConfigError for a file that is no TOML."""
    folder = os.path.abspath(start)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    while True:
        for name in (OWN_NAME, SHARED_NAME):
            path = os.path.join(folder, name)
            data = _read(path)
            table = None if data is None else _settings_table(path, data)
            if table is not None:
                return path, table
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def read(path: str) -> Mapping[str, Any]:
    """The settings in the file `path`. Raises ConfigError where there are none."""
    from moelint.linter.errors import ConfigError

    data = _read(path)
    if data is None:
        raise ConfigError(path, ["the configuration file cannot be read"])
    table = _settings_table(path, data)
    if table is None:
        raise ConfigError(path, ["there is no table [tool.moelint]"])
    return table


def read_toml(path: str, data: bytes) -> dict[str, Any]:
    """Parse the bytes of `path`. Raises ConfigError."""
    import sys
    from importlib import import_module

    from moelint.linter.errors import ConfigError

    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        table: dict[str, Any] = toml.loads(data.decode("utf-8-sig"))
        return table
    except UnicodeDecodeError as error:
        raise ConfigError(path, [f"not UTF-8 at byte {error.start}"]) from None
    except toml.TOMLDecodeError as error:
        raise ConfigError(path, [f"not valid TOML: {error}"]) from None
    except RecursionError:
        raise ConfigError(path, ["not valid TOML: nested too deeply"]) from None


def project_root(start: str) -> str:
    """Where patterns start without a configuration file: the current folder; that of `start` if it lies elsewhere."""
    here = os.getcwd()
    if is_below(start, here):
        return here
    full = os.path.abspath(start)
    return full if os.path.isdir(full) else os.path.dirname(full)


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return os.path.join(os.path.abspath(path), "").startswith(os.path.join(folder, ""))


def prefix(path: str) -> str:
    """What stands before a key of the settings in messages about `path`."""
    return "tool.moelint." if os.path.basename(path) == SHARED_NAME else ""


def _settings_table(path: str, data: bytes) -> Mapping[str, Any] | None:
    """The settings in a file; None where it has none. A file of another name than `pyproject.toml` is all settings."""
    if os.path.basename(path) != SHARED_NAME:
        return read_toml(path, data)
    if b"moelint" not in data:
        return None
    tool = read_toml(path, data).get("tool")
    table = tool.get("moelint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        from moelint.linter.errors import ConfigError

        raise ConfigError(path, [f"tool.moelint: expected a table, not {table!r}"])
    return table


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None
