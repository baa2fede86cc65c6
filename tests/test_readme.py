"""README says what is there: commands, lessons, modules, links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import readme

ROOT = readme.ROOT


def first_cells(text: str) -> list[str]:
    """Return the paths that stand in the first column of a table."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.M)


def local_links(text: str) -> list[str]:
    """Return the targets of links and pictures that lie in the repository."""
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def test_tables_are_up_to_date() -> None:
    assert readme.text() == readme.current(readme.text()), "run: python tests/readme.py --fix"


def test_every_path_and_link_exists() -> None:
    text = readme.text()
    paths = first_cells(text) + local_links(text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_badge_opens_the_first_lesson_of_the_main_branch() -> None:
    (query,) = re.findall(
        r"\(https://mybinder\.org/v2/gh/[\w-]+/[\w-]+/main\?(\S+)\)", readme.text()
    )
    (path,) = parse_qs(query)["labpath"]
    assert ROOT / path == readme.lessons()[0]


def test_every_module_is_in_the_map() -> None:
    modules = {
        path.relative_to(ROOT).as_posix().removesuffix("__init__.py")
        for path in (ROOT / "nvlearn").rglob("*.py")
    }
    assert modules <= set(first_cells(readme.text()))


@pytest.mark.parametrize("command", [readme.open_command, readme.pytest_command])
def test_a_command_is_one_line_that_makes_its_environment(command) -> None:
    line = command(readme.text())
    assert "\n" not in line
    assert shlex.split(line)[:4] == ["python3", "-m", "venv", ".venv"]


def test_every_shell_has_both_commands() -> None:
    for language in ("bash", "powershell"):
        blocks = readme.commands(readme.text(), language)
        assert sum("nvlearn lab" in block for block in blocks) == 1
        assert sum(block.endswith("pytest") for block in blocks) == 1


def test_the_checks_can_fail(tmp_path: Path) -> None:
    package = tmp_path / "nvlearn"
    package.mkdir()
    (package / "units.py").write_text('"""Sizes\nand rates.\n\nMore."""', encoding="utf-8")
    (package / "__init__.py").write_text('"""P."""', encoding="utf-8")
    table = readme.code_map(package)
    assert table[2:] == ["| `nvlearn/` | P. |", "| `nvlearn/units.py` | Sizes and rates. |"]
    text = "<!-- map -->\nstale words\n<!-- end of map -->\n[a](b.md) [c](https://d)\n"
    changed = readme.with_table(text, "map", table)
    assert "stale words" not in changed
    assert first_cells(changed) == ["nvlearn/", "nvlearn/units.py"]
    assert local_links(changed) == ["b.md"]
