"""The profiles of a run, from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moelint.linter.errors import ConfigError
from moelint.linter.profile_loader import choose, load_file, profiles_for
from moelint.linter.settings import Known, Overrides, Settings, load

BUILT_IN: dict[str, dict[str, Any]] = {
    "generic": {"name": "generic", "factor": ["f"]},
    "engine": {"name": "engine", "packages": ["engine"], "factor": ["scale"], "answer_calls": ["ask"]},
}
KNOWN = Known((), BUILT_IN)


def settings(folder: Path, text: str) -> Settings:
    (folder / "pyproject.toml").write_text("[tool.moelint]\n" + text, "utf-8")
    return load(str(folder), known=KNOWN)


def test_without_settings_each_file_has_its_own() -> None:
    profiles = profiles_for(Settings("/"), BUILT_IN)
    assert choose("engine/a.py", b"", profiles).answer_calls == {"ask"}
    assert choose("a.py", b"", profiles).name == "generic"


def test_extension_speaks_in_place_of_its_base_and_where_there_is_no_sign(tmp_path: Path) -> None:
    own = settings(tmp_path, '[tool.moelint.profile]\nbase = "engine"\nfactor = ["s2"]\npackages = ["plugin"]\n')
    profiles = profiles_for(own, BUILT_IN)
    for path in ("engine/a.py", "plugin/a.py", "tests/a.py"):
        assert choose(path, b"", profiles).factor == {"scale", "s2"}
    assert BUILT_IN["engine"]["factor"] == ["scale"]


def test_extension_of_another_name_stands_beside_its_base(tmp_path: Path) -> None:
    text = '[tool.moelint.profile]\nbase = "engine"\nname = "fork"\nreplace = ["packages"]\npackages = ["fork"]\n'
    profiles = profiles_for(settings(tmp_path, text), BUILT_IN)
    assert choose("engine/a.py", b"", profiles).name == "engine"
    assert choose("fork/a.py", b"", profiles).name == "fork"
    assert choose("a.py", b"", profiles).name == "fork"


def test_whole_profile_in_the_settings(tmp_path: Path) -> None:
    text = '[tool.moelint.profile]\nname = "own"\nfactor = ["g"]\npackages = ["own"]\n'
    profiles = profiles_for(settings(tmp_path, text), BUILT_IN)
    assert choose("own/a.py", b"", profiles).factor == {"g"}
    assert choose("engine/a.py", b"", profiles).name == "engine"


def test_names_that_say_where_they_are_become_bare(tmp_path: Path) -> None:
    (tmp_path / "pk.py").write_text("class Top:\n    def asked(self): ...\n", "utf-8")
    own = settings(tmp_path, '[tool.moelint.profile]\nbase = "engine"\nanswer_names = ["pk:Top.asked"]\n')
    assert choose("a.py", b"", profiles_for(own, BUILT_IN)).answer_names == {"asked"}


def test_named_profile_speaks_of_every_file(tmp_path: Path) -> None:
    profiles = profiles_for(settings(tmp_path, 'profile = "engine"\n'), BUILT_IN)
    assert choose("a.py", b"", profiles).name == "engine"


def test_asking_for_the_base_gives_the_extension(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.moelint.profile]\nbase = "engine"\nfactor = ["s2"]\n', "utf-8")
    asked = load(str(tmp_path), Overrides(profile="engine"), KNOWN)
    assert choose("a.py", b"", profiles_for(asked, BUILT_IN)).factor == {"scale", "s2"}


class TestFile:
    def test_whole_and_extending_files(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('name = "mine"\nfactor = ["m"]\n', "utf-8")
        profiles = profiles_for(settings(tmp_path, 'profile = "mine.toml"\n'), BUILT_IN)
        assert choose("engine/a.py", b"", profiles).factor == {"m"}
        path.write_text('base = "engine"\nfactor = ["m"]\n', "utf-8")
        assert load_file(str(path), BUILT_IN)["factor"] == ["scale", "m"]

    def test_every_problem_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('base = "engin"\nfactors = []\nhelper_module = "nowhere.x"\n', "utf-8")
        with pytest.raises(ConfigError) as caught:
            load_file(str(path), BUILT_IN)
        assert caught.value.path == str(path)
        assert caught.value.problems == [
            "factors: unknown key; did you mean 'factor'?",
            "base: unknown profile 'engin'; did you mean 'engine'?",
            "helper_module: there is no package nowhere",
        ]

    def test_unreadable_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            load_file(str(tmp_path / "no.toml"), BUILT_IN)
        with pytest.raises(ConfigError, match="no file"):
            load(str(tmp_path), Overrides(profile=str(tmp_path / "no.toml")), KNOWN)
