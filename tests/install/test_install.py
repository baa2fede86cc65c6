"""README's commands and the wheel, each in a fresh environment made from a clean copy."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import readme
from browser import lab
from install.fresh import BIN, PATIENCE, clean_environment, run

from nvlearn import __version__

pytestmark = pytest.mark.install

PRINTED = "093bda21863d6a1473b77078b55e938bbb34aeffe5ee59d4750c2e1f81eb995b"


@contextmanager
def opened(line: str, cwd: Path, own: Path, folder: Path) -> Iterator[lab.Lab]:
    """Run a command that opens a folder in JupyterLab, without a browser, on a port of its own."""
    served = lab.Lab(f"http://127.0.0.1:{lab.free_port()}", "for-this-test", folder)
    keep = {key: value for key, value in lab.own_environment(own).items() if "JUPYTER" in key}
    env = {**clean_environment(), **keep}
    env |= {"JUPYTER_PORT": served.address.rpartition(":")[2], "JUPYTER_TOKEN": served.token}
    log = own / "server.log"
    with lab.running(["bash", "-c", f"{line} --no-browser"], env, cwd, log) as process:
        lab.wait_until_up(served, process, log, PATIENCE)
        yield served


def test_the_first_command_opens_the_course(copy: Path, tmp_path: Path) -> None:
    line = readme.open_command(readme.text())
    with opened(line, copy, tmp_path, copy / "notebooks") as served:
        listed = {item["name"] for item in served.ask("api/contents")["content"]}
        assert {path.name for path in readme.lessons()} <= listed
        assert served.ask("api/kernelspecs")["default"] == "python3"


def test_the_second_command_tests_it(copy: Path) -> None:
    line = readme.pytest_command(readme.text())
    said = run(["bash", "-c", f"{line} -q tests/test_units.py"], copy)
    assert " passed" in said
    collected = run([f".venv/{BIN}/python", "-m", "pytest", "-q", "--collect-only"], copy)
    for lesson in readme.lessons():
        assert f"notebooks/{lesson.name}::Cell 0" in collected


def test_the_wheel_works_alone(copy: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", "fresh"], tmp_path)
    inside = tmp_path / "fresh" / BIN
    run([str(inside / "pip"), "install", "build"], tmp_path)
    # The wheel is made from the sdist, so both hold all of it.
    run([str(inside / "python"), "-m", "build", "--outdir", "dist", str(copy)], tmp_path)
    (wheel,) = (tmp_path / "dist").glob("nvlearn-*.whl")
    run([str(inside / "pip"), "install", str(wheel)], tmp_path)
    said = run([str(inside / "nvlearn"), "demo", "--as-printed"], tmp_path)
    assert hashlib.sha256(said.encode("utf-8")).hexdigest() == PRINTED
    assert "01-01" in run([str(inside / "nvlearn"), "quiz", "moodle"], tmp_path)
    lessons = tmp_path / f"nvlearn-course-{__version__}" / "notebooks"
    with opened(str(inside / "nvlearn lab"), tmp_path, tmp_path, lessons) as served:
        listed = {item["name"] for item in served.ask("api/contents")["content"]}
        assert {path.name for path in readme.lessons()} <= listed
    executed = run(
        [str(inside / "jupyter"), "execute", str(lessons / "02_what_is_nvlink.ipynb")], lessons
    )
    assert "Traceback" not in executed
