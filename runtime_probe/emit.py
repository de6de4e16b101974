"""Write a pytest file that reproduces one cell with the target's own code, and needs nothing but torch and pytest."""

from __future__ import annotations

import base64
import io
import json
import textwrap
import zipfile
from dataclasses import replace
from pathlib import Path

from moelint.runtime_probe.records import Job, Measurement

_FOLDER = Path(__file__).parent

_TEMPLATE = '''"""{title}

Measured on {device}: {numbers}
Expected: {expected}
{reason}
Run: ROOT={root} python -m pytest {name}   (needs torch and what the target imports at least)

The block is the target's own, built by its own __init__ and called through its own forward; routed and shared experts
are linear stand-ins on separate channels, so the output is the weight that each part arrived with. {emulated}
The harness is in ARCHIVE at the end (moelint's runtime_probe folder, zipped); it starts one child process.
"""

import base64
import io
import json
import os
import pathlib
import subprocess
import sys
import zipfile

ROOT = os.environ.get("ROOT", {root!r})
JOB = json.loads({job!r})
CELL = {cell!r}
EXPECTED = json.loads({want!r})
TOLERANCE = {tolerance!r}


def measured(folder):
    zipfile.ZipFile(io.BytesIO(base64.b64decode(ARCHIVE))).extractall(folder)
    script = pathlib.Path(folder, "runtime_probe", "boot.py")
    job = json.dumps({{**JOB, "root": str(pathlib.Path(ROOT).resolve())}})
    done = subprocess.run(
        [sys.executable, str(script), "once"], input=job, capture_output=True, text=True, cwd=folder, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    cells = {{one["cell"]: one for one in json.loads(done.stdout)}}
    assert CELL in cells, sorted(cells)
    return cells[CELL]


def test_every_part_has_the_weight_that_the_policy_asks_for(tmp_path):
    cell = measured(tmp_path)
    assert cell["measured"] is not None, cell["reason"]
    routed, shared = cell["measured"]["routed_exponent"], cell["measured"]["shared"]
    assert abs(routed - EXPECTED["routed_exponent"]) <= TOLERANCE, f"the factor acts {{routed}} times"
    if EXPECTED["baseline"] is not None:
        assert abs(cell["measured"]["baseline"] - EXPECTED["baseline"]) <= TOLERANCE
    if EXPECTED["shared"] is not None:
        assert all(abs(weight - EXPECTED["shared"]) <= TOLERANCE for weight in shared.values()), shared


ARCHIVE = """
{archive}
"""
'''


def test_file(job: Job, one: Measurement, name: str) -> str:
    """The text of the file. Raises ValueError for a cell without numbers."""
    if one.expected is None or one.measured is None:
        raise ValueError(f"{one.cell} was not measured: {one.reason}")
    unit = next((unit for unit in job.units if unit.path == one.path and unit.block == one.block), None)
    if unit is None:
        raise ValueError(f"{one.cell} is a cell of a layer around a block: no test is written for it")
    single = replace(job, units=(unit,), only=one.cell, device="cpu")
    return _TEMPLATE.format(
        title=f"{one.block} ({one.path}), {one.route}",
        device=one.device,
        numbers=f"routed exponent {one.measured.routed_exponent}, shared weights {one.measured.shared}",
        expected=f"routed exponent {one.expected.routed_exponent}, shared weight {one.expected.shared}",
        reason=one.reason,
        root=job.root,
        name=name,
        emulated=f"Emulated: {', '.join(one.emulated)}." if one.emulated else "Nothing is emulated.",
        job=json.dumps(single.as_dict()),
        cell=one.cell,
        want=json.dumps(one.as_dict()["expected"]),
        tolerance=one.tolerance,
        archive="\n".join(textwrap.wrap(archive(), 120)),
    )


def archive() -> str:
    """The probe's own folder, zipped, in base64."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for file in sorted(_FOLDER.rglob("*.py")):
            entry = zipfile.ZipInfo(f"runtime_probe/{file.relative_to(_FOLDER).as_posix()}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, file.read_bytes())
    return base64.b64encode(stream.getvalue()).decode()
