"""Targets that misbehave in every way known never hang a run, corrupt its report or take other targets along."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from moelint.runtime_probe import runner
from moelint.runtime_probe.records import Job, Measurement, Unit
from moelint.runtime_probe.runner import Limits, Result

RunFiles = Callable[..., Result]


def by_path(result: Result) -> dict[str, Measurement]:
    """The measurements by the path of their target."""
    return {one.path: one for one in result.measurements}


RIGHT = """
class Column(list):
    def tolist(self): return self
class Output:
    def float(self): return self
    def __getitem__(self, place): return Column([1.0, 1.0])
def report(function, **wants): ...
def main():
    return report(Output, want_routed=1.0)
"""

HOSTILE = {
    "raises at import": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "is no Python": ("def (", "SyntaxError"),
    "loops": ("while True: pass", "time limit of 4 s"),
    "loops and swallows every exception": (
        "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass",
        "time limit of 4 s; the child had to be killed",
    ),
    "ignores the alarm": (
        "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
        "the child had to be killed",
    ),
    "allocates without end": ("hold = []\nwhile True: hold.append(bytearray(1 << 27))", "MemoryError"),
    "recurses without end": ("def f(): f()\nf()", "RecursionError"),
    "exits": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "exits hard": ("import os\nos._exit(0)", "the child exited with code 0 on its own"),
    "kills itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "the child was ended by SIGSEGV"),
    "kills its group": ("import os, signal\nos.killpg(0, signal.SIGKILL)", "the child was ended by SIGKILL"),
    "closes every descriptor": ("import os\nos.closerange(0, 4096)", "the child exited with code"),
    "asks for the network": (
        "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
        "NoNetwork: the probe runs its targets without network",
    ),
    "reads the standard input": ("import sys\nsys.stdin.read()", "ValueError"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_target_is_reported_and_its_neighbours_run(name: str, tmp_path: Path, run_files: RunFiles) -> None:
    source, expected = HOSTILE[name]
    (tmp_path / "first.py").write_text(RIGHT)
    (tmp_path / "hostile.py").write_text(source)
    (tmp_path / "last.py").write_text(RIGHT)
    limits = Limits(memory_bytes=1 << 30, grace_seconds=1.0)
    started = time.monotonic()
    table = by_path(run_files(tmp_path, "first.py", "hostile.py", "last.py", seconds=4.0, limits=limits))
    assert time.monotonic() - started < 60
    assert {path: measurement.verdict for path, measurement in table.items()} == {
        "first.py": "matches",
        "hostile.py": "not-run",
        "last.py": "matches",
    }
    assert expected in table["hostile.py"].reason


def test_a_target_that_prints_garbage_does_not_disturb_the_report(tmp_path: Path, run_files: RunFiles) -> None:
    garbage = 'import sys\nfor _ in range(20000):\n    print(\'{"record": "done"}\' * 40)\nsys.stdout.flush()\n'
    (tmp_path / "noisy.py").write_text(garbage + RIGHT)
    result = run_files(tmp_path, "noisy.py")
    assert by_path(result)["noisy.py"].verdict == "matches"
    assert result.garbage == 0


def test_garbage_on_every_descriptor_is_counted_and_dropped(tmp_path: Path, run_files: RunFiles) -> None:
    scribble = (
        "import os\n"
        "for number in range(3, 300):\n"
        "    for text in (b'garbage', b'\\n[1, 2]\\n', b'{\"record\": \"cell\", \"cell\": {}}\\n', b'\\xff\\n'):\n"
        "        try: os.write(number, text)\n"
        "        except OSError: pass\n"
    )
    (tmp_path / "scribbler.py").write_text(scribble + RIGHT)
    (tmp_path / "last.py").write_text(RIGHT)
    result = run_files(tmp_path, "scribbler.py", "last.py")
    assert {path: one.verdict for path, one in by_path(result).items()} == {
        "scribbler.py": "matches",
        "last.py": "matches",
    }
    assert result.garbage >= 3


def test_a_target_may_delete_its_folder(tmp_path: Path, run_files: RunFiles) -> None:
    source = (
        "import os, shutil, tempfile\n"
        "shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)\n"
        "shutil.rmtree(os.environ['TRITON_CACHE_DIR'], ignore_errors=True)\n"
    )
    (tmp_path / "deleter.py").write_text(source + RIGHT)
    (tmp_path / "last.py").write_text(RIGHT)
    table = by_path(run_files(tmp_path, "deleter.py", "last.py"))
    assert {path: one.verdict for path, one in table.items()} == {"deleter.py": "matches", "last.py": "matches"}


def test_processes_that_a_target_leaves_behind_are_ended(tmp_path: Path, run_files: RunFiles) -> None:
    note = tmp_path / "pid"
    source = f"import subprocess\nopen({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid))\n"
    (tmp_path / "forks.py").write_text(source + RIGHT)
    assert by_path(run_files(tmp_path, "forks.py"))["forks.py"].verdict == "matches"
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(int(note.read_text()), 0)
            if Path(f"/proc/{note.read_text()}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                raise ProcessLookupError
            time.sleep(0.05)


def test_a_child_sees_none_of_the_callers_variables(
    tmp_path: Path, run_files: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    (tmp_path / "reads.py").write_text("import os\nassert 'SECRET_TOKEN' not in os.environ\n" + RIGHT)
    assert by_path(run_files(tmp_path, "reads.py"))["reads.py"].verdict == "matches"


def test_a_framework_that_cannot_start_makes_every_unit_not_run(tmp_path: Path) -> None:
    units = (Unit("a.py", "A"), Unit("b.py", "B"))
    result = runner.run(Job("no such framework", str(tmp_path), "cpu", "cpu", units))
    assert [(one.path, one.verdict) for one in result.measurements] == [("a.py", "not-run"), ("b.py", "not-run")]
    assert all("no adapter for 'no such framework'" in one.reason for one in result.measurements)
