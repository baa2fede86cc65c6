"""What Binder builds, without Docker: its pins in a fresh environment, and its build plan."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest
import readme
from install.fresh import BIN, run
from packaging.requirements import Requirement

FOLDER = readme.ROOT / "binder"
VERSION = (FOLDER / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-")

pytestmark = pytest.mark.install


def pins() -> dict[str, str]:
    """Return the exact version of each package, by its name in lower case."""
    lines = (FOLDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if line and not line.startswith(("#", "--only-binary"))]
    return {name.lower(): version for name, version in (line.split("==") for line in told)}


def test_every_dependency_is_pinned_in_its_range() -> None:
    project = tomllib.loads((readme.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(text) for text in project["dependencies"]]
    assert [w.name for w in wanted if not w.specifier.contains(pins()[w.name.lower()])] == []
    assert Requirement(f"python{project['requires-python']}").specifier.contains(f"{VERSION}.0")


def test_a_lesson_runs_with_the_pins(copy: Path, tmp_path: Path) -> None:
    assert f"{sys.version_info.major}.{sys.version_info.minor}" == VERSION
    run([sys.executable, "-m", "venv", "binder"], tmp_path)
    inside = tmp_path / "binder" / BIN
    run([str(inside / "pip"), "install", "-r", str(copy / "binder" / "requirements.txt")], tmp_path)
    run([str(inside / "pip"), "install", "--no-deps", str(copy)], tmp_path)
    run([str(inside / "pip"), "check"], tmp_path)
    lesson = next((copy / "notebooks").glob("01_*.ipynb"))
    command = [inside / "jupyter", "execute", lesson, f"--output={tmp_path / 'executed.ipynb'}"]
    run([*map(str, command)], lesson.parent)
    assert "Traceback" not in (tmp_path / "executed.ipynb").read_text(encoding="utf-8")


def test_the_build_plan_has_the_version_and_the_pins(copy: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", "tool"], tmp_path)
    inside = tmp_path / "tool" / BIN
    run([str(inside / "pip"), "install", "jupyter-repo2docker"], tmp_path)
    command = [str(inside / "jupyter-repo2docker"), "--no-build", "--debug", str(copy)]
    plan = run(command, tmp_path, apart=False)
    assert f"environment for python={VERSION}\n" in plan
    pip = 'RUN ${KERNEL_PYTHON_PREFIX}/bin/pip install --no-cache-dir -r "binder/requirements.txt"'
    before = plan.index("COPY --chown=0:0 src/ ${REPO_DIR}/")
    assert plan.index(pip) < before < plan.index("RUN ./binder/postBuild")
    assert os.access(copy / "binder" / "postBuild", os.X_OK)
