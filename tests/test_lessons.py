"""Each lesson runs to its end twice: as shipped, and with the solutions in place of the stubs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import lesson_frame as frame
import notebook_form as form
import pytest
import sample_lesson
from nbformat import NotebookNode

from nvlearn.i18n import words

LESSONS = [path for path in form.notebooks() if frame.LESSON.fullmatch(path.name)]


def checks(path: Path, change: Callable[[NotebookNode], NotebookNode] = lambda n: n) -> list[str]:
    """Run a lesson, changed in some way, and return what its checks say."""
    start = perf_counter()
    notebook = form.executed(change(form.read(path)), path.parent)
    print(f"{path.name}: {perf_counter() - start:.1f} s")
    return [frame.shown(cell) for _, cell in frame.having(notebook.cells, "check")]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_exercises(path: Path) -> None:
    not_yet = words("exercise.not_yet").partition(":")[0]  # what follows depends on the exercise
    shipped, right = checks(path), checks(path, frame.solved)
    assert [text for text in shipped if not text.startswith(not_yet)] == []
    assert [text for text in right if not text.startswith(words("exercise.passed"))] == []


def test_the_sample_lesson(tmp_path: Path) -> None:
    path = sample_lesson.write(tmp_path)
    assert checks(path) == [sample_lesson.NOT_YET + "\n"]
    assert checks(path, frame.solved) == [sample_lesson.PASSED + "\n"]
