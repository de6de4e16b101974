"""Settings: where they are read from, what they mean, and everything that is wrong with them in one message."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moelint.linter import config_file
from moelint.linter.config_keys import KEYS
from moelint.linter.defaults import CACHE, EXCLUDE
from moelint.linter.errors import ConfigError
from moelint.linter.registry import profile_data
from moelint.linter.settings import Known, Overrides, Selection, Settings, from_table, load
from moelint.linter.validate import settings_problems


class Rule(NamedTuple):
    code: str
    name: str
    family: str


GUARD = Rule("MOE401", "guard-not-asking", "guards")
GUARD_2 = Rule("MOE402", "guard-not-equivalent", "guards")
SLOT = Rule("MOE201", "slot-weight-decided", "shared-weight")
KNOWN = Known((GUARD, GUARD_2, SLOT), profile_data())


def write(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def read(folder: Path, text: str, overrides: Overrides | None = None) -> Settings:
    write(folder, "[tool.moelint]\n" + text)
    return load(str(folder), overrides or Overrides(), KNOWN)


def problems(table: dict[str, Any], root: str = ".") -> list[str]:
    return settings_problems(table, "", root, KNOWN)


class TestWhere:
    def test_nearest_file_speaks(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.moelint]\njobs = 1\n")
        near = write(tmp_path / "a", "[tool.moelint]\njobs = 2\n")
        (tmp_path / "a" / "b").mkdir()
        settings = load(str(tmp_path / "a" / "b" / "x.py"), known=KNOWN)
        assert (settings.jobs, settings.config, settings.root) == (2, str(near), str(tmp_path / "a"))

    def test_file_without_settings_is_passed_over(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.moelint]\njobs = 1\n")
        write(tmp_path / "a", "[project]\ndependencies = ['moelint']\n")
        write(tmp_path / "a" / "b", "[tool.ruff]\n")
        assert load(str(tmp_path / "a" / "b"), known=KNOWN).jobs == 1

    def test_every_spelling_of_the_table_is_found(self, tmp_path: Path) -> None:
        for text in ("tool = {moelint = {jobs = 3}}", "[tool]\nmoelint.jobs = 3", '[tool."moelint"]\njobs = 3'):
            write(tmp_path, text)
            assert load(str(tmp_path), known=KNOWN).jobs == 3

    def test_own_file_wins_over_pyproject(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.moelint]\njobs = 1\n")
        write(tmp_path, "jobs = 2\n", "moelint.toml")
        assert load(str(tmp_path), known=KNOWN).jobs == 2

    def test_named_file_and_isolated(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.moelint]\njobs = 1\n")
        named = write(tmp_path / "ci", "jobs = 2\n", "strict.toml")
        assert load(str(tmp_path), Overrides(config=str(named)), KNOWN).jobs == 2
        assert load(str(tmp_path), Overrides(isolated=True), KNOWN).jobs == 0

    def test_named_file_elsewhere_does_not_move_the_patterns(self, tmp_path: Path) -> None:
        named = write(tmp_path / "ci", 'exclude = ["/gen"]\n', "strict.toml")
        (tmp_path / "src").mkdir()
        settings = load(str(tmp_path / "src"), Overrides(config=str(named)), KNOWN)
        assert settings.is_excluded(str(tmp_path / "src" / "gen" / "x.py"))

    def test_named_file_must_exist_and_hold_settings(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            load(".", Overrides(config=str(tmp_path / "no.toml")), KNOWN)
        path = write(tmp_path, "[tool.ruff]\n")
        with pytest.raises(ConfigError, match=r"no table \[tool.moelint\]"):
            load(".", Overrides(config=str(path)), KNOWN)

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"[tool.moelint\n", "not valid TOML"),
            (b"# moelint \xff\n", "not UTF-8 at byte 10"),
            (b"[tool]\nmoelint = 3\n", "tool.moelint: expected a table"),
            (b"moelint = " + b"[" * 100_000, "not valid TOML"),
        ],
    )
    def test_broken_file_is_one_problem(self, tmp_path: Path, data: bytes, words: str) -> None:
        path = tmp_path / "pyproject.toml"
        path.write_bytes(data)
        with pytest.raises(ConfigError) as caught:
            load(str(tmp_path), known=KNOWN)
        assert caught.value.path == str(path)
        assert len(caught.value.problems) == 1
        assert words in str(caught.value)

    def test_nothing_is_imported_where_there_is_nothing_to_read(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.ruff]\n")
        code = (
            f"import sys; from moelint.linter import config_file; config_file.find({str(tmp_path)!r});"
            "print({'tomllib', 'tomli', 'dataclasses', 'moelint.linter.validate'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "set()\n"


class TestValues:
    def test_defaults(self, tmp_path: Path) -> None:
        settings = load(str(tmp_path), Overrides(isolated=True), KNOWN)
        assert settings.exclude == EXCLUDE
        assert settings.cache_dir == CACHE
        assert settings.profile == "auto"
        assert all(settings.is_enabled(rule) for rule in KNOWN.rules)
        assert settings.severity_of(GUARD) is None
        assert not settings.require_reason

    def test_defaults_of_the_table_are_the_defaults_of_the_dataclass(self, tmp_path: Path) -> None:
        defaults = {key.name: key.default for key in KEYS if key.default is not None}
        written = from_table(defaults, str(tmp_path / "moelint.toml"), KNOWN)
        silent = from_table({}, str(tmp_path / "moelint.toml"), KNOWN)
        assert {rule: written.is_enabled(rule) for rule in KNOWN.rules} == dict.fromkeys(KNOWN.rules, True)
        for name in Settings._fields:
            if name != "layers":
                assert getattr(written, name) == getattr(silent, name), name

    @pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
    def test_every_example_is_accepted_and_names_its_key(self, key: Any, tmp_path: Path) -> None:
        table = config_file.read_toml("example", key.example.encode())
        assert list(table) == [key.name]
        path = str(tmp_path / "moelint.toml")
        assert from_table(table, path) != from_table({}, path)

    def test_paths_are_relative_to_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").touch()
        settings = read(tmp_path, 'cache-dir = ".c"\nprofile = "mine.toml"\n')
        assert settings.cache_dir == str(tmp_path / ".c")
        assert settings.profile == str(tmp_path / "mine.toml")

    def test_single_output_and_list_of_outputs(self, tmp_path: Path) -> None:
        assert read(tmp_path, 'output = "json"').output == ("json",)
        assert read(tmp_path, 'output = ["full", "json:a.json"]').output == ("full", "json:a.json")

    def test_settings_travel_to_workers(self, tmp_path: Path) -> None:
        settings = read(tmp_path, 'ignore = ["guards"]\nper-file-ignores = {a = ["MOE201"]}\n')
        assert pickle.loads(pickle.dumps(settings)) == settings

    def test_exclude_replaces_and_extends(self, tmp_path: Path) -> None:
        assert read(tmp_path, 'exclude = ["a"]\nextend-exclude = ["b"]').exclude == ("a", "b")
        settings = read(tmp_path, 'extend-exclude = ["gen/*.py"]')
        assert settings.is_excluded(str(tmp_path / "gen" / "x.py"))
        assert settings.is_excluded(str(tmp_path / "a" / ".venv" / "x.py"))
        assert not settings.is_excluded(str(tmp_path / "a" / "gen" / "x.py"))

    def test_folders_above_the_root_do_not_exclude(self, tmp_path: Path) -> None:
        settings = read(tmp_path / "build", "")
        assert not settings.is_excluded(str(tmp_path / "build" / "x.py"))

    def test_per_file_ignores_add_up(self, tmp_path: Path) -> None:
        settings = read(tmp_path, 'per-file-ignores = {"a/**" = ["guards"], "*.py" = ["MOE201"], "b" = ["all"]}')
        assert settings.ignored_in(str(tmp_path / "a" / "x.py")) == ("guards", "MOE201")
        assert settings.ignored_in(str(tmp_path / "c" / "x.pyi")) == ()
        assert settings.patterns_for(str(tmp_path / "b" / "x.pyi")) == ("b",)

    def test_severity_of_the_most_particular_selector(self, tmp_path: Path) -> None:
        settings = read(tmp_path, 'severity = {MOE401 = "note", guards = "warning", all = "error"}')
        assert [settings.severity_of(rule) for rule in KNOWN.rules] == ["note", "warning", "error"]


class TestSelection:
    def chosen(self, *layers: Selection) -> list[str]:
        settings = Settings("/", layers=layers)
        return [rule.code for rule in KNOWN.rules if settings.is_enabled(rule)]

    def test_select_leaves_out_the_rest(self) -> None:
        assert self.chosen(Selection(select=("guards",))) == ["MOE401", "MOE402"]
        assert self.chosen(Selection(select=())) == []

    def test_extend_select_adds(self) -> None:
        assert self.chosen(Selection(select=("MOE401",), extend_select=("slot-weight-decided",))) == [
            "MOE401",
            "MOE201",
        ]

    def test_the_more_particular_selector_wins(self) -> None:
        assert self.chosen(Selection(select=("MOE401",), ignore=("guards",))) == ["MOE401"]
        assert self.chosen(Selection(select=("guards",), ignore=("MOE401",))) == ["MOE402"]
        assert self.chosen(Selection(select=("guards",), ignore=("all",))) == ["MOE401", "MOE402"]

    def test_of_two_equals_the_one_that_ignores_wins(self) -> None:
        assert self.chosen(Selection(select=("MOE401",), ignore=("guard-not-asking",))) == []
        assert self.chosen(Selection(extend_select=("guards",), extend_ignore=("guards",))) == ["MOE201"]

    def test_the_command_line_overrules_the_file(self) -> None:
        below = Selection(ignore=("MOE401", "MOE201"))
        assert self.chosen(below, Selection(select=("MOE401",))) == ["MOE401"]
        assert self.chosen(below, Selection(extend_select=("MOE401",))) == ["MOE401", "MOE402"]
        assert self.chosen(below, Selection(ignore=("MOE402",))) == []


class TestOverrides:
    def test_each_override_is_taken(self, tmp_path: Path) -> None:
        text = 'jobs = 1\nprofile = "sglang"\nexclude = ["a"]\noutput = "full"\nper-file-ignores = {a = ["all"]}\n'
        overrides = Overrides(
            extend_exclude=("b",),
            per_file_ignores={"c": ("guards",)},
            severity={"guards": "note"},
            profile="vllm",
            cache_dir="x",
            jobs=4,
            output=("json",),
            require_reason=True,
        )
        settings = read(tmp_path, text, overrides)
        assert settings.exclude == ("a", "b")
        assert dict(settings.per_file_ignores) == {"a": ("all",), "c": ("guards",)}
        assert settings.severity_of(GUARD) == "note"
        assert (settings.profile, settings.cache_dir, settings.jobs) == ("vllm", "x", 4)
        assert (settings.output, settings.require_reason) == (("json",), True)

    def test_exclude_replaces_and_no_cache(self, tmp_path: Path) -> None:
        settings = read(tmp_path, 'exclude = ["a"]\n', Overrides(exclude=("b",), no_cache=True))
        assert settings.exclude == ("b",)
        assert settings.cache_dir is None

    def test_all_problems_of_the_command_line_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            read(tmp_path, "", Overrides(select=("MOE04",), extend_exclude=("a[",), profile="sglagn", jobs=-1))
        assert caught.value.path == "command line"
        assert [problem.split(":")[0] for problem in caught.value.problems] == [
            "--select[0]",
            "--extend-exclude[0]",
            "--profile",
            "--jobs",
        ]


class TestProblems:
    def test_all_at_once_with_file_and_key(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            read(tmp_path, 'selct = ["all"]\nignore = ["MOE41", 3]\njobs = "x"\nprofile = "sglag"\n')
        path = tmp_path / "pyproject.toml"
        assert str(caught.value).splitlines() == [
            f"{path}: tool.moelint.selct: unknown key; did you mean 'select'?",
            f"{path}: tool.moelint.ignore[0]: unknown rule or family 'MOE41'; did you mean 'MOE401'?",
            f"{path}: tool.moelint.ignore[1]: expected a string, not 3",
            f"{path}: tool.moelint.jobs: expected an integer, 0 or more, not 'x'",
            f"{path}: tool.moelint.profile: unknown profile 'sglag'; did you mean 'sglang'?",
        ]

    @pytest.mark.parametrize(
        ("key", "value", "words"),
        [
            ("select", "all", "select: expected a list of rules, not 'all'"),
            ("ignore", ["guard"], "ignore[0]: unknown rule or family 'guard'; did you mean 'guards'?"),
            ("ignore", ["guard_not_asking"], "did you mean 'guard-not-asking'?"),
            ("exclude", ["a{b}"], "exclude[0]: bad pattern 'a{b}': braces"),
            ("per-file-ignores", {"a[": ["x"]}, 'per-file-ignores."a[": bad pattern'),
            ("per-file-ignores", {"a": ["x"]}, "per-file-ignores.\"a\"[0]: unknown rule or family 'x'"),
            ("per-file-ignores", ["a"], "per-file-ignores: expected a table"),
            (
                "severity",
                {"guards": "warn"},
                "severity.guards: expected one of error, warning, note, not 'warn'; did you",
            ),
            ("severity", {"guards": 3}, "severity.guards: expected one of"),
            ("severity", {"gards": "note"}, "severity.gards: unknown rule or family 'gards'; did you mean 'guards'?"),
            ("severity", 1, "severity: expected a table"),
            ("profile", 1, "profile: expected a name, a file or a table"),
            ("profile", "no/such.toml", "profile: there is no file 'no/such.toml'"),
            ("cache-dir", "", "cache-dir: expected a path"),
            ("jobs", True, "jobs: expected an integer"),
            ("jobs", -1, "jobs: expected an integer"),
            ("output", ["jsn"], "output[0]: unknown format 'jsn'; did you mean 'json'?"),
            ("output", ["json", "full"], "output: two"),
            ("output", 3, "output: expected a list of reports"),
            ("require-reason", 1, "require-reason: expected true or false"),
            ("require_reason", True, "require_reason: unknown key; did you mean 'require-reason'?"),
        ],
    )
    def test_each_kind_of_problem(self, key: str, value: object, words: str) -> None:
        found = problems({key: value})
        assert any(words in problem for problem in found), found

    def test_long_values_are_cut(self) -> None:
        assert len(problems({"jobs": "x" * 1000})[0]) < 150


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([key.name for key in KEYS]) | st.text(max_size=8)


@given(st.dictionaries(NAMES, PLAIN, max_size=5))
def test_any_table_is_settings_or_a_config_error(table: dict[str, Any]) -> None:
    try:
        settings = from_table(table, "/nowhere/moelint.toml", KNOWN)
    except ConfigError as error:
        assert error.problems
        assert all(isinstance(problem, str) and problem for problem in error.problems)
    else:
        assert settings.root == "/nowhere"
        settings.is_excluded("/nowhere/a.py")
        settings.ignored_in("/nowhere/a.py")


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: b"[tool.moelint]\n" + text.encode()))
def test_any_bytes_are_toml_or_a_config_error(data: bytes) -> None:
    try:
        config_file.read_toml("x", data)
    except ConfigError as error:
        assert len(error.problems) == 1
