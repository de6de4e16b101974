"""Start a module of the probe in an interpreter that has no moelint installed: `python boot.py MODULE ARGUMENTS`.

A target must run in its engine's own environment, where only torch and the engine's packages are. The probe needs
nothing but the standard library and torch, so its folder alone is enough; this file gives it its import name.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import types

FOLDER = os.path.dirname(os.path.abspath(__file__))


def install() -> None:
    """Make `moelint.runtime_probe` importable from this folder, whatever else is called moelint here."""
    for name, path in (("moelint", None), ("moelint.runtime_probe", FOLDER)):
        package = types.ModuleType(name)
        package.__path__ = [path] if path else []
        package.__package__ = name
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = package
    sys.modules["moelint"].runtime_probe = sys.modules["moelint.runtime_probe"]  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != FOLDER]
    install()
    code: int = importlib.import_module(f"moelint.runtime_probe.{sys.argv[1]}").main(sys.argv[2:])
    sys.exit(code)
