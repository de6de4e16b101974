"""What a run does where nobody says otherwise. On the start-up path: imports nothing."""

from __future__ import annotations

EXCLUDE = (
    ".eggs",
    ".git",
    ".hg",
    ".moelint_cache",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
CACHE = ".moelint_cache"
