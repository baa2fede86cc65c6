"""Read the teacher's page, and write what it takes from the lessons: minutes, goals, key points.

python tests/teaching.py          say whether the page is as the lessons are
python tests/teaching.py --fix    write those parts anew
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import lesson_frame
import notebook_form
import readme
from nbformat import NotebookNode

PAGE = readme.ROOT / "notebooks" / "TEACHING.md"


class Row(NamedTuple):
    """A row of a track: minutes, the lesson's file or "", and which part of it."""

    minutes: int
    lesson: str
    part: str


class Wrong(NamedTuple):
    """A usual wrong answer: the id of what was asked, the answer, and what to say."""

    id: str
    answer: str
    say: str


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def title(notebook: NotebookNode) -> str:
    """Return the heading of a lesson."""
    first: str = notebook.cells[0].source.partition("\n")[0]
    return first.removeprefix("# ").strip()


def headings(notebook: NotebookNode) -> list[str]:
    """Return the headings of a lesson's sections."""
    cells = lesson_frame.having(notebook.cells, "section")
    return [cell.source.partition("\n")[0].removeprefix("## ").strip() for _, cell in cells]


# --- what is written --------------------------------------------------------


def head(path: Path) -> list[str]:
    """Return what the page repeats of a lesson: its link, minutes, objectives and key points."""
    about = notebook_form.read(path).metadata["nvlearn"]
    teach, exercises = (about["minutes"][name] for name in ("teach", "exercises"))
    lines = [f"[Open the lesson]({path.name}). {teach} minutes to teach, {exercises} for the "
             "exercises and the quiz."]  # fmt: skip
    for name, said in (("objectives", "After this lesson you can"), ("key_points", "Key points")):
        lines += ["", f"**{said}**", "", *(f"- {item}" for item in about[name])]
    return lines


def current(page: str) -> str:
    """Return the page with these parts as the lessons are now."""
    for path in readme.lessons():
        page = readme.with_table(page, f"lesson {path.name[:2]}", head(path))
    return page


# --- what is read -----------------------------------------------------------


def part_under(page: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one of its level or a higher one."""
    level = heading.partition(" ")[0]
    pattern = rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)"
    found = re.search(pattern, page, re.M | re.S)
    return found[1] if found else ""


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(part: str) -> list[list[str]]:
    """Return the rows of all tables in a part, their heads left out."""
    pattern = r"^\|[^\n]*\|\n\|[-:| ]+\|\n((?:\|[^\n]*\|\n)+)"
    return [cells(line) for body in re.findall(pattern, part, re.M) for line in body.splitlines()]


def track(page: str, hours: int) -> tuple[list[Row], int]:
    """Return the rows of a track and the sum that it prints."""
    *rows, (total, *_) = tables(part_under(page, f"### {hours} hours"))
    made = []
    for minutes, lesson, part in rows:
        link = re.search(r"\]\(([^)]+)\)", lesson)
        made.append(Row(int(minutes), link[1] if link else "", part or lesson))
    return made, int(total.strip("*"))


def sections(part: str) -> list[tuple[str, int]]:
    """Return the sections that a lesson's part of the page lists, with their minutes."""
    found = re.findall(r"^\d+\. \*\*(.+?)\*\* \((\d+) min\)", part, re.M)
    return [(name, int(minutes)) for name, minutes in found]


def wrong_answers(part: str) -> list[Wrong]:
    """Return the usual wrong answers that a lesson's part of the page lists."""
    return [Wrong(id.strip("`"), answer, say) for id, answer, say in tables(part)]


def commands(page: str) -> list[str]:
    """Return the commands of nvlearn that the page names, from their first argument on."""
    code = re.findall(r"^```\w*\n(.*?)^```$|`([^`\n]+)`", page, re.M | re.S)
    pattern = r"(?:^|[\s/\\])nvlearn ([a-z][^\n>|&;#]*)"
    return [hit.strip() for pair in code for hit in re.findall(pattern, "\n".join(pair), re.M)]


def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub and JupyterLab give to the headings."""
    found = re.findall(r"^#+ (.+)$", lesson_frame.without_code(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def main(arguments: list[str]) -> int:
    """Check the page or write its parts; return the exit code."""
    if "--fix" in arguments:
        PAGE.write_text(current(text()), encoding="utf-8", newline="\n")
    if text() == current(text()):
        return 0
    print("TEACHING.md is not up to date; run: python tests/teaching.py --fix", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
