"""Read README's commands, and write its two tables: the lessons and the map of the code.

python tests/readme.py          say whether the tables are as the repository is
python tests/readme.py --fix    write them anew
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import architecture
import lesson_frame
import notebook_form

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def text() -> str:
    return README.read_text(encoding="utf-8")


def commands(readme: str, language: str = "bash") -> list[str]:
    """Return the fenced blocks of a shell, in order."""
    return [block.rstrip("\n") for block in lesson_frame.fences(readme, language)]


def open_command(readme: str) -> str:
    """Return the command that opens the course."""
    return next(line for line in commands(readme) if "nvlearn lab" in line)


def pytest_command(readme: str) -> str:
    """Return the command that runs the tests."""
    return next(line for line in commands(readme) if line.endswith("pytest"))


def lesson_table(paths: list[Path]) -> list[str]:
    """Return the table of the lessons: title, minutes and objectives as the notebooks say them."""
    rows = ["| lesson | minutes | exercises and quiz | after it you can |", "|---|--:|--:|---|"]
    for path in paths:
        notebook = notebook_form.read(path)
        title = re.match(r"# (.+)", notebook.cells[0].source)
        name = title[1].strip() if title else path.stem
        number = path.name[:2]
        label = name if name.startswith(number) else f"{number} {name}"
        told = notebook.metadata.get("nvlearn", {})
        minutes, aims = told.get("minutes", {}), told.get("objectives", [])
        link = path.relative_to(ROOT).as_posix()
        times = " | ".join(str(minutes.get(key)) for key in ("teach", "exercises"))
        rows.append(f"| [{label}]({link}) | {times} | {'; '.join(aims)} |")
    return rows


def code_map(package: Path) -> list[str]:
    """Return the table of the modules, low rows first, each with its own first sentence."""
    rows = ["| module | what it holds |", "|---|---|"]
    order = {name: place for place, name in enumerate(architecture.ROWS)}

    def place(module: Path) -> tuple[int, str]:
        name = architecture.part(package, module)
        return order.get(name, -1 if name == "__init__" else len(order)), str(module)

    for module in sorted(architecture.modules(package), key=place):
        name = module.relative_to(package.parent).as_posix().removesuffix("__init__.py")
        said = ast.get_docstring(architecture.parse(module)) or ""
        sentence = " ".join(said.split("\n\n")[0].split())
        rows.append(f"| `{name}` | {sentence} |")
    return rows


def with_table(readme: str, name: str, rows: list[str]) -> str:
    """Put a table between its two marks."""
    marks = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
    body = marks[0] + "\n".join(rows) + "\n" + marks[1]
    return re.sub(pattern, lambda _: body, readme, count=1, flags=re.S)


def lessons() -> list[Path]:
    """Return the lessons, the quiz notebooks left out."""
    found = notebook_form.notebooks()
    return [path for path in found if lesson_frame.LESSON.fullmatch(path.name)]


def current(readme: str) -> str:
    """Return README with its tables as the repository is now."""
    readme = with_table(readme, "lessons", lesson_table(lessons()))
    return with_table(readme, "map of the code", code_map(ROOT / "nvlearn"))


def main(arguments: list[str]) -> int:
    """Check the tables or write them; return the exit code."""
    wanted = current(text())
    if "--fix" in arguments:
        README.write_text(wanted, encoding="utf-8", newline="\n")
    if text() == wanted:
        return 0
    print("README's tables are not up to date; run: python tests/readme.py --fix", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
