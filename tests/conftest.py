"""What pytest leaves out on an old Python, and what tests in several folders share."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

# The packages that ship the official schemas of SARIF and of workflow files need Python 3.11.
collect_ignore = [] if sys.version_info >= (3, 11) else ["linter/test_report_sarif.py", "house/test_ci_recipes.py"]


@pytest.fixture(scope="session")
def rule_support() -> ModuleType:
    """How to run rules over a snippet: tests/rules/support.py."""
    path = Path(__file__).with_name("rules") / "support.py"
    spec = importlib.util.spec_from_file_location("moelint_rule_support", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault("moelint_rule_support", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """Let programs that a test starts hear SIGINT: a shell that runs pytest in the background tells them not to."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
