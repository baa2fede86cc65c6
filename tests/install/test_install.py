"""README's commands and the wheel, each in a fresh environment made from a clean copy."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import readme
from browser import lab
from install.fresh import BIN, PATIENCE, clean_environment, run

pytestmark = pytest.mark.install

PRINTED = "093bda21863d6a1473b77078b55e938bbb34aeffe5ee59d4750c2e1f81eb995b"


@pytest.fixture
def opened(copy: Path, tmp_path: Path) -> Iterator[lab.Lab]:
    """Run the command that opens the course, without a browser and on a port of its own."""
    served = lab.Lab(f"http://127.0.0.1:{lab.free_port()}", "for-this-test", copy / "notebooks")
    own = {key: value for key, value in lab.own_environment(tmp_path).items() if "JUPYTER" in key}
    env = {**clean_environment(), **own}
    env |= {"JUPYTER_PORT": served.address.rpartition(":")[2], "JUPYTER_TOKEN": served.token}
    line = readme.open_command(readme.text()) + " --no-browser"
    log = tmp_path / "server.log"
    with lab.running(["bash", "-c", line], env, copy, log) as process:
        lab.wait_until_up(served, process, log, PATIENCE)
        yield served


def test_the_first_command_opens_the_course(opened: lab.Lab) -> None:
    listed = {item["name"] for item in opened.ask("api/contents")["content"]}
    assert {path.name for path in readme.lessons()} <= listed
    assert opened.ask("api/kernelspecs")["default"] == "python3"


def test_the_second_command_tests_it(copy: Path) -> None:
    line = readme.pytest_command(readme.text())
    said = run(["bash", "-c", f"{line} -q tests/test_units.py"], copy)
    assert " passed" in said
    collected = run([f".venv/{BIN}/python", "-m", "pytest", "-q", "--collect-only"], copy)
    for lesson in readme.lessons():
        assert f"notebooks/{lesson.name}::Cell 0" in collected


def test_the_wheel_works_alone(copy: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", "fresh"], tmp_path)
    python = str(tmp_path / "fresh" / BIN / "python")
    run([python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "wheels", str(copy)], tmp_path)
    (wheel,) = (tmp_path / "wheels").glob("nvlearn-*.whl")
    run([python, "-m", "pip", "install", str(wheel)], tmp_path)
    said = run([str(tmp_path / "fresh" / BIN / "nvlearn"), "demo", "--as-printed"], tmp_path)
    assert hashlib.sha256(said.encode("utf-8")).hexdigest() == PRINTED
