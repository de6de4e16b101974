"""Rename the top-level folders into the one import package; pyproject.toml holds everything else."""

from setuptools import find_packages, setup

ROOTS = {"linter": "moelint.linter", "rules": "moelint.rules", "runtime_probe": "moelint.runtime_probe"}

setup(
    packages=[
        "moelint",
        *ROOTS.values(),
        *(f"{name}.{sub}" for folder, name in ROOTS.items() for sub in find_packages(folder, exclude=["_entry*"])),
    ],
    package_dir={"moelint": "linter/_entry", **{name: folder for folder, name in ROOTS.items()}},
)
