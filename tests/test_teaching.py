"""The teacher's page says what the lessons say: pages, minutes, tracks, wrong answers, commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import lesson_frame
import notebook_form
import pytest
import readme
import teaching

from nvlearn import answers, cli
from nvlearn.quiz import bank

TEXT = teaching.text()
LESSONS = {path.name: notebook_form.read(path) for path in readme.lessons()}
HOURS = (2, 4, 8)
TEACH, EXERCISES, LONGEST = "teach", "exercises and quiz", 90
PAUSES = ("break", "lunch", "close")
each_lesson = pytest.mark.parametrize("name", LESSONS)


def minutes(name: str) -> dict[str, int]:
    return dict(LESSONS[name].metadata["nvlearn"]["minutes"])


def page(name: str) -> str:
    return teaching.part_under(TEXT, f"### {teaching.title(LESSONS[name])}")


def numbered(answer: str) -> str:
    """Return the number with which a wrong answer begins."""
    found = re.match(r"[\d.,]*\d", answer)
    assert found, f"{answer!r} does not begin with a number"
    return found[0].replace(",", "")


# --- the lessons ------------------------------------------------------------


def test_the_page_is_up_to_date() -> None:
    assert teaching.current(TEXT) == TEXT, "run: python tests/teaching.py --fix"


@each_lesson
def test_a_lesson_has_its_page(name: str) -> None:
    about = LESSONS[name].metadata["nvlearn"]
    items = re.findall(r"^- (.+)$", page(name).partition("<!-- end of")[0], re.M)
    assert items == [*about["objectives"], *about["key_points"]]
    for part in ("**The one idea.** ", "**Late?** "):
        assert part in page(name)


@each_lesson
def test_the_sections_fill_the_minutes(name: str) -> None:
    sections = teaching.sections(page(name))
    assert [heading for heading, _ in sections] == teaching.headings(LESSONS[name])
    assert sum(length for _, length in sections) == minutes(name)["teach"]
    assert sum(minutes(name).values()) <= LONGEST


def test_every_page_is_that_of_a_lesson() -> None:
    pages = re.findall(r"^### (\d\d · .+)$", TEXT, re.M)
    assert pages == [teaching.title(notebook) for notebook in LESSONS.values()]


@each_lesson
def test_wrong_answers_are_wrong(name: str) -> None:
    listed = teaching.wrong_answers(page(name))
    assert len(listed) >= 5
    for wrong in listed:
        assert wrong.id[:2] == name[:2]
        assert wrong.say
        entry = next((t[wrong.id] for t in map(answers.table, ("predictions", "exercises"))
                      if wrong.id in t), None)  # fmt: skip
        if entry:
            _, _, right, slip = answers.judge(entry, numbered(wrong.answer))
            assert not right, wrong
            assert slip, f"{wrong}: no slip with a name gives this answer"
            continue
        item = bank.find(wrong.id)
        key = wrong.answer.strip("`")
        given = numbered(key) if item.kind == "number" else key
        grade = bank.grade(item, given)
        assert grade.outcome == "wrong", wrong
        assert grade.chosen, f"{wrong}: not an answer that the bank knows"


@each_lesson
def test_predictions_that_it_asks_for_are_the_lessons(name: str) -> None:
    asked = re.findall(r"ommit `([^`]+)`", page(name))
    lesson = int(name[:2])
    own = [id for id, entry in answers.table("predictions").items() if entry["lesson"] == lesson]
    assert sorted(asked) == sorted(own)


# --- the tracks -------------------------------------------------------------


@pytest.mark.parametrize("hours", HOURS)
def test_a_track_adds_up(hours: int) -> None:
    rows, total = teaching.track(TEXT, hours)
    assert sum(row.minutes for row in rows) == total == 60 * hours
    assert any(row.part == "break" for row in rows)
    assert rows[-1].part == "close"


@pytest.mark.parametrize("hours", HOURS)
def test_a_track_has_the_minutes_of_its_lessons(hours: int) -> None:
    rows, _ = teaching.track(TEXT, hours)
    taught = [(row.lesson, row.part) for row in rows if row.lesson]
    assert len(taught) == len(set(taught))
    assert [lesson for lesson, _ in taught] == sorted(lesson for lesson, _ in taught)
    for row in rows:
        if not row.lesson:
            assert row.part in PAUSES
        elif row.part == TEACH:
            assert row.minutes == minutes(row.lesson)["teach"]
            assert [part for lesson, part in taught if lesson == row.lesson and "*" in part] == []
        elif row.part == EXERCISES:
            assert row.minutes == minutes(row.lesson)["exercises"]
        else:
            assert (row.part.strip("*"), row.minutes) in teaching.sections(page(row.lesson))


# --- links and commands -----------------------------------------------------


def test_links_resolve() -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", TEXT)
    local = [target.partition("#") for target in targets if not re.match(r"[a-z]+:", target)]
    for path, _, anchor in local:
        file = teaching.PAGE.parent / path if path else teaching.PAGE
        assert file.is_file(), path
        assert not anchor or anchor in teaching.anchors(file.read_text(encoding="utf-8")), anchor


def test_launching_links_lead_to_a_lesson() -> None:
    links = re.findall(r"https://\S*OWNER\S*\.ipynb", TEXT)
    assert len(links) == 2
    for link in map(unquote, links):
        assert re.search(r"[=/]notebooks/([^/]+)$", link)
        assert (readme.ROOT / "notebooks" / link.rpartition("/")[2]).is_file()


def test_commands_exist() -> None:
    named = teaching.commands(TEXT)
    assert {command.split()[0] for command in named} >= {"lab", "measure", "quiz"}
    for command in named:
        cli.parser().parse_args(shlex.split(command))  # leaves with SystemExit if it is wrong


def test_notebooks_that_commands_name_exist() -> None:
    blocks = [block for shell in ("bash", "powershell")
              for block in lesson_frame.fences(TEXT, shell)]  # fmt: skip
    named = [path.replace("\\", "/") for block in blocks
             for path in re.findall(r"notebooks[/\\]\S+\.ipynb", block)]  # fmt: skip
    assert len(named) >= 6
    assert [path for path in named if not (readme.ROOT / path).is_file()] == []


def test_the_warning_stands() -> None:
    part = teaching.part_under(TEXT, "## How to use this page")
    assert "**Public answers are public.**" in part
    assert "--bank" in part
    assert "--seed" in part


# --- the checks can fail ----------------------------------------------------


def test_the_checks_can_fail(tmp_path: Path) -> None:
    sample = "\n".join([
        "### 2 hours", "", "| minutes | lesson | part |", "|--:|---|---|",
        "| 20 | [01](01_a.ipynb) | *One?* |", "| 10 | break | |", "| **31** | | |", "",
        "### 01 · A", "1. **One?** (20 min) Say it.", "",
        "| asked in | wrong answer | what to say |", "|---|---|---|", "| `01-2` | 14, x | No. |",
        "", "## Next", "Run `nvlearn dance` or", "", "```bash",
        "x && .venv/bin/nvlearn quiz grade in/ --bank own.yaml > a.csv", "```", "",
    ])  # fmt: skip
    rows, total = teaching.track(sample, 2)
    assert rows == [(20, "01_a.ipynb", "*One?*"), (10, "", "break")]
    assert total == 31
    part = teaching.part_under(sample, "### 01 · A")
    assert "Next" not in part
    assert teaching.sections(part) == [("One?", 20)]
    assert teaching.wrong_answers(part) == [("01-2", "14, x", "No.")]
    assert teaching.commands(sample) == ["dance", "quiz grade in/ --bank own.yaml"]
    assert teaching.anchors(sample) == {"2-hours", "01--a", "next"}
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["dance"])
