"""Stand-ins for third-party packages that are not here, honest about being nothing.

Only an import that the target does not guard is answered; a guarded one fails as it would for a user. What is
fabricated can be named, subclassed and used as a decorator while modules are being imported. Executed later, it raises.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from moelint.runtime_probe.guards import is_guarded

_IMPORTLIB = "<frozen importlib"


class FabricatedCall(RuntimeError):
    """The target executed something that is only fabricated here: its value would be made up."""


class _Meta(type):
    """Makes a fabricated class answer to whatever is asked of a class at import time."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _fabricated(f"{cls.__module__}.{cls.__name__}.{name}")

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if not cls.__dict__.get("_is_fabricated"):
            return super().__call__(*arguments, **keywords)
        _refuse(f"{cls.__module__}.{cls.__name__}")
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], (types.FunctionType, type)):
            return arguments[0]
        return super().__call__()

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls

    def __getitem__(cls, key: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __contains__(cls, item: object) -> bool:
        return False

    def __len__(cls) -> int:
        return 0


class _Fabricated(metaclass=_Meta):
    """An instance: inert while importing, an error afterwards."""

    _is_fabricated = False
    _full = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __init_subclass__(cls, **_: Any) -> None:
        cls._is_fabricated = False

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        _refuse(self._full)
        if len(arguments) == 1 and not keywords and callable(arguments[0]):
            return arguments[0]
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _fabricated(f"{self._full}().{name}")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        return self

    def __index__(self) -> int:
        return 0

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __or__(self, other: Any) -> Any:
        return self

    def __ror__(self, other: Any) -> Any:
        return self

    def __lt__(self, other: Any) -> bool:
        return True

    def __le__(self, other: Any) -> bool:
        return True

    def __gt__(self, other: Any) -> bool:
        return False

    def __ge__(self, other: Any) -> bool:
        return False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


def _fabricated(full: str) -> Any:
    module, _, name = full.rpartition(".")
    made = _Meta(name or full, (_Fabricated,), {"__module__": module or "fabricated"})
    type.__setattr__(made, "_is_fabricated", True)
    type.__setattr__(made, "_full", full)
    return made


def _refuse(full: str) -> None:
    """Raise unless a module is being imported, when decorators and constants are made."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTLIB):
            return
        frame = frame.f_back
    raise FabricatedCall(f"{full} is not installed here and cannot be made up")


class FabricatedModule(types.ModuleType):
    """A missing package's module. A guarded import finds no name in it, so that the target falls back as for a user."""

    __version__ = "0.0.0+fabricated"
    _roots: tuple[str, ...] = ()
    """Sources whose guarded imports find nothing here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if self._roots and _importer(self._roots)[1]:
            raise AttributeError(f"{self.__name__} is not installed here")
        value = _fabricated(f"{self.__name__}.{name}")
        self.__dict__[name] = value
        return value


class Fabricator(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder asked: fabricates what the target's own sources import without a guard."""

    def __init__(self, roots: Sequence[str], targets: Sequence[str], emulated: Sequence[str] = ()) -> None:
        """`emulated`: packages that the emulated platform has, so that guarded imports of them succeed as well."""
        self._roots, self._targets, self._emulated = tuple(roots), frozenset(targets), frozenset(emulated)
        self.fabricated: dict[str, str] = {}
        """Module -> the place that imports it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for the fabricated module, or None where the truth is that it is missing."""
        top = fullname.partition(".")[0]
        if top in self._targets or top in sys.stdlib_module_names or top.startswith("_"):
            return None
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if parent is not None and not isinstance(parent, FabricatedModule):
            return None
        if _is_feature_test():
            return None
        place, guarded = _importer(self._roots)
        if place is None or (guarded and top not in self._emulated):
            return None
        self.fabricated.setdefault(fullname, place)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module that answers to every name."""
        module = FabricatedModule(spec.name)
        module.__path__ = []
        if spec.name.partition(".")[0] not in self._emulated:
            module.__dict__["_roots"] = self._roots
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def _importer(roots: tuple[str, ...]) -> tuple[str | None, bool]:
    """The place in the target that imports (None: it is not the target), and whether a place above is guarded."""
    place: str | None = None
    first, guarded = True, False
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_IMPORTLIB) and not name.endswith("importlib/__init__.py"):
            mine = name.startswith(roots)
            if first and mine:
                place = f"{name}:{frame.f_lineno}"
            first = False
            guarded = guarded or (mine and is_guarded(name, frame.f_lineno))
        frame = frame.f_back
    return place, guarded


def _is_feature_test() -> bool:
    """Whether `importlib.util.find_spec` asks, which only wants to know and must hear the truth."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORTLIB):
        if frame.f_code.co_filename == "<frozen importlib.util>":
            return True
        frame = frame.f_back
    return False
