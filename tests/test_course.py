"""The thirteen lessons as one course: their chain, their words, and each erratum in its lesson."""

from __future__ import annotations

import re
from pathlib import Path

import lesson_frame as frame
import notebook_form as form
import pytest

from nvlearn import errata
from nvlearn.data import read_table

LESSONS = {path.name[:2]: path for path in form.notebooks() if frame.LESSON.fullmatch(path.name)}
TERMS = {entry["term"]: entry for entry in read_table("glossary.en")["term"]}


def sources(path: Path, kind: str) -> str:
    """Return all cells of a kind as one text."""
    return "\n".join(cell.source for cell in form.read(path).cells if cell.cell_type == kind)


def shown(path: Path) -> str:
    """Return what all code cells of a lesson show, as one text."""
    return "\n".join(frame.shown(c) for c in form.read(path).cells if c.cell_type == "code")


def test_there_are_thirteen_lessons_in_one_chain() -> None:
    assert [*LESSONS] == [f"{number:02}" for number in range(1, 14)]
    paths = [*LESSONS.values()]
    for at, path in enumerate(paths):
        title = next(cell.source for _, cell in frame.having(form.read(path).cells, "title"))
        linked = re.findall(r"\]\((\d\d_\w+\.ipynb)\)", title)
        assert linked == [p.name for p in (*paths[at - 1 : at], *paths[at + 1 : at + 2])]


def test_there_are_thirty_exercises() -> None:
    count = sum(len(frame.having(form.read(path).cells, "check")) for path in LESSONS.values())
    assert count >= 30


@pytest.mark.parametrize("key", errata.entries())
def test_an_erratum_is_taught_by_the_lesson_that_it_names(key: str) -> None:
    entry = errata.entry(key)
    path = LESSONS[entry.lesson[:2]]
    called = f'errata.entry("{key}")' in sources(path, "code")
    assert called or re.search(rf"^{key} +{re.escape(entry.title)}", shown(path), re.M)


@pytest.mark.parametrize("term", TERMS)
def test_a_word_of_the_glossary_is_defined_by_the_lesson_that_it_names(term: str) -> None:
    text = sources(LESSONS[f"{TERMS[term]['lesson']:02}"], "markdown")
    bold = " ".join(re.findall(r"\*\*(.+?)\*\*", text)).casefold()
    first = re.split(r", | \(", term)[0].casefold()
    assert first in bold
